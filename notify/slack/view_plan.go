package slack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// plan shows the steps in their order: what would be turned, what it costs, what speaks against it, and the buttons.
// The step in focus stands above. Steps on which nothing hangs any more share one line of small print.
func (c *composer) plan(inc incident.Incident) {
	if inc.Plan == nil {
		return
	}
	steps := inc.Plan.Steps
	focus := focusOf(inc)
	var lines, rest []string // of steps that need one line only, gathered into one block
	flush := func() {
		c.section(lines...)
		lines = nil
	}
	told := map[incident.Guardrail]bool{}
	for i, s := range steps[:min(len(steps), c.detail.steps)] {
		switch l := c.oneLiner(inc, s, i+1); {
		case s.ID == focus && focus != "":
		case aside(inc, s):
			rest = append(rest, escape(name(s), c.detail.name)+" ("+asideWord(s)+")")
		case l != "":
			lines = append(lines, l)
		default:
			flush()
			c.step(inc, s, i+1, told)
		}
	}
	if n := len(steps) - c.detail.steps; n > 0 {
		lines = append(lines, fmt.Sprintf("…and %d more steps, on the incident's page", n))
	}
	flush()
	if len(rest) > 0 {
		c.context(append([]string{"Also in the plan: " + rest[0]}, rest[1:]...)...)
	}
}

// focus shows the step that matters most now, above everything else.
func (c *composer) focus(inc incident.Incident) {
	id := focusOf(inc)
	if id == "" {
		return
	}
	if inc.Plan != nil {
		if i := slices.IndexFunc(inc.Plan.Steps, func(s incident.Step) bool { return s.ID == id }); i >= 0 {
			c.ran(inc, inc.Plan.Steps[i], i+1)
			return
		}
	}
	if i := slices.IndexFunc(inc.AppliedEarlier, func(s incident.Step) bool { return s.ID == id }); i >= 0 {
		c.ran(inc, inc.AppliedEarlier[i], 0)
	}
}

// focusOf is the step that matters most now: the one being run, or the one whose undo is offered. Empty when there is
// none.
func focusOf(inc incident.Incident) string {
	if inc.Active != nil {
		return inc.Active.Step
	}
	return inc.UndoOffered
}

// aside says that nothing hangs on the step at the moment: it was overtaken, or others come first.
func aside(inc incident.Incident, s incident.Step) bool {
	switch s.State {
	case incident.StepSuperseded:
		return true
	case incident.StepProposed, incident.StepRefused, incident.StepDenied, incident.StepExpired:
		return inc.State.Running() || !inc.HealthySince.IsZero()
	case incident.StepApproved, incident.StepApplying, incident.StepApplied, incident.StepFailed, incident.StepUndoing,
		incident.StepUndone,
		incident.StepReverted:
	}
	return false
}

func asideWord(s incident.Step) string {
	switch {
	case s.Kind == incident.StepManual:
		return "manual"
	case s.State == incident.StepRefused, s.State == incident.StepProposed && !s.Executable():
		return "blocked"
	case s.State == incident.StepSuperseded:
		return "no longer needed"
	case s.State == incident.StepProposed:
		return "queued"
	default:
		return string(s.State)
	}
}

// appliedEarlier shows steps of earlier plans that are still in effect.
func (c *composer) appliedEarlier(inc incident.Incident) {
	all := slices.DeleteFunc(slices.Clone(inc.AppliedEarlier), func(s incident.Step) bool { return s.ID == focusOf(inc) })
	shown := all[:min(len(all), 3)]
	for _, s := range shown {
		c.ran(inc, s, 0)
	}
	if n := len(all) - len(shown); n > 0 {
		c.section(fmt.Sprintf("…and %d more steps in place, on the incident's page", n))
	}
}

// oneLiner is the line of a step on which nobody decides now; empty for a step that is shown in full.
func (c *composer) oneLiner(inc incident.Incident, s incident.Step, n int) string {
	most := c.detail.name
	if s.Kind == incident.StepManual {
		most = max(most, c.detail.text) // the advice is the step: cut off it is worth nothing
	}
	title := fmt.Sprintf("*%d · %s*", n, escape(name(s), most))
	reason := func(icon, other string) string {
		text := escape(present.Reason(s), c.detail.text)
		if text == "" {
			text = other
		}
		return icon + " " + title + ": " + text
	}
	switch s.State {
	case incident.StepProposed:
		return c.waiting(inc, s, title)
	case incident.StepRefused:
		lines := reason("⛔", "blocked")
		if hint := fence(s.Diff, c.detail.diff, 900); hint != "" {
			lines += "\n" + hint
		}
		return lines
	case incident.StepDenied:
		return "🚫 " + title + record(inc, s, incident.Deny)
	case incident.StepExpired:
		return reason("⌛", "approval expired")
	case incident.StepSuperseded:
		return reason("➖", "no longer needed")
	case incident.StepApproved, incident.StepApplying, incident.StepApplied, incident.StepFailed, incident.StepUndoing,
		incident.StepUndone,
		incident.StepReverted:
		return ""
	default:
		return title + ": " + escape(string(s.State), 40)
	}
}

