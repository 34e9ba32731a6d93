package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/drill"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// A drill is followed at this pace. A bot that does not answer may be starting again: it goes on where it was.
const (
	drillPoll     = time.Second
	drillPatience = 2 * time.Minute
)

// ordered names the incident of a drill that was ordered.
type ordered struct {
	ID   string `json:"id"`
	Pool string `json:"pool"`
}

// drillCommand starts a drill and follows it to its end. It fails unless somebody decided in time.
func drillCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "drill SCENARIO", Short: "exercise the people on call on a running bot; nothing is changed",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return (&drill.Recordings{}).Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	fs := cmd.Flags()
	c := clientFlags(fs, t)
	headed(fs, headingBot, func() { fs.StringVar(c.server, "to", *c.server, fs.Lookup("server").Usage) })
	if err := fs.MarkHidden("server"); err != nil {
		panic(err) // it was added in the lines above
	}
	named := c.named
	c.named = func() bool { return named() || fs.Changed("to") }
	pool := fs.String("pool", "", "the pool `NAME`; not needed if the bot has only one")
	list := fs.Bool(listFlag, false, "list the scenarios and what each one plays")
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *list {
			return listScenarios(t.out, format.value)
		}
		var o ordered
		order := map[string]string{"scenario": args[0], "pool": *pool}
		if err := c.call(cmd.Context(), t, http.MethodPost, "/api/v1/drills", order, &o); err != nil {
			return fmt.Errorf("drill %s: %w", args[0], err)
		}
		inc, err := c.follow(cmd.Context(), t, o)
		if err != nil {
			return err
		}
		if err := printDrill(t.out, format.value, inc); err != nil {
			return err
		}
		if inc.Drill.Result != incident.DrillDecided {
			return errFound
		}
		return nil
	}
	return cmd
}

// listFlag takes the place of a command's arguments.
const listFlag = "list"

// follow waits for the end of a drill. On a terminal it says what the drill is waiting for.
func (c apiClient) follow(ctx context.Context, t terminal, o ordered) (incident.Incident, error) {
	live := isTerminal(t.err)
	if live {
		say(t.err, "%s on pool %s has started. Interrupting this command doesn't end it.\n", o.ID, o.Pool)
	}
	tick := time.NewTicker(drillPoll)
	defer tick.Stop()
	heard, state := time.Now(), ""
	for {
		inc, err := c.incident(ctx, t, o.ID)
		switch {
		case ctx.Err() != nil:
			return inc, fmt.Errorf("no longer following %s, which goes on; vllm-medic incidents show %s shows it", o.ID, o.ID)
		case err != nil && time.Since(heard) > drillPatience:
			return inc, fmt.Errorf("follow %s, which may go on: %w", o.ID, err)
		case err != nil: // not taken up yet, or the bot is starting again
		case !inc.Open() && inc.Drill != nil:
			return inc, nil
		case inc.Drill == nil:
			return inc, errors.New(o.ID + " is not a drill")
		default:
			heard = time.Now()
			if now := present.State(inc); live && now != state {
				state = now
				say(t.err, "%s  %s\n", clock(time.Now()), now)
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// printDrill says what a drill has measured.
func printDrill(w io.Writer, format string, inc incident.Incident) error {
	sum := inc.DrillSummary()
	if format != "text" {
		return write(w, format, sum)
	}
	say(w, "%s  %s  %s\n", sum.Incident, sum.Pool, sum.Scenario)
	if sum.Result == incident.DrillNotStarted {
		say(w, "The drill was not started. %s\n", inc.Note)
		return nil
	}
	say(w, "%s Nothing was changed.\n", present.DrillResult(sum))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		what  string
		after *time.Duration
		by    *incident.Actor
	}{
		{"message", sum.MessageAfter, nil},
		{"first look", sum.SeenAfter, sum.SeenBy},
		{"decision", sum.DecidedAfter, sum.DecidedBy},
	} {
		after, by := "-", ""
		if row.after != nil {
			after = "after " + present.DrillTime(*row.after)
		}
		if row.by != nil {
			by = "by " + present.Person(*row.by)
		}
		say(tw, "  %s\t%s\t%s\n", row.what, after, by)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	for _, d := range sum.Decisions {
		what, why := d.Step, ""
		if what == "" {
			what = "everything"
		}
		if d.Reason != "" {
			why = ": " + d.Reason
		}
		say(w, "  %s %s by %s%s\n", d.Verb, what, present.Person(d.By), why)
	}
	say(w, "  diagnosis: %s, %s\n", orDash(sum.Diagnosis), expected(sum))
	for _, line := range present.WouldWrite(sum) {
		say(w, "  %s\n", line)
	}
	return nil
}

// expected compares the diagnosis with what the scenario was recorded for: playbooks of one's own may see more in it.
func expected(sum incident.DrillSummary) string {
	if sum.Diagnosis == sum.Expected {
		return "as expected"
	}
	return "where the scenario was recorded for " + sum.Expected
}

// listScenarios says what can be played. No bot is asked.
func listScenarios(w io.Writer, format string) error {
	if format != "text" {
		return write(w, format, map[string]any{"scenarios": drill.List()})
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "SCENARIO\tALERT\tDIAGNOSIS\tWHAT IT PLAYS\n")
	for _, s := range drill.List() {
		say(tw, "%s\t%s\t%s\t%s\n", s.Name, s.Alerts[0].Name, s.Expected, s.Plays)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}
