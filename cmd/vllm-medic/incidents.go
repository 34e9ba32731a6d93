package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func incidents(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "incidents", Short: "list, show and decide on incidents",
		Long: "List, show, ack, approve, deny, narrow, undo, keep, ask, abort and close incidents.\n\n" +
			"Decisions need your own Kubernetes credentials (--kube), or a Kubernetes token with the audience vllm-medic.",
	}
	cmd.AddCommand(
		listIncidents(t), showIncident(t),
		decide(t, incident.Approve, "ID STEP", "approve one step of the plan"),
		decide(t, incident.Deny, "ID [STEP]", "deny one step of the plan, or without STEP all that are proposed"),
		narrow(t),
		act(t, "undo ID STEP", "roll back an applied step"),
		act(t, "keep ID STEP", "decline the rollback that is offered; the step stays in place"),
		act(t, "ask ID", "ask again after a denial, an expired request or a pause, with a new plan"),
		act(t, "ack ID", "acknowledge an incident"),
		act(t, "abort ID", "stop the current step or approval request; rolls nothing back"),
		act(t, "close ID", "close an incident manually"),
	)
	return cmd
}

// decide approves or denies one step of the plan, or denies all. Without --digest it shows the plan and asks; in a pipe
// nobody can answer, so the digest is needed.
func decide(t terminal, v incident.Verb, args, short string) *cobra.Command {
	cmd := &cobra.Command{Use: string(v) + " " + args, Short: short}
	fs := cmd.Flags()
	c := clientFlags(fs, t)
	digest := fs.String("digest", "", "the `DIGEST` of the plan that you reviewed")
	reason := fs.String("reason", "", "`WHY`, for the journal")
	confirm, snooze := new(bool), new(time.Duration)
	if v == incident.Approve {
		confirm = fs.Bool("confirm-restart", false, "confirm that this step may restart pods")
	} else {
		snooze = durationFlag(fs, "snooze",
			"don't ask about this diagnosis on this pool for a `DURATION` such as 2h or 1d; only without STEP")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, id, step := cmd.Context(), args[0], ""
		if len(args) > 1 {
			step = args[1]
		}
		if *snooze < 0 || *snooze > incident.MaxSnooze || *snooze > 0 && step != "" {
			return usageError{"incidents deny: --snooze needs a duration of at most " +
				incident.FormatDuration(incident.MaxSnooze) + ", and no STEP"}
		}
		if *digest == "" {
			if !isTerminal(t.in) {
				return usageError{fmt.Sprintf("not a terminal: pass --digest, which vllm-medic incidents show %s prints", id)}
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
		if *snooze > 0 {
			body["snooze"] = snooze.String()
		}
		var after incident.Incident
		if err := c.call(ctx, t, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/decision", body,
			&after); err != nil {
			return fmt.Errorf("%s %s of %s: %w", v, cmp.Or(step, "all steps"), id, err)
		}
		what := map[incident.Verb]string{incident.Approve: "Approved", incident.Deny: "Denied"}[v]
		done(t, what+" "+cmp.Or(step, "all that was proposed"), after)
		return nil
	}
	return cmd
}

// done says where the incident is after what was asked for.
func done(t terminal, what string, after incident.Incident) {
	say(t.out, "%s. %s (%s) is now %s; vllm-medic incidents show %s shows progress.\n", what, after.ID, orDash(after.Pool),
		after.State, after.ID)
}

// ask shows the plan and waits for "yes".
func ask(inc incident.Incident, step string, v incident.Verb, t terminal) (string, error) {
	if inc.Plan == nil {
		return "", fmt.Errorf("incident %s is %s and has no plan", inc.ID, inc.State)
	}
	if _, ok := inc.Step(step); step != "" && !ok {
		return "", fmt.Errorf("the plan of %s has no step %s; vllm-medic incidents show %s lists them", inc.ID, step, inc.ID)
	}
	printIncident(newSheet(t), inc, false)
	what := "step " + step
	if step == "" {
		what = "all proposed steps"
	}
	say(t.out, "%s %s of plan %s? Type yes: ", v, what, inc.Plan.Digest)
	line, err := bufio.NewReader(t.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return "", errors.New("not confirmed; nothing was changed")
	}
	return inc.Plan.Digest, nil
}

// narrow asks for a smaller change than a step proposes. It changes nothing, so nobody is asked to confirm it.
func narrow(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "narrow ID STEP VALUE", Short: "have a step proposed again with a smaller change"}
	fs := cmd.Flags()
	c := clientFlags(fs, t)
	reason := fs.String("reason", "", "`WHY`, for the journal")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, step, to := args[0], args[1], args[2]
		inc, err := c.incident(cmd.Context(), t, id)
		if err != nil {
			return fmt.Errorf("narrow %s of %s: %w", step, id, err)
		}
		if inc.Plan == nil {
			return fmt.Errorf("incident %s is %s and has no plan", id, inc.State)
		}
		body := map[string]string{"step": step, "digest": inc.Plan.Digest, "to": to, "reason": *reason}
		var after incident.Incident
		err = c.call(cmd.Context(), t, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/narrow", body, &after)
		if err != nil {
			return fmt.Errorf("narrow %s of %s to %s: %w", step, id, to, err)
		}
		done(t, "Working out "+step+" with "+to+"; it needs approval under the new plan", after)
		return nil
	}
	return cmd
}

// act calls one of the other verbs. What ends something needs a reason: the next person on call will ask.
func act(t terminal, use, short string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	name, fs := cmd.Name(), cmd.Flags()
	c := clientFlags(fs, t)
	reason := fs.String("reason", "", "`WHY`, for the journal")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *reason == "" && (name == "abort" || name == "close") {
			return usageError{"incidents " + name + ": --reason is required"}
		}
		body := map[string]string{"reason": *reason}
		what := map[string]string{
			"ack": "Acknowledged", "abort": "Stopped", "close": "Closed",
			"undo": "Requested a rollback", "keep": "Kept", "ask": "Investigating again",
		}[name]
		switch name {
		case "undo":
			body["step"] = args[1]
			what += " of " + args[1]
		case "keep":
			body["step"] = args[1]
			what += " " + args[1]
		}
		var after incident.Incident
		if err := c.call(cmd.Context(), t, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(args[0])+"/"+name, body,
			&after); err != nil {
			return fmt.Errorf("%s %s: %w", name, args[0], err)
		}
		done(t, what, after)
		return nil
	}
	return cmd
}
