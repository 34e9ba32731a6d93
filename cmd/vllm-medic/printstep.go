package main

import (
	"io"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printStep shows a step, with its price while somebody is asked about it: readings of after a change give none.
func printStep(w io.Writer, inc incident.Incident, s incident.Step) {
	mark := string(s.State)
	if s.Kind == incident.StepManual {
		mark = "manual"
	}
	say(w, "    [%s] %s  %s\n", mark, s.ID, s.Title)
	if why := present.Reason(s); why != "" {
		say(w, "        %s\n", why)
	}
	for _, line := range present.Commands(s) {
		say(w, "        $ %s\n", line)
	}
	if s.Kind == incident.StepManual {
		return
	}
	price, cost := "", s.Cost
	if s.State == incident.StepProposed {
		price, cost = present.Price(inc, s), present.OwnCost(inc, s)
	}
	for _, line := range []struct{ name, text string }{
		{"price", price}, {"cost", cost}, {"speed", s.Speed}, {"risk", s.Risk},
	} {
		if line.text != "" {
			say(w, "        %s: %s\n", line.name, line.text)
		}
	}
	if text := present.Checked(s.Checked); text != "" {
		say(w, "        %s\n", text)
	}
	if s.Diff != "" {
		say(w, "        %s\n", strings.ReplaceAll(strings.TrimRight(s.Diff, "\n"), "\n", "\n        "))
	}
	printGuardrails(w, s)
	if v := s.Verification; v != nil {
		say(w, "        verified: %s. %s\n", present.Lower(present.Verdict(v.Verdict)), present.Verification(*v))
	}
}

// printGuardrails shows what an approver should know first, then what was made smaller or refused, and names the checks
// that passed. Their reasons are in the JSON.
func printGuardrails(w io.Writer, s incident.Step) {
	for _, reason := range s.Cautions() {
		say(w, "        ⚠ caution: %s\n", reason)
	}
	var passed []string
	for _, g := range s.Guardrails {
		switch {
		case g.Verdict == incident.GuardCaution:
		case g.Verdict == incident.GuardPass:
			passed = append(passed, g.Name)
		case present.Guardrail(g) != present.Reason(s):
			say(w, "        %s: %s (%s)\n", g.Name, present.Guardrail(g), g.Verdict)
		}
	}
	if len(passed) > 0 {
		say(w, "        passed: %s\n", strings.Join(passed, ", "))
	}
}

// notedLast says that the note comes after the cause: without an incident it is no news of one, and qualifies the
// cause that was found.
func notedLast(inc incident.Incident) bool { return inc.ID == "" && inc.Diagnosis != nil }

// printSkipped lists the steps of the playbook that are not proposed. Nobody has to do anything about them, so they
// come after what there is to do.
func printSkipped(w io.Writer, inc incident.Incident) {
	if inc.Diagnosis != nil {
		printList(w, "skipped", inc.Diagnosis.Skipped)
	}
}
