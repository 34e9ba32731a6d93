package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printIncident shows an incident as a person at a terminal reads it: what is wrong and why, in the words of the
// incident's page, then what could be done. What did not decide is folded away unless all is to be seen.
func printIncident(w io.Writer, inc incident.Incident, all bool) {
	name := inc.Pool
	if name == "" {
		name = "alerts without a pool"
	}
	if inc.ID == "" {
		tint(w, bold, name)
		say(w, "  (read-only: nothing is stored or changed)\n")
	} else { // as in the messages and on the pages
		say(w, "%s  ", inc.ID)
		tint(w, bold, name)
		say(w, "  %s\n  ", strings.Join(nonEmpty(present.State(inc), present.Mark(inc)), "  "))
		tintLine(w, toneOf(present.LevelOf(inc)), present.Capital(present.News(inc)))
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
		say(w, "  alerts: %s%s\n", strings.Join(alertTexts(inc), ", "), more)
	}
	note := noteOf(inc)
	if note != "" && !notedLast(inc) {
		say(w, "  %s\n", strings.ReplaceAll(note, "\n", "\n  "))
	}
	printDiagnosis(w, inc, all)
	if note != "" && notedLast(inc) {
		say(w, "\n  %s\n", strings.ReplaceAll(note, "\n", "\n  "))
	}
	printOthers(w, inc, all)
	printDead(w, inc.DeadAlerts, inc.Unexamined)
	printCluster(w, inc.Cluster)
	printEvidence(w, inc, all)
	if inc.Plan != nil {
		say(w, "\n  plan %s\n", inc.Plan.Digest)
		for _, s := range inc.Plan.Steps {
			printStep(w, inc, s)
		}
	}
	printSkipped(w, inc)
	if len(inc.AppliedEarlier) > 0 {
		say(w, "\n  applied before\n")
		for _, s := range inc.AppliedEarlier {
			printStep(w, inc, s)
		}
	}
	var made []string
	for _, m := range inc.History {
		made = append(made, present.Plain(present.Made(inc, m)))
	}
	printList(w, "changes made", made)
	printHint(w, inc)
	say(w, "\n")
}

// toneOf is the color of a level.
func toneOf(l present.Level) tone {
	switch l {
	case present.LevelCritical:
		return red
	case present.LevelWarning:
		return yellow
	case present.LevelHealthy:
		return green
	case present.LevelResolved, present.LevelEnded, present.LevelUnknown:
	}
	return uncolored
}

// noteOf is the word on why the incident is where it is. One that is stored has it where its page has it.
func noteOf(inc incident.Incident) string {
	if inc.ID == "" {
		return inc.Note
	}
	return present.Plain(present.Remark(inc))
}

// printDiagnosis says what is wrong, by which numbers, and what would make it worse.
func printDiagnosis(w io.Writer, inc incident.Incident, all bool) {
	cause := present.CauseOf(inc)
	if cause.Summary != "" {
		say(w, "\n  ")
		tintLine(w, bold, cause.Summary)
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
	if text := present.AsDiagnosed(inc); text != "" && inc.ID != "" {
		say(w, "  %s\n", text)
	}
	if pods, differ := present.WhyPods(inc); pods != "" {
		for _, q := range differ {
			say(w, "    %s: %s %s (others %s)\n", pods, q.Label, q.Seen, q.Others)
		}
	}
	if all {
		printConditions(w, inc)
	} else {
		printDecisive(w, inc)
	}
	var doubts []string
	for _, o := range d.Doubts {
		doubts = append(doubts, strings.Join(nonEmpty(present.Doubt(inc, o)), ": "))
	}
	printList(w, "", doubts)
	printNevers(w, present.Nevers(d.Never))
	printList(w, "unusual", d.Unusual)
}

// mostDecisive is how many readings are shown that decided.
const mostDecisive = 4

// printDecisive shows the readings that decided, as the page does, and counts the conditions of the rule.
func printDecisive(w io.Writer, inc incident.Incident) {
	shown := present.Decisive(inc)
	if bad := slices.IndexFunc(shown, func(r present.DecisiveReading) bool { return !r.Bad }); bad > 1 {
		shown = shown[:bad] // two or more say enough; what rules something out is in the rule
	}
	shown = shown[:min(len(shown), mostDecisive)]
	for _, r := range shown {
		say(w, "    %s ", r.Subject)
		tone := uncolored
		if r.Bad {
			tone = red
		}
		tint(w, tone, r.Seen)
		if r.Expected != "" {
			say(w, " (%s)", r.Expected)
		}
		say(w, "\n")
	}
	if rule := len(inc.Diagnosis.Evidence); rule > len(shown) {
		tintLine(w, faint, fmt.Sprintf("    (rule of %d conditions; --all shows them)", rule))
	}
}

// printConditions shows the whole rule.
func printConditions(w io.Writer, inc incident.Incident) {
	told := map[string]bool{} // two thresholds of one signal may come to the same
	for _, c := range inc.Diagnosis.Evidence {
		seen := nonEmpty(c.Seen, present.Expected(c, present.Compared(inc, c)))
		line := fmt.Sprintf("    %-9s %s: %s\n", c.Truth, present.Subject(inc, c), strings.Join(seen, ", "))
		if !told[line] {
			say(w, "%s", line)
		}
		told[line] = true
	}
}

// printNevers says what would make it worse.
func printNevers(w io.Writer, texts []string) {
	for n, text := range texts {
		if n == 0 {
			say(w, "\n")
		}
		say(w, "    ")
		tint(w, yellow, "Do not ")
		say(w, "%s\n", cell(text))
	}
}

// printList prints each text on a line of its own, under a title when there is one.
func printList(w io.Writer, title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	if title != "" {
		title = "  " + title + "\n"
	}
	say(w, "\n%s", title)
	for _, t := range texts {
		say(w, "    %s\n", cell(t))
	}
}

// printOthers lists what holds too and what cannot be ruled out, each with why; what does not hold is only counted, and
// stands in the JSON. Where one reason keeps all readings away, it is not said again for each. What cannot be ruled out
// is only counted, too, unless all is to be seen.
func printOthers(w io.Writer, inc incident.Incident, all bool) {
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
	listed := []incident.Truth{incident.True}
	if all {
		listed = append(listed, incident.Undecided)
	}
	for _, verdict := range listed {
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
	tally := func(v incident.Truth) int {
		return len(slices.DeleteFunc(slices.Clone(others), func(o incident.Other) bool { return o.Verdict != v }))
	}
	if n := tally(incident.Undecided); n > 0 && !all {
		lines = append(lines, fmt.Sprintf("%d more undecided; --all says why", n))
	}
	if n := tally(incident.False); n > 0 {
		lines = append(lines, fmt.Sprintf("%d more ruled out", n))
	}
	if inc.Diagnosis != nil && len(inc.Diagnosis.Unmatched) > 0 {
		lines = append(lines, present.Unmatched(*inc.Diagnosis))
	}
	printList(w, "also considered", lines)
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

// cell keeps a value in its column and its line.
func cell(s string) string { return orDash(strings.Join(strings.Fields(s), " ")) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
