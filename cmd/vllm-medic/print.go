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
	head := name + "  (a look: nothing is kept and nothing is changed)"
	if inc.ID != "" {
		head = inc.ID + "  " + name + "  " + string(inc.State)
		if inc.Drill {
			head += "  DRILL"
		}
	}
	say(w, "%s\n", head)
	printTimes(w, inc)
	if len(inc.Alerts) > 0 {
		say(w, "  alerts: %s\n", strings.Join(inc.AlertNames(), ", "))
	}
	shared := sharedError(inc.Readings)
	if inc.Note != "" {
		note := strings.NewReplacer(" (error: "+shared+")", "", " ("+shared+")", "").Replace(inc.Note)
		say(w, "  %s\n", strings.ReplaceAll(note, "\n", "\n  "))
	}
	if d := inc.Diagnosis; d != nil {
		say(w, "\n  %s\n", d.Summary)
		for _, c := range d.Evidence {
			say(w, "    %-9s %s (seen: %s)\n", c.Truth, c.Text, c.Seen)
		}
	}
	if inc.Cluster.Error != "" {
		say(w, "\n  cluster: %s\n", inc.Cluster.Error)
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
	if len(inc.Standing) > 0 {
		say(w, "\n  applied before\n")
		for _, s := range inc.Standing {
			printStep(w, s)
		}
	}
	printHint(w, inc)
	say(w, "\n")
}

// printTimes says since when, how bad, who looks, and what is being done right now.
func printTimes(w io.Writer, inc incident.Incident) {
	if inc.ID == "" {
		return
	}
	parts := []string{"opened " + clock(inc.OpenedAt)}
	if !inc.ClosedAt.IsZero() {
		parts = append(parts, "closed "+clock(inc.ClosedAt))
	}
	if s := inc.Severity(); s != "" {
		parts = append(parts, "severity "+s)
	}
	if inc.AckedBy != nil {
		parts = append(parts, "seen by "+inc.AckedBy.String())
	}
	say(w, "  %s\n", strings.Join(parts, ", "))
	if a := inc.Active; a != nil {
		say(w, "  now: %s %s since %s (%s)\n", a.Op, a.Step, clock(a.Since), a.Phase)
	}
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func dialect(inc incident.Incident) string {
	if inc.Dialect == "" {
		return ""
	}
	return " in " + inc.Dialect
}

// sharedError is the error that most readings have, when it is more than one: with Prometheus down it is said once, not for each of them.
func sharedError(rs map[string]incident.Reading) string {
	seen, best := map[string]int{}, ""
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		err := rs[name].Error
		if seen[err]++; err != "" && seen[err] > max(1, seen[best]) {
			best = err
		}
	}
	if best == "" {
		return "\x00" // stands in no text
	}
	return best
}

func printReadings(w io.Writer, rs map[string]incident.Reading) {
	shared := sharedError(rs)
	var same []string
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		r := rs[name]
		if r.Error == shared {
			same = append(same, name)
			continue
		}
		limit := ""
		if r.Threshold != nil {
			limit = "at most " + incident.FormatValue(*r.Threshold, r.Unit)
			if r.Direction == incident.LowerIsWorse {
				limit = "at least " + incident.FormatValue(*r.Threshold, r.Unit)
			}
		}
		say(tw, "    %s\t%s\t%s\n", name, r.Text(), limit)
	}
	if err := tw.Flush(); err != nil {
		return // the terminal is gone
	}
	if len(same) > 0 {
		say(w, "    %d could not be read: %s\n      %s\n", len(same), shared, strings.Join(same, ", "))
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
		if g.Verdict != incident.GuardPass && g.Reason != s.Reason {
			say(w, "        %s: %s (%s)\n", g.Name, g.Reason, g.Verdict)
		}
	}
	if v := s.Verification; v != nil {
		say(w, "        verified %s: %s\n", v.Verdict, v.Why)
	}
}

// printHint says with which words a person goes on.
func printHint(w io.Writer, inc incident.Incident) {
	if inc.ID == "" || inc.Plan == nil {
		return
	}
	if inc.State == incident.StateDeciding && len(inc.Proposed()) > 0 {
		say(w, "\n  to decide: vllm-medic incidents approve %s STEP --digest %s   (or deny)\n", inc.ID, inc.Plan.Digest)
	}
	if inc.UndoOffered != "" {
		say(w, "\n  to take it back: vllm-medic incidents undo %s %s\n", inc.ID, inc.UndoOffered)
	}
}

// printJournal shows what happened, the oldest first.
func printJournal(w io.Writer, inc incident.Incident) {
	if len(inc.Journal) == 0 {
		return
	}
	say(w, "  journal (UTC)\n")
	day := ""
	for _, e := range inc.Journal {
		if d := e.At.UTC().Format(time.DateOnly); d != day {
			day = d
			say(w, "    %s\n", day)
		}
		say(w, "    %s  %s\n", e.At.UTC().Format(time.TimeOnly), strings.ReplaceAll(e.Text, "\n", "\n              "))
	}
}

func printTable(w io.Writer, list []incident.Incident) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "ID\tPOOL\tSTATE\tDIAGNOSIS\tALERTS\tOPENED (UTC)\n")
	for _, i := range list {
		what := "-"
		if i.Diagnosis != nil {
			what = i.Diagnosis.Name
		}
		state := string(i.State)
		if i.Drill {
			state += " (drill)"
		}
		say(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(i.ID), cell(i.Pool), cell(state), cell(what), cell(alertsText(i)), i.OpenedAt.UTC().Format("2006-01-02 15:04"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// alertsText is the first alert and how many others there are.
func alertsText(i incident.Incident) string {
	names := i.AlertNames()
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
}

// cell keeps a value in its column and its line.
func cell(s string) string { return orDash(strings.Join(strings.Fields(s), " ")) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
