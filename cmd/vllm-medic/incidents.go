package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/url"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// incidents is the way in when Slack is down.
func incidents(ctx context.Context, args []string, t terminal) error {
	verbs := map[string]func(context.Context, []string, terminal) error{
		"list": listIncidents, "show": showIncident, "approve": decide(incident.Approve), "deny": decide(incident.Deny),
		"undo": act("undo"), "ack": act("ack"), "abort": act("abort"), "close": act("close"),
	}
	if len(args) == 0 {
		return usageError{"incidents needs a verb: list, show, ack, approve, deny, undo, abort or close"}
	}
	run, ok := verbs[args[0]]
	if !ok {
		return usageError{fmt.Sprintf("incidents has no verb %q; the verbs are list, show, ack, approve, deny, undo, abort and close", args[0])}
	}
	return run(ctx, args[1:], t)
}

func listIncidents(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("incidents list", flag.ContinueOnError)
	c := clientFlags(fs)
	state := fs.String("state", "open", "a state, open, or all")
	pool := fs.String("pool", "", "only this pool")
	format := fs.String("o", "table", "table or json")
	if _, err := parse(fs, args, t); err != nil {
		return err
	}
	q := url.Values{}
	if *state != "all" {
		q.Set("state", *state)
	}
	if *pool != "" {
		q.Set("pool", *pool)
	}
	var got struct {
		Incidents []incident.Incident `json:"incidents"`
	}
	if err := c.call(ctx, t, "GET", "/api/v1/incidents?"+q.Encode(), nil, &got); err != nil {
		return err
	}
	switch *format {
	case "table":
		return printTable(t.out, got.Incidents)
	case "json":
		return writeJSON(t.out, got.Incidents)
	default:
		return usageError{"-o is table or json"}
	}
}

func showIncident(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("incidents show", flag.ContinueOnError)
	c := clientFlags(fs)
	format := fs.String("o", "text", "text or json")
	rest, err := parse(fs, args, t, "ID")
	if err != nil {
		return err
	}
	inc, err := c.incident(ctx, t, rest[0])
	if err != nil {
		return err
	}
	if *format == "json" {
		return writeJSON(t.out, inc)
	}
	printIncident(t.out, inc)
	for _, e := range inc.Journal {
		say(t.out, "  %s  %s\n", e.At.UTC().Format("15:04:05"), e.Text)
	}
	return nil
}

// decide approves or denies one step of the plan. Without --digest it shows the plan and asks; in a pipe nobody can answer, so the digest is needed.
func decide(verb incident.Verb) func(context.Context, []string, terminal) error {
	return func(ctx context.Context, args []string, t terminal) error {
		fs := flag.NewFlagSet("incidents "+string(verb), flag.ContinueOnError)
		c := clientFlags(fs)
		digest := fs.String("digest", "", "the `DIGEST` of the plan that you looked at")
		reason := fs.String("reason", "", "why, for the journal")
		confirm := fs.Bool("confirm-restart", false, "yes, this step may restart pods")
		rest, err := parse(fs, args, t, "ID", "STEP")
		if err != nil {
			return err
		}
		inc, err := c.incident(ctx, t, rest[0])
		if err != nil {
			return err
		}
		if *digest == "" {
			if *digest, err = ask(inc, rest[1], verb, t); err != nil {
				return err
			}
		}
		body := map[string]any{"step": rest[1], "digest": *digest, "decision": verb, "reason": *reason, "confirmed": *confirm}
		var after incident.Incident
		if err := c.call(ctx, t, "POST", "/api/v1/incidents/"+url.PathEscape(rest[0])+"/decision", body, &after); err != nil {
			return err
		}
		say(t.out, "%s: %s is now %s\n", verb, after.ID, after.State)
		return nil
	}
}

// ask shows the plan and waits for "yes".
func ask(inc incident.Incident, step string, verb incident.Verb, t terminal) (string, error) {
	if inc.Plan == nil {
		return "", fmt.Errorf("incident %s has no plan", inc.ID)
	}
	if !isTerminal(t.in) {
		return "", usageError{"this is not a terminal, so nobody can be asked: pass --digest with the digest of the plan that you looked at"}
	}
	printIncident(t.out, inc)
	say(t.out, "%s step %s of plan %s? Type yes: ", verb, step, inc.Plan.Digest)
	line, err := bufio.NewReader(t.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return "", fmt.Errorf("not confirmed; nothing was done")
	}
	return inc.Plan.Digest, nil
}

// act calls one of the other verbs.
func act(verb string) func(context.Context, []string, terminal) error {
	return func(ctx context.Context, args []string, t terminal) error {
		fs := flag.NewFlagSet("incidents "+verb, flag.ContinueOnError)
		c := clientFlags(fs)
		reason := fs.String("reason", "", "why, for the journal")
		names := []string{"ID"}
		if verb == "undo" {
			names = append(names, "STEP")
		}
		rest, err := parse(fs, args, t, names...)
		if err != nil {
			return err
		}
		body := map[string]string{"reason": *reason}
		if verb == "undo" {
			body["step"] = rest[1]
		}
		var after incident.Incident
		if err := c.call(ctx, t, "POST", "/api/v1/incidents/"+url.PathEscape(rest[0])+"/"+verb, body, &after); err != nil {
			return err
		}
		say(t.out, "%s: %s is now %s\n", verb, after.ID, after.State)
		return nil
	}
}
