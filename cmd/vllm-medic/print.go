package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printIncident shows an incident as a person at a terminal reads it: what is wrong and why, then what could be done.
func printIncident(w io.Writer, inc incident.Incident) {
	name := inc.Pool
	if name == "" {
		name = "alerts without a pool"
	}
	head := name + "  (read-only: nothing is stored or changed)"
	if inc.ID != "" {
		head = inc.ID + "  " + name + "  " + string(inc.State)
		if mark := present.Mark(inc); mark != "" {
			head += "  " + mark
		}
	}
	say(w, "%s\n", head)
	if inc.ID != "" { // as in the messages and on the pages
		say(w, "  %s\n", present.Capital(present.News(inc)))
	}
	printTimes(w, inc)
	if inc.ID != "" && inc.State == incident.StateDeciding { // what people have to answer comes before why
		say(w, "  %s\n", present.Asking(inc))
	}
	if len(inc.Alerts) > 0 {
		more := ""
		if inc.AlertsLeftOut > 0 {
			more = fmt.Sprintf(", and %d resolved earlier", inc.AlertsLeftOut)
		}
		if text := present.NotKept(inc); text != "" {
			more += ", " + text
		}
		say(w, "  alerts: %s%s\n", strings.Join(inc.AlertNames(), ", "), more)
	}
	if inc.Note != "" && !notedLast(inc) {
		say(w, "  %s\n", strings.ReplaceAll(inc.Note, "\n", "\n  "))
	}
	printDiagnosis(w, inc)
	if inc.Note != "" && notedLast(inc) {
		say(w, "\n  %s\n", strings.ReplaceAll(inc.Note, "\n", "\n  "))
	}
	printOthers(w, inc)
	printDead(w, inc.DeadAlerts, inc.Unexamined)
	printCluster(w, inc.Cluster)
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
	printSkipped(w, inc)
	if len(inc.AppliedEarlier) > 0 {
		say(w, "\n  applied before\n")
		for _, s := range inc.AppliedEarlier {
			printStep(w, s)
		}
	}
	var made []string
	for _, m := range inc.History {
		made = append(made, present.Plain(present.Made(inc, m)))
	}
	printList(w, "changes made", "", made)
	printHint(w, inc)
	say(w, "\n")
}

// printDiagnosis says what is wrong, by which numbers, and what would make it worse.
func printDiagnosis(w io.Writer, inc incident.Incident) {
	cause := present.CauseOf(inc)
	if cause.Summary != "" {
		say(w, "\n  %s\n", cause.Summary)
	}
	if cause.Name != "" {
		say(w, "  (%s)\n", cause.Name)
	}
	d := inc.Diagnosis
	if d == nil {
		return
	}
	if d.Name != cause.Name {
		say(w, "\n  last diagnosis: %s\n  (%s)\n", d.Summary, d.Name)
	}
	told := map[string]bool{} // two thresholds of one signal may come to the same
	for _, c := range d.Evidence {
		seen := nonEmpty(c.Seen, present.Expected(c, inc.Readings[c.Signal].Direction))
		line := fmt.Sprintf("    %-9s %s: %s\n", c.Truth, present.Subject(inc, c), strings.Join(seen, ", "))
		if !told[line] {
			say(w, "%s", line)
		}
		told[line] = true
	}
	var doubts []string
	for _, o := range d.Doubts {
		doubts = append(doubts, strings.Join(nonEmpty(present.Doubt(inc, o)), ": "))
	}
	printList(w, "", "", doubts)
	printList(w, "", "Do not ", present.Nevers(d.Never))
	printList(w, "unusual", "", d.Unusual)
}

// printList prints each text on a line of its own, under a title when there is one.
func printList(w io.Writer, title, mark string, texts []string) {
	if len(texts) == 0 {
		return
	}
	if title != "" {
		title = "  " + title + "\n"
	}
	say(w, "\n%s", title)
	for _, t := range texts {
		say(w, "    %s%s\n", mark, cell(t))
	}
}

// printOthers lists what holds too and what cannot be ruled out, each with why; what does not hold is only counted, and
// stands in the JSON. Where one reason keeps all readings away, it is not said again for each.
func printOthers(w io.Writer, inc incident.Incident) {
	var lines []string
	others, notEvaluated := incident.SplitNotEvaluated(inc.Others)
	shared := sharedError(inc.Readings)
	failed := func(name string) bool { return shared != "" && inc.Readings[name].Error == shared }
	told := slices.DeleteFunc(slices.Clone(others), func(o incident.Other) bool {
		return o.Verdict == incident.Undecided && slices.ContainsFunc(o.Missing, failed)
	})
	if n := len(others) - len(told); n > 0 {
		lines = append(lines, fmt.Sprintf("%d undecided (missing readings)", n))
	}
	others = told
	for _, verdict := range []incident.Truth{incident.True, incident.Undecided} {
		for _, o := range others {
			if o.Verdict == verdict {
				lines = append(lines,
					fmt.Sprintf("%s (%s): %s", incident.CauseWords(o.Name),
						map[incident.Truth]string{incident.True: "also true", incident.Undecided: "undecided"}[verdict], o.Why))
			}
		}
	}
	for _, u := range notEvaluated {
		lines = append(lines,
			fmt.Sprintf("not checked (%s): %s", u.Why, incident.CauseWords(strings.Join(u.Names, ", "))))
	}
	if n := len(slices.DeleteFunc(slices.Clone(others), func(o incident.Other) bool {
		return o.Verdict != incident.False
	})); n > 0 {
		lines = append(lines, fmt.Sprintf("%d more ruled out", n))
	}
	if inc.Diagnosis != nil && len(inc.Diagnosis.Unmatched) > 0 {
		lines = append(lines, present.Unmatched(*inc.Diagnosis))
	}
	printList(w, "also considered", "", lines)
}

