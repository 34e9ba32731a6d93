package slack

import (
	"fmt"
	"slices"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// starting is an incident without a plan to ask about yet.
func (c *composer) starting(inc incident.Incident) {
	first := "*Investigating.* Reading metrics and cluster state."
	switch inc.State { //nolint:exhaustive // the others do not get here
	case incident.StateReceived:
		first = "*Received.* Waiting briefly for related alerts before investigating."
	case incident.StateProposed:
		first = "*Plan ready.* Checking who needs to approve it."
	}
	c.section(append([]string{first, c.remark(inc)}, c.alerts(inc)...)...)
	c.actions("actions", inc, c.general(inc)...)
}

// running says what is being done, so that nobody has to do anything. Readings of before the change are not shown.
func (c *composer) running(inc incident.Incident) {
	a := inc.Active
	if a == nil {
		c.section("*No action needed.*", c.remark(inc))
		return
	}
	s, _ := inc.Step(a.Step)
	c.section("*No action needed.* "+c.doing(inc, s, a), c.remark(inc))
	if a.Phase == incident.PhaseVerify && a.Op == incident.OpApply && !inc.DryRun {
		c.section(c.moved(inc, s)...)
	}
	var buttons []slackgo.BlockElement
	if b, ok := undoButton(inc, s); ok {
		buttons = append(buttons, b)
	}
	if b, ok := stopButton(inc, s); ok {
		buttons = append(buttons, b)
	}
	c.actions("actions", inc, buttons...)
	if a.Phase == incident.PhaseVerify {
		c.picture(inc)
	}
}

// doing is the phase of the active step in one or two sentences.
func (c *composer) doing(inc incident.Incident, s incident.Step, a *incident.Active) string {
	by := approvedText(inc, s)
	switch {
	case a.Op == incident.OpUndo && a.Phase == incident.PhaseRollout:
		return "Restored " + escape(valueText(s.Undo), 40) + " (" + sentence(present.Why(*a), 150) + "). " + waitsBack(s)
	case a.Op == incident.OpUndo:
		return "Rolling back to " + escape(valueText(s.Undo), 40) + " (" + sentence(present.Why(*a), 150) + ")."
	case a.Phase == incident.PhaseRecheck:
		return "Re-checking, then applying" + by + "."
	case a.Phase == incident.PhaseRollout:
		return "Applied" + by + ". " + waits(s)
	case a.Phase == incident.PhaseSettle && !a.SettleUntil.IsZero():
		return "Live" + by + ". Metrics catching up; first check at " + clock(a.SettleUntil) + "."
	case a.Phase == incident.PhaseVerify && inc.DryRun:
		return "Dry run passed" + by + ". Nothing was changed."
	case a.Phase == incident.PhaseVerify && a.WorseInRow > 0:
		return "Metrics look worse; confirming with one more check."
	case a.Phase == incident.PhaseVerify:
		return fmt.Sprintf("Check %d%s.", a.Readings+1, by)
	}
	return "Applying" + by + "."
}

// waits says what has to follow a write: pods, or a gateway that takes a policy.
func waits(s incident.Step) string {
	if s.Kind.RollsOut() {
		return "New pods load the model first, which takes minutes."
	}
	return "Waiting for the gateway to accept it."
}

// waitsBack says what has to follow a rollback.
func waitsBack(s incident.Step) string {
	if s.Kind.RollsOut() {
		return "Waiting for the rollout."
	}
	return waits(s)
}

// moved is what the signals do after a change, against before.
func (c *composer) moved(inc incident.Incident, s incident.Step) []string {
	if s.Verification == nil || inc.Active == nil || inc.Active.Readings == 0 {
		return nil
	}
	return c.moves(inc, *s.Verification, listed)
}

// watching is an open incident in which nothing is asked.
func (c *composer) watching(inc incident.Incident) {
	s, hasRun := latest(inc)
	switch {
	case !inc.HealthySince.IsZero():
		c.section(c.healthy(inc)...)
		if hasRun && s.Verification != nil && !inc.OnlyDryRun(s) {
			c.section(c.outcome(inc, s)...)
		}
	case hasRun && s.State == incident.StepFailed:
		c.section("*Needs a human.* "+c.said(inc, present.Reason(s)),
			"Was to "+escape(change(s), 80)+approvedText(inc, s)+".")
	case hasRun && s.State == incident.StepReverted:
		c.section("*Someone else changed it back.* " + c.said(inc, present.Reason(s)))
	default:
		c.section(c.calm(inc), c.remark(inc))
	}
	if inc.HealthySince.IsZero() {
		c.why(inc)
	}
	c.actions("actions", inc, c.watchingChoices(inc)...)
	c.below(inc, nil)
}

// said is the note of the incident, or the reason of a step where the note says something else.
func (c *composer) said(inc incident.Incident, reason string) string {
	if text := sentence(present.Note(inc), c.detail.text); text != "" {
		return text
	}
	return ended(escape(reason, c.detail.text))
}

func (c *composer) watchingChoices(inc incident.Incident) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	if b, ok := askAgainButton(inc); ok && inc.CanAskAgain() {
		out = append(out, b)
	}
	return append(append(out, rollbacks(inc)...), c.general(inc)...)
}

