package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// verb is one thing that people do with incidents.
type verb struct {
	name, summary string
	run           func(ctx context.Context, args []string, t terminal) error
}

func verbs() []verb {
	return []verb{
		{"list", "the open incidents, or others", listIncidents},
		{"show", "one incident: diagnosis, readings, plan and journal", showIncident},
		{"approve", "let one step of the plan run", decide(incident.Approve)},
		{"deny", "refuse one step of the plan", decide(incident.Deny)},
		{"undo", "take an applied step back", act("undo")},
		{"ack", "say that somebody is looking", act("ack")},
		{"abort", "stop what is being done or asked; nothing is taken back", act("abort")},
		{"close", "end an incident that the metrics do not end", act("close")},
	}
}

func incidents(ctx context.Context, args []string, t terminal) error {
	var names []string
	for _, v := range verbs() {
		if len(args) > 0 && v.name == args[0] {
			return v.run(ctx, args[1:], t)
		}
		names = append(names, v.name)
	}
	if len(args) == 0 {
		return usageError{"incidents needs a verb: " + either(names)}
	}
	if args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		say(t.out, "Usage: vllm-medic incidents VERB [flags]\n\n")
		for _, v := range verbs() {
			say(t.out, "  %-8s %s\n", v.name, v.summary)
		}
		say(t.out, "\nvllm-medic incidents VERB -h shows the flags of a verb. Decisions need a Kubernetes token with the audience vllm-medic.\n")
		return errHelp
	}
	return usageError{fmt.Sprintf("incidents has no verb %q; the verbs are %s", args[0], either(names))}
}

// decide approves or denies one step of the plan. Without --digest it shows the plan and asks; in a pipe nobody can answer, so the digest is needed.
func decide(v incident.Verb) func(context.Context, []string, terminal) error {
	return func(ctx context.Context, args []string, t terminal) error {
		fs := flag.NewFlagSet("incidents "+string(v), flag.ContinueOnError)
		c := clientFlags(fs)
		digest := fs.String("digest", "", "the `DIGEST` of the plan that you looked at")
		reason := fs.String("reason", "", "`WHY`, for the journal")
		confirm := fs.Bool("confirm-restart", false, "yes, this step may restart pods")
		rest, err := parse(fs, args, t, "ID", "STEP")
		if err != nil {
			return err
		}
		id, step := rest[0], rest[1]
		if *digest == "" {
			if !isTerminal(t.in) {
				return usageError{fmt.Sprintf("this is not a terminal, so nobody can be asked: pass --digest; vllm-medic incidents show %s has it", id)}
			}
			inc, err := c.incident(ctx, t, id)
			if err != nil {
				return fmt.Errorf("%s %s: %w", v, id, err)
			}
			if *digest, err = ask(inc, step, v, t); err != nil {
				return err
			}
		}
		body := map[string]any{"step": step, "digest": *digest, "decision": v, "reason": *reason, "confirmed": *confirm}
		var after incident.Incident
		if err := c.call(ctx, t, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/decision", body, &after); err != nil {
			return fmt.Errorf("%s %s of %s: %w", v, step, id, err)
		}
		done(t, map[incident.Verb]string{incident.Approve: "Approved", incident.Deny: "Denied"}[v]+" "+step, after)
		return nil
	}
}

// done says where the incident is after what was asked for.
func done(t terminal, what string, after incident.Incident) {
	say(t.out, "%s. %s (%s) is now %s; vllm-medic incidents show %s follows it.\n", what, after.ID, orDash(after.Pool), after.State, after.ID)
}

// ask shows the plan and waits for "yes".
func ask(inc incident.Incident, step string, v incident.Verb, t terminal) (string, error) {
	if inc.Plan == nil {
		return "", fmt.Errorf("incident %s is %s and has no plan", inc.ID, inc.State)
	}
	if _, ok := inc.Step(step); !ok {
		return "", fmt.Errorf("the plan of %s has no step %s; vllm-medic incidents show %s lists them", inc.ID, step, inc.ID)
	}
	printIncident(t.out, inc)
	say(t.out, "%s step %s of plan %s? Type yes: ", v, step, inc.Plan.Digest)
	line, err := bufio.NewReader(t.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return "", errors.New("not confirmed; nothing was done")
	}
	return inc.Plan.Digest, nil
}

// act calls one of the other verbs. What ends something needs a reason: the next person on call will ask.
func act(name string) func(context.Context, []string, terminal) error {
	return func(ctx context.Context, args []string, t terminal) error {
		fs := flag.NewFlagSet("incidents "+name, flag.ContinueOnError)
		c := clientFlags(fs)
		reason := fs.String("reason", "", "`WHY`, for the journal")
		names := []string{"ID"}
		if name == "undo" {
			names = append(names, "STEP")
		}
		rest, err := parse(fs, args, t, names...)
		if err != nil {
			return err
		}
		if *reason == "" && (name == "abort" || name == "close") {
			return usageError{"incidents " + name + ": --reason is needed: the next person on call will ask"}
		}
		body := map[string]string{"reason": *reason}
		what := map[string]string{"ack": "Acknowledged", "abort": "Aborted", "close": "Closed", "undo": "Undo asked for"}[name]
		if name == "undo" {
			body["step"] = rest[1]
			what += " of " + rest[1]
		}
		var after incident.Incident
		if err := c.call(ctx, t, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(rest[0])+"/"+name, body, &after); err != nil {
			return fmt.Errorf("%s %s: %w", name, rest[0], err)
		}
		done(t, what, after)
		return nil
	}
}