// waiting is the line of a proposed step without buttons; empty when it has some.
func (c *composer) waiting(inc incident.Incident, s incident.Step, title string) string {
	switch {
	case s.Kind == incident.StepManual:
		why := ""
		if s.Why != "" {
			why = ": " + escape(s.Why, c.detail.text)
		}
		return "👤 " + title + " (manual)" + why
	case !s.Executable():
		return "⛔ " + title + ": " + escape(strings.Join(present.Refusals(s), "; "), c.detail.text)
	case inc.State == incident.StateDeciding || inc.State == incident.StateProposed:
		return ""
	default:
		return "▫️ " + title + ": on hold"
	}
}

// step shows a step on which people decide, or one that has run.
func (c *composer) step(inc incident.Incident, s incident.Step, n int, told map[incident.Guardrail]bool) {
	if s.State != incident.StepProposed {
		c.ran(inc, s, n)
		return
	}
	lines := []string{fmt.Sprintf("*%d · %s*%s", n, escape(name(s), c.detail.name), unset(s))}
	if s.Why != "" {
		lines = append(lines, escape(s.Why, c.detail.text))
	}
	if tried := sentence(present.Tried(s), c.detail.text); tried != "" {
		lines = append(lines, "🔁 *The same change was "+tried+"*")
	}
	if s.Needs.Restart {
		lines = append(lines, "⚠️ *Restarts pods.*")
	}
	lines = append(lines, c.stepCautions(s)...)
	lines = append(lines, fence(s.Diff, c.detail.diff, 700))
	c.section(lines...)
	c.context(c.price(s)...)
	c.context(c.checks(s, told)...)
	if a := approvals(s); a != "" {
		c.context(a)
	}
	if inc.State == incident.StateDeciding {
		c.actions(blockID("decide", inc, s), decideButtons(inc, s)...)
	}
}

// price is what the step costs, how fast it works, what may go wrong, and the way back, which an approval includes.
func (c *composer) price(s incident.Step) []string {
	var out []string
	for _, p := range []struct{ label, text string }{{"Time to effect", s.Speed}, {"Cost", s.Cost}, {"Risk", s.Risk}} {
		if p.text != "" {
			out = append(out, "*"+p.label+":* "+escape(p.text, c.detail.text))
		}
	}
	return append(out, "*Undo:* "+undoText(s))
}

// undoText says when the way back is taken. Whether policy takes it by itself when a step did not help is not known
// here: it is offered at least.
func undoText(s incident.Step) string {
	text := "roll back to " + escape(valueText(s.Undo), 40) + "; offered if it doesn't help"
	if s.Mitigation() {
		text += "; reverts automatically after " + incident.FormatDuration(s.RevertAfter) + " healthy"
	}
	return text
}

// maxChecks bounds the verdicts of a kind shown for a step; there are fewer guardrails than that.
const maxChecks = 12

// maxCautions bounds the cautions of a step, leastCaution how far one is shortened at most: the reason has to be
// understood at every level of detail.
const (
	maxCautions  = 3
	leastCaution = 120
)

// stepCautions are what an approver should know first, as lines of the step itself: never among the ticks of the small
// print.
func (c *composer) stepCautions(s incident.Step) []string {
	all := s.Cautions()
	shown := all[:min(len(all), maxCautions)]
	lines := make([]string, 0, len(shown))
	for _, reason := range shown {
		lines = append(lines, "⚠️ *Caution:* "+escape(reason, max(c.detail.text, leastCaution)))
	}
	if n := len(all) - len(shown); n > 0 {
		lines[len(lines)-1] += " _" + more(n) + "_"
	}
	return lines
}

