package slack

import (
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
	after := "*After " + escape(present.Change(s), 80) + "*"
	if d := v.At.Sub(s.AppliedAt); !s.AppliedAt.IsZero() && d > 0 {
		after = "*" + incident.FormatDuration(d) + " after " + escape(present.Change(s), 80) + "*"
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
	found := incident.FoundNoData
	if v.Comparison != nil {
		found = v.Comparison.Finding
	}
	for _, m := range present.Moves(inc, v) {
		gone := m.Before.HasValue() && !m.After.HasValue()
		moved := m.Moved == incident.MovedBetter || m.Moved == incident.MovedWorse
		if !moved && !gone && !present.Beyond(m.After) {
			continue
		}
		label := escape(present.Label(m.Signal, m.Before, m.After), 60)
		if as == inline {
			out = append(out, label+" "+readingText(m.Before)+" → "+readingText(m.After)+present.Worsened(m, found))
			continue
		}
		out = append(out,
			"• "+label+"  "+readingText(m.Before)+" → *"+readingText(m.After)+"*"+present.Worsened(m, found)+beyondText(m.After))
	}
	out = present.Capped(out, c.detail.numbers)
	if rejected := escape(present.Rejected(v.Comparison), 90); rejected != "" && as == inline {
		out = append(out, rejected)
	} else if rejected != "" {
		out = append(out, "• "+rejected)
	}
	return out
}

// beyondText is a reading's limit in brackets, for mrkdwn.
func beyondText(r incident.Reading) string {
	if text := escape(present.Limit(r), 60); text != "" {
		return " (" + text + ")"
	}
	return ""
}

func readingText(r incident.Reading) string {
	return escape(r.Text(), 60)
}

// unrouted shows alerts that lead to no pool, and what to add to the configuration.
func (c *composer) unrouted(inc incident.Incident) {
	if inc.State == incident.StateClosed {
		c.section("*Not investigated.*")
		c.alerts(inc)
		return
	}
	c.section("*Not investigating.*")
	c.alerts(inc)
	c.rich(append(sections([]richLine{richSentence(present.Note(inc), max(c.detail.text, 200))}),
		preformatted(inc.Said.Config, c.detail.diff, 1500)...)...)
	c.actions("actions", inc, c.general(inc)...)
}

// approvedText is who approved a step and when, in brackets with a space before it.
func approvedText(inc incident.Incident, s incident.Step) string {
	return sentence(present.Approved(inc, s), maxStatus)
}

// denied is who turned a step down and why.
func denied(inc incident.Incident, s incident.Step) string {
	d, ok := present.Approval(inc, s, incident.Deny)
	if !ok {
		return "denied"
	}
	text := "denied by " + who(d.By) + ", " + clock(d.At)
	if d.Reason != "" {
		text += " (" + escape(d.Reason, 120) + ")"
	}
	return text
}
