package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// printIncident shows an incident as a person at a terminal reads it: what is wrong and why, then what could be done.
func printIncident(w io.Writer, inc incident.Incident) {
	name := inc.Pool
	if name == "" {
		name = "alerts without a pool"
	}
	head := name
	if inc.ID != "" {
		head = inc.ID + "  " + name + "  " + string(inc.State)
	}
	if inc.Drill {
		head += "  DRILL"
	}
	say(w, "%s\n", head)
	if len(inc.Alerts) > 0 {
		say(w, "  alerts: %s\n", strings.Join(inc.AlertNames(), ", "))
	}
	if inc.Note != "" {
		say(w, "  %s\n", strings.ReplaceAll(inc.Note, "\n", "\n  "))
	}
	if d := inc.Diagnosis; d != nil {
		say(w, "\n  %s\n", d.Summary)
		for _, c := range d.Evidence {
			say(w, "    %-9s %s (seen: %s)\n", c.Truth, c.Text, c.Seen)
		}
	}
	if len(inc.Readings) > 0 {
		say(w, "\n  readings%s\n", dialect(inc))
		printReadings(w, inc.Readings)
	}
	if inc.Plan != nil {
		say(w, "\n  plan %s\n", inc.Plan.Digest)
		for _, s := range inc.Plan.Steps {
			printStep(w, s)
		}
	}
	say(w, "\n")
}

func dialect(inc incident.Incident) string {
	if inc.Dialect == "" {
		return ""
	}
	return " in " + inc.Dialect
}

func printReadings(w io.Writer, rs map[string]incident.Reading) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		r := rs[name]
		limit := ""
		if r.Threshold != nil {
			limit = "threshold " + incident.FormatValue(*r.Threshold, r.Unit)
		}
		say(tw, "    %s\t%s\t%s\n", name, r.Text(), limit)
	}
	if err := tw.Flush(); err != nil {
		return // the terminal is gone
	}
}

func printStep(w io.Writer, s incident.Step) {
	mark := string(s.State)
	if s.Kind == incident.StepManual {
		mark = "for you"
	}
	say(w, "    [%s] %s  %s\n", mark, s.ID, s.Title)
	if s.Reason != "" {
		say(w, "        %s\n", s.Reason)
	}
	if s.Kind == incident.StepManual {
		return
	}
	for _, line := range []struct{ name, text string }{{"cost", s.Cost}, {"speed", s.Speed}, {"risk", s.Risk}, {"checked", s.Checked}} {
		if line.text != "" {
			say(w, "        %s: %s\n", line.name, line.text)
		}
	}
	if s.Diff != "" {
		say(w, "        %s\n", strings.ReplaceAll(strings.TrimRight(s.Diff, "\n"), "\n", "\n        "))
	}
	for _, g := range s.Guardrails {
		if g.Verdict != incident.GuardPass {
			say(w, "        %s: %s (%s)\n", g.Name, g.Reason, g.Verdict)
		}
	}
	if v := s.Verification; v != nil {
		say(w, "        verified %s: %s\n", v.Verdict, v.Why)
	}
}

func printTable(w io.Writer, list []incident.Incident) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "ID\tPOOL\tSTATE\tDIAGNOSIS\tOPENED\n")
	for _, i := range list {
		what := "-"
		if i.Diagnosis != nil {
			what = i.Diagnosis.Name
		}
		state := string(i.State)
		if i.Drill {
			state += " (drill)"
		}
		say(tw, "%s\t%s\t%s\t%s\t%s\n", i.ID, orDash(i.Pool), state, what, i.OpenedAt.UTC().Format(time.RFC3339))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
