package slack

import (
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// summary is what is left to know when an incident is over: the cause, everything that was done in its life with what
// came of it, and what is still in place.
func (c *composer) summary(inc incident.Incident) {
	var lines []string
	if measured := present.Drill(inc); len(measured) > 0 {
		c.drilled(measured)
		return
	}
	if cause := present.CauseOf(inc); cause.Summary != "" {
		after := ""
		if d := inc.DiagnosedAt.Sub(inc.OpenedAt); !inc.DiagnosedAt.IsZero() && d >= 0 {
			after = " (found after " + incident.FormatDuration(d) + ")"
		}
		lines = append(lines, "*Cause*"+after+": "+escape(present.Cause(cause.Summary), c.detail.text))
	}
	done := c.done(inc)
	if len(done) == 0 && present.Resolved(inc) { // else the headline says so
		done = []string{"*Nothing was changed.*"}
	}
	lines = append(append(lines, done...), c.remark(inc))
	if left := present.InPlace(inc); left != "" {
		lines = append(lines, "*Still in place:* "+escape(left, maxStatus)+".")
	}
	c.section(lines...)
}

// drilled is what is left to know of a drill: who decided when, and what would have been written.
func (c *composer) drilled(measured [][]present.Span) {
	lines := []string{"*" + sentence(measured[0], maxStatus) + "*"}
	for _, line := range measured[1:] {
		lines = append(lines, "• "+sentence(line, c.detail.text))
	}
	c.section(present.Capped(lines, 2+c.detail.steps)...)
}

// done lists what was changed, by whom, when, and what came of it; then what failed and what was turned down.
func (c *composer) done(inc incident.Incident) []string {
	var lines []string
	for _, m := range present.History(inc) {
		lines = append(lines, "• *"+escape(present.ChangeMade(m), 80)+"*"+madeFor(inc, m)+course(m)+c.came(inc, m))
	}
	for _, s := range present.Ran(inc) {
		if s.State == incident.StepFailed && !slices.ContainsFunc(inc.History, func(m incident.Made) bool {
			return m.Step == s.ID
		}) {
			lines = append(lines, "• *"+escape(present.Change(s), 80)+"*"+approvedText(inc, s)+": *failed*"+
				reasonText(present.Reason(s), c.detail.text)+".")
		}
	}
	for _, s := range present.Planned(inc) {
		if s.State == incident.StepDenied {
			lines = append(lines, "• "+escape(present.Change(s), 80)+": "+denied(inc, s)+".")
		}
	}
	return present.Capped(lines, 2*c.detail.numbers)
}

func madeFor(inc incident.Incident, m incident.Made) string {
	if text := present.MadeFor(inc, m); text != "" {
		return " " + escape(text, 80)
	}
	return ""
}

// course is who approved a change, and when each part of it was done, so that one sees what took how long.
func course(m incident.Made) string {
	var parts []string
	if !m.AskedAt.IsZero() {
		parts = append(parts, "asked "+clock(m.AskedAt))
	}
	switch by := people(m.By); {
	case by != "" && !m.DecidedAt.IsZero():
		parts = append(parts, "approved by "+by+" "+clock(m.DecidedAt))
	case by != "":
		parts = append(parts, "approved by "+by)
	}
	for _, part := range []struct {
		name string
		at   time.Time
	}{{"live", m.LiveAt}, {"verified", m.VerifiedAt}} {
		if !part.at.IsZero() && !m.DryRun {
			parts = append(parts, part.name+" "+clock(part.at))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// came is what became of a change.
func (c *composer) came(inc incident.Incident, m incident.Made) string {
	text := "."
	switch {
	case m.DryRun:
		return ": dry run only, nothing was written."
	case m.Unsure:
		text = ": *unknown whether it took effect*."
	case m.Verdict != "":
		text = ": " + escape(strings.ToLower(present.Verdict(m.Verdict)), 40) + "."
		v := incident.Verification{Comparison: m.Check}
		if moved := c.moves(inc, v, inline); m.Check != nil && len(moved) > 0 {
			text = strings.TrimSuffix(text, ".") + ", " + strings.Join(moved, ", ") + "."
		}
	}
	switch s, _ := inc.Step(m.Step); {
	case m.Lifted():
		text += " Reverted to " + escape(present.ValueText(m.Undo), 40) + " as planned " + clock(m.UndoneAt) + "."
	case m.State == incident.StepUndone || !m.UndoneAt.IsZero():
		text += " Rolled back to " + escape(present.ValueText(m.Undo), 40)
		if m.UndoneBy != nil {
			text += " by " + who(*m.UndoneBy)
		}
		if !m.UndoneAt.IsZero() {
			text += " " + clock(m.UndoneAt)
		}
		text += "."
	case m.State == incident.StepReverted && present.Reason(s) != "":
		text += " Then " + strings.TrimRight(escape(present.Reason(s), c.detail.text), ".") + "."
	case m.State == incident.StepReverted:
		text += " Then reverted by someone else."
	}
	return text
}