// checks are the guardrails' verdicts, first those that are no pass; the cautions stand with the step itself. What an
// earlier step said in the same words is not said again.
func (c *composer) checks(s incident.Step, told map[incident.Guardrail]bool) []string {
	var hard, out, same []string
	for _, g := range s.Guardrails {
		switch g.Verdict {
		case incident.GuardShrink:
			hard = append(hard, "✂️ "+escape(present.Guardrail(g), c.detail.text))
		case incident.GuardRefuse:
			hard = append(hard, "⛔ "+escape(present.Guardrail(g), c.detail.text))
		case incident.GuardCaution:
		case incident.GuardPass:
			if c.detail.passes && !told[g] && len(out) < maxChecks {
				told[g] = true
				out = append(out, "✓ "+escape(present.Guardrail(g), c.detail.text))
			} else if len(same) < maxChecks {
				same = append(same, escape(g.Name, 40))
			}
		default: // a verdict of a newer version refuses
			hard = append(hard, "⛔ "+escape(present.Guardrail(g), c.detail.text))
		}
	}
	hard = hard[:min(maxChecks, len(hard))]
	if len(same) > 0 {
		out = append(out, "✓ "+strings.Join(same, ", "))
	}
	return append(append(hard, out...), dryRun(s)...)
}

// dryRun says who has looked at the diff.
func dryRun(s incident.Step) []string {
	switch text := escape(present.Checked(s.Checked), 80); {
	case text == "":
		return nil
	case s.Checked.OK:
		return []string{"✓ " + text}
	default:
		return []string{"⚠️ " + text}
	}
}

func approvals(s incident.Step) string {
	if s.Needs.Approvals <= 1 {
		return ""
	}
	text := fmt.Sprintf("Needs %d approvals; %d so far", s.Needs.Approvals, len(s.Approvals))
	if len(s.Approvals) > 0 {
		names := make([]string, 0, len(s.Approvals))
		for _, a := range s.Approvals[:min(5, len(s.Approvals))] {
			names = append(names, who(a))
		}
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// ran shows a step that was approved or run: its record in place of the buttons, its outcome, and the way back.
func (c *composer) ran(inc incident.Incident, s incident.Step, n int) {
	title := escape(name(s), c.detail.name)
	if n > 0 {
		title = fmt.Sprintf("%d · %s", n, title)
	}
	lines := []string{
		stepIcon(inc, s) + " *" + title + "*" + unset(s) + stateWord(inc, s) + record(inc, s, incident.Approve),
	}
	if why := present.Reason(s); why != "" && inc.NoteStep != s.ID {
		lines = append(lines, escape(why, c.detail.text))
	}
	lines = append(lines, c.verified(inc, s)...)
	c.section(lines...)
	if b, ok := undoButton(inc, s); ok {
		c.actions(blockID("undo", inc, s), b)
	}
}

func stepIcon(inc incident.Incident, s incident.Step) string {
	switch s.State {
	case incident.StepApplied:
		if inc.OnlyDryRun(s) {
			return "🧪"
		}
		if v := s.Verification; v != nil {
			return verdictIcon(v.Verdict)
		}
		return "✅"
	case incident.StepFailed:
		return "❌"
	case incident.StepUndoing, incident.StepUndone:
		return "↩️"
	case incident.StepReverted:
		return "⏪"
	case incident.StepProposed, incident.StepApproved, incident.StepDenied, incident.StepExpired, incident.StepSuperseded,
		incident.StepRefused, incident.StepApplying:
	}
	return "⏳"
}

func stateWord(inc incident.Incident, s incident.Step) string {
	at := ""
	if !s.AppliedAt.IsZero() {
		at = " at " + clock(s.AppliedAt)
	}
	switch {
	case s.State == incident.StepApplied && inc.OnlyDryRun(s):
		return ", dry run" + at + ", not written"
	case s.State == incident.StepApplied:
		return ", applied" + at
	case s.State == incident.StepFailed:
		return ", *failed*"
	case s.State == incident.StepUndone:
		return ", rolled back"
	case s.State == incident.StepReverted:
		return ", applied" + at + ", *reverted*"
	case s.State == incident.StepUndoing:
		return ", rolling back"
	}
	return ""
}

// record is who decided, in place of the buttons.
func record(inc incident.Incident, s incident.Step, v incident.Verb) string {
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Step != s.ID || d.Verb != v {
			continue
		}
		text := " · approved by "
		if v == incident.Deny {
			text = ": denied by "
		}
		text += who(d.By) + " at " + clock(d.At)
		if d.Reason != "" {
			text += " (" + escape(d.Reason, 120) + ")"
		}
		return text
	}
	return ""
}
