package slack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// form is how before and after of a signal is written: as a line of a list, or within a sentence.
type form int

const (
	listed form = iota
	inline
)

// outcome is the verdict on a step with the signals before and after it.
func (c *composer) outcome(inc incident.Incident, s incident.Step) []string {
	v := s.Verification
	if v == nil {
		return nil
	}
	after := "*After " + escape(change(s), 80) + "*"
	if d := v.At.Sub(s.AppliedAt); !s.AppliedAt.IsZero() && d > 0 {
		after = "*" + incident.FormatDuration(d) + " after " + escape(change(s), 80) + "*"
	}
	head := after + approvedText(inc, s) + ":"
	if moved := c.moves(inc, *v, listed); len(moved) > 0 {
		return append([]string{head}, moved...)
	}
	return []string{head + " " + escape(present.Verification(*v), c.detail.text)}
}

// moves compares the signals before and after a change: those that moved, those that are out of their limits, and those
// that have no data any more. The others say nothing.
func (c *composer) moves(inc incident.Incident, v incident.Verification, as form) []string {
	var out []string
	for _, m := range comparedSignals(inc, v) {
		gone := m.Before.HasValue() && !m.After.HasValue()
		moved := m.Moved == incident.MovedBetter || m.Moved == incident.MovedWorse
		if !moved && !gone && !present.Beyond(m.After) {
			continue
		}
		label := escape(present.Label(m.Signal, m.Before, m.After), 60)
		if as == inline {
			out = append(out, label+" "+readingText(m.Before)+" → "+readingText(m.After))
			continue
		}
		out = append(out,
			"• "+label+"  "+readingText(m.Before)+" → *"+readingText(m.After)+"*"+beyondText(m.After))
	}
	return capped(out, c.detail.numbers)
}

// comparedSignals are the signals that decide about recovery, before and after. What an older version stored has no
// moves.
func comparedSignals(inc incident.Incident, v incident.Verification) []incident.Move {
	if v.Comparison != nil {
		return v.Comparison.Moves
	}
	var names []string
	if inc.Diagnosis != nil {
		names = slices.Clone(inc.Diagnosis.Healthy)
	}
	_, found := incident.VerdictOf(v.Before, v.After, names, incident.Undecided)
	return found.Moves
}

// beyondText is a reading's limit in brackets, for mrkdwn.
func beyondText(r incident.Reading) string {
	if text := escape(present.Limit(r), 60); text != "" {
		return " (" + text + ")"
	}
	return ""
}

func readingText(r incident.Reading) string {
	return escape(strings.ReplaceAll(r.Text(), "*", ""), 60)
}

// planned are the steps of the present plan.
func planned(inc incident.Incident) []incident.Step {
	if inc.Plan == nil {
		return nil
	}
	return inc.Plan.Steps
}

// unrouted shows alerts that lead to no pool, and what to add to the configuration.
func (c *composer) unrouted(inc incident.Incident) {
	if inc.State == incident.StateClosed {
		c.section(append([]string{"*Not investigated.*"}, c.alerts(inc)...)...)
		return
	}
	c.section(append([]string{"*Not investigating.*"}, c.alerts(inc)...)...)
	c.section(sentence(present.Note(inc), max(c.detail.text, 200)), fence(inc.Said.Config, c.detail.diff, 1500))
	c.actions("actions", inc, c.general(inc)...)
}

// approval is the decision by which a step was run or turned down.
func approval(inc incident.Incident, s incident.Step, v incident.Verb) (incident.Decision, bool) {
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Verb == v && (d.Step == s.ID || v == incident.Deny && d.Step == "") {
			return d, true
		}
	}
	return incident.Decision{}, false
}

// approvedText is who approved a step and when, in brackets with a space before it.
func approvedText(inc incident.Incident, s incident.Step) string {
	d, ok := approval(inc, s, incident.Approve)
	if !ok {
		return ""
	}
	return " (approved by " + who(d.By) + ", " + clock(d.At) + ")"
}

// denied is who turned a step down and why.
func denied(inc incident.Incident, s incident.Step) string {
	d, ok := approval(inc, s, incident.Deny)
	if !ok {
		return "denied"
	}
	text := "denied by " + who(d.By) + ", " + clock(d.At)
	if d.Reason != "" {
		text += " (" + escape(d.Reason, 120) + ")"
	}
	return text
}

// turnedDown says who said no to what was being asked or done. An older no to another question is not named.
func turnedDown(inc incident.Incident) string {
	if said := inc.Said; said.Kind == incident.NoteAborted {
		text := "Stopped by " + who(said.By)
		if said.Why != "" {
			text += " (" + escape(strings.TrimRight(said.Why, "."), 120) + ")"
		}
		return text + "."
	}
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Verb == incident.Deny && inc.Plan != nil && d.Digest == inc.Plan.Digest {
			return fmt.Sprintf("Denied by %s, %s.", who(d.By), clock(d.At))
		}
	}
	return "Denied."
}
