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
	if inc.Diagnosis != nil {
		after := ""
		if d := inc.DiagnosedAt.Sub(inc.OpenedAt); !inc.DiagnosedAt.IsZero() && d >= 0 {
			after = " (found after " + incident.FormatDuration(d) + ")"
		}
		lines = append(lines, "*Cause*"+after+": "+escape(mainCause(inc.Diagnosis.Summary), c.detail.text))
	}
	done := c.done(inc)
	if len(done) == 0 && resolved(inc) { // else the headline says so
		done = []string{"*Nothing was changed.*"}
	}
	lines = append(append(lines, done...), c.remark(inc))
	if left := inPlace(inc); left != "" {
		lines = append(lines, "*Still in place:* "+left+".")
	}
	c.section(lines...)
}

// made is everything that was applied in the incident's life, the oldest first. What an older version stored has only
// the steps that are still known.
func made(inc incident.Incident) []incident.Made {
	if len(inc.History) > 0 {
		return inc.History
	}
	var out []incident.Made
	for _, s := range ran(inc) {
		if s.AppliedAt.IsZero() {
			continue
		}
		m := incident.Made{
			Step: s.ID, Kind: s.Kind, Title: s.Title, Target: s.Target, From: s.From, To: s.To, Undo: s.Undo, State: s.State,
			DryRun: inc.OnlyDryRun(s), AppliedAt: s.AppliedAt, By: s.Approvals,
		}
		if d, ok := approval(inc, s, incident.Approve); ok {
			m.By, m.DecidedAt = []incident.Actor{d.By}, d.At
		}
		if v := s.Verification; v != nil {
			m.Verdict, m.Check, m.VerifiedAt = v.Verdict, v.Comparison, v.At
		}
		out = append(out, m)
	}
	return out
}

// changeOf is a change that was made in the middle of a sentence.
func changeOf(m incident.Made) string {
	return change(incident.Step{Kind: m.Kind, Title: m.Title, Target: m.Target, From: m.From, To: m.To, Undo: m.Undo})
}

// changed says whether anything was written in the incident's life, or may have been.
func changed(inc incident.Incident) bool {
	return slices.ContainsFunc(made(inc), func(m incident.Made) bool { return !m.DryRun })
}

// done lists what was changed, by whom, when, and what came of it; then what failed and what was turned down.
func (c *composer) done(inc incident.Incident) []string {
	var lines []string
	for _, m := range made(inc) {
		lines = append(lines, "• *"+escape(changeOf(m), 80)+"*"+course(m)+c.came(inc, m))
	}
	for _, s := range ran(inc) {
		if s.State == incident.StepFailed && !slices.ContainsFunc(inc.History, func(m incident.Made) bool {
			return m.Step == s.ID
		}) {
			lines = append(lines, "• *"+escape(change(s), 80)+"*"+approvedText(inc, s)+": *failed*"+
				reasonText(present.Reason(s), c.detail.text)+".")
		}
	}
	for _, s := range planned(inc) {
		if s.State == incident.StepDenied {
			lines = append(lines, "• "+escape(change(s), 80)+": "+denied(inc, s)+".")
		}
	}
	return capped(lines, 2*c.detail.numbers)
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
	case m.State == incident.StepUndone || !m.UndoneAt.IsZero():
		text += " Rolled back to " + escape(valueText(m.Undo), 40)
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

// inPlace names the values that are still set.
func inPlace(inc incident.Incident) string {
	var out []string
	for _, s := range inc.Applied() {
		if !inc.OnlyDryRun(s) {
			out = append(out, escape(change(s), 80))
		}
	}
	return strings.Join(capped(out, 3), ", ")
}

// left says what a no leaves as it is: that nothing was changed is only true when nothing ever was.
func (c *composer) left(inc incident.Incident) string {
	standing, others := 0, 0
	for _, m := range slices.Backward(made(inc)) {
		switch s, _ := inc.Step(m.Step); {
		case m.DryRun:
		case undoUnsure(s):
			return "It's unknown whether " + escape(change(s), 80) + " was rolled back."
		case m.Unsure && (m.State == incident.StepApplied || m.State == incident.StepFailed):
			return "It's unknown whether " + escape(changeOf(m), 80) + " took effect."
		case m.State == incident.StepApplied:
			standing++
		default:
			others++
		}
	}
	in := capital(inPlace(inc))
	switch {
	case in == "" && standing+others == 0:
		return "Nothing was changed."
	case in == "":
		return "No change is left in place."
	case standing > 1:
		in += " stay in place"
	default:
		in += " stays in place"
	}
	if others > 0 { // rolled back or reverted since
		return in + "."
	}
	return in + "; nothing else was changed."
}

// undoUnsure says that nobody knows whether an applied step was undone.
func undoUnsure(s incident.Step) bool {
	return s.State == incident.StepApplied &&
		(s.UndoUnsure || s.Cause.Kind == incident.ReasonWriteUnknown && s.Cause.NotUndone)
}