// printDead says which alerts cannot see the pool, and the query that can; then of which alerts that is not known.
func printDead(w io.Writer, dead []incident.DeadAlert, unexamined []incident.UnexaminedAlert) {
	if len(dead) > 0 {
		say(w, "\n  alerts that can never fire for this pool\n")
	}
	for _, d := range dead {
		say(w, "    %s uses %s, which this pool's vLLM does not export. %s\n", d.Alert, strings.Join(d.Missing, ", "), d.Why)
		if d.Instead != "" {
			say(w, "      use instead: %s\n", d.Instead)
		}
	}
	if len(unexamined) > 0 {
		say(w, "\n  alerts whose rule was not checked\n")
	}
	for _, u := range unexamined {
		say(w, "    %s: its expression is %s\n", u.Alert, u.Why)
	}
}

// printCluster shows what happened around the pool. Engine arguments are left out: the rules read them, a person looks
// at the workload.
func printCluster(w io.Writer, c incident.Cluster) {
	if c.Error != "" {
		say(w, "\n  cluster: %s\n", c.Error)
	}
	if len(c.Changes) > 0 {
		say(w, "\n  recent changes\n")
	}
	for _, ch := range c.Changes {
		own := ""
		if ch.Own {
			own = " (by vllm-medic)"
		}
		say(w, "    %s  %s: %s%s\n", clock(ch.At), ch.Object, cell(ch.Text), own)
	}
	if len(c.Crashes) > 0 {
		say(w, "\n  container terminations\n")
	}
	for _, end := range c.Crashes {
		printEnd(w, end)
	}
	if len(c.Unread) > 0 {
		say(w, "\n  not read: %s\n", present.Unread(c.Unread))
	}
}

// lastLines is how much of a log stands on the terminal; -o json has all that was kept.
const lastLines = 5

// printEnd shows how a container ended, and the end of its log when that was no success.
func printEnd(w io.Writer, c incident.Crash) {
	at := ""
	if !c.At.IsZero() {
		at = clock(c.At) + "  "
	}
	name := strings.Join(nonEmpty(c.Pod, c.Container), " ")
	how := append(nonEmpty(c.Reason), fmt.Sprintf("exit code %d", c.ExitCode))
	if c.OutOfMemory == "gpu" {
		how = append(how, "out of GPU memory")
	}
	say(w, "    %s%s: %s\n", at, name, strings.Join(how, ", "))
	if c.ExitCode == 0 && c.Reason != "OOMKilled" {
		return
	}
	for _, l := range c.Log[max(0, len(c.Log)-lastLines):] {
		say(w, "      | %s\n", strings.ReplaceAll(l, "\n", " "))
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
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
		parts = append(parts, "acknowledged by "+present.Person(*inc.AckedBy))
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

// sharedError is the error that most readings have, when it is more than one: with Prometheus down it is said once, not
// for each of them.
func sharedError(rs map[string]incident.Reading) string {
	seen, best := map[string]int{}, ""
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		err := rs[name].Error
		if seen[err]++; err != "" && seen[err] > max(1, seen[best]) {
			best = err
		}
	}
	return best
}

func printReadings(w io.Writer, rs map[string]incident.Reading) {
	shared := sharedError(rs)
	var same, unused []string
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	labels := make(map[string]string, len(rs))
	for name, r := range rs {
		labels[name] = cmp.Or(r.Short, r.Title, name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(rs), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(labels[a]), strings.ToLower(labels[b])), cmp.Compare(a, b))
	}) {
		r, label := rs[name], labels[name]
		if shared != "" && r.Error == shared {
			same = append(same, label)
			continue
		}
		if r.Optional && r.Value == nil && r.Error == "" {
			unused = append(unused, label)
			continue
		}
		say(tw, "    %s\t%s\t%s\t%s\n", cell(label), cell(r.Text()), present.Limit(r),
			strings.Join(nonEmpty(present.WorstPod(r), present.Usually(r)), "; "))
	}
	_ = tw.Flush() // a strings.Builder takes everything
	for l := range strings.Lines(table.String()) {
		say(w, "%s\n", strings.TrimRight(l, " \n"))
	}
	if len(same) > 0 {
		say(w, "    %d could not be read: %s\n      %s\n", len(same), shared, strings.Join(same, ", "))
	}
	if len(unused) > 0 {
		say(w, "    no data (feature not in use): %s\n", strings.Join(unused, ", "))
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
	if last := inc.LastLeftOut; last != nil {
		say(w, "    %d repetitive entries omitted, the latest at %s: %s\n", inc.JournalLeftOut,
			last.At.UTC().Format(time.DateTime), last.Text)
	}
}

func printTable(w io.Writer, list []incident.Incident) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "ID\tPOOL\tSTATE\tDIAGNOSIS\tALERTS\tOPENED (UTC)\n")
	for _, i := range list {
		what := "-"
		if cause := present.CauseOf(i); cause.Name != "" {
			what = cause.Name
		}
		state := string(i.State)
		switch {
		case i.Drill != nil:
			state += " (DRILL)"
		case i.DryRun:
			state += " (dry run)"
		}
		say(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(i.ID), cell(i.Pool), cell(state), cell(what), cell(alertsText(i)),
			i.OpenedAt.UTC().Format("2006-01-02 15:04"))
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