// healthy says what the incident waits for before it closes.
func (c *composer) healthy(inc incident.Incident) []string {
	since := " Healthy since " + clock(inc.HealthySince) + "."
	if active := inc.Mitigations(); len(active) > 0 {
		s := active[len(active)-1]
		return []string{
			"*Reverts to " + escape(valueText(s.Undo), 40) + " at " + clock(inc.HealthySince.Add(s.RevertAfter)) +
				"* if it stays healthy. No action needed." + since,
			c.remark(inc),
		}
	}
	if inc.ClosesOnResolve() {
		return []string{"*No action needed.* Closes when the alert resolves." + since, c.remark(inc)}
	}
	return []string{"*No action needed.* Closes if it stays healthy." + since, c.remark(inc)}
}

// calm says why nothing is asked while it is not healthy.
func (c *composer) calm(inc incident.Incident) string {
	switch inc.MuteReason {
	case incident.MutedDenied:
		return "*" + turnedDown(inc) + "* " + c.left(inc) + " No further proposals unless the diagnosis changes."
	case incident.MutedExpired:
		if !changed(inc) {
			return "*No one responded in time*, so nothing was changed."
		}
		return "*No one responded in time.* " + c.left(inc)
	case incident.MutedSnoozed:
		return "*No action needed.*"
	case incident.MutedDryRun:
		return "*Dry run finished.* " + c.left(inc) + c.would(inc)
	case incident.NotMuted:
	}
	if s, ok := latest(inc); ok && s.State == incident.StepUndone {
		return "*Rolled back to " + escape(valueText(s.Undo), 40) + undoneBy(inc, s) +
			".* Investigating again; no action needed."
	}
	if text := c.paused(inc); text != "" {
		return text
	}
	switch {
	case inc.Diagnosis != nil && len(inc.Proposed()) == 0 && inc.Plan != nil:
		return "*No automated fix available right now.*"
	case inc.Diagnosis == nil:
		return "*No diagnosis.* Still checking."
	}
	return "*Monitoring.* No action needed."
}

// undoneBy is who had a step rolled back, with a space before it; empty when it isn't known.
func undoneBy(inc incident.Incident, s incident.Step) string {
	for _, m := range slices.Backward(made(inc)) {
		if m.Step == s.ID && m.UndoneBy != nil {
			return " by " + who(*m.UndoneBy)
		}
	}
	return ""
}

// paused says why nothing is proposed while there is something to propose.
func (c *composer) paused(inc incident.Incident) string {
	for _, s := range planned(inc) {
		if !heldByPause(s) {
			continue
		}
		why := s.Refusal()
		text := "*Changes are paused* for " + scope(why.Pool) + " by " + who(why.Who)
		if why.Text != "" {
			text += ": " + escape(why.Text, c.detail.text)
		}
		return ended(text)
	}
	return ""
}

// heldByPause says that a pause keeps a step from being proposed.
func heldByPause(s incident.Step) bool {
	return (s.State == incident.StepProposed || s.State == incident.StepRefused) && s.Kind != incident.StepManual &&
		s.Refusal().Kind == incident.ReasonPaused
}

// would says what a dry run would have done.
func (c *composer) would(inc incident.Incident) string {
	s, ok := latest(inc)
	if !ok || !inc.OnlyDryRun(s) {
		return ""
	}
	return " It would have applied " + escape(change(s), 80) + approvedText(inc, s) + "."
}
