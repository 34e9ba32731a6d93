package slack

import (
	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxStatus is room for what is said of an incident beside the words of others, in characters.
const maxStatus = 300

// status is what the incident is at.
func (c *composer) status(inc incident.Incident) string {
	return sentence(present.Status(inc), maxStatus+c.detail.text)
}

// starting is an incident without a plan to ask about yet.
func (c *composer) starting(inc incident.Incident) {
	c.section(c.status(inc), c.remark(inc))
	c.alerts(inc)
	c.actions("actions", inc, c.general(inc)...)
}

// running says what is being done, so that nobody has to do anything. Readings of before the change are not shown.
func (c *composer) running(inc incident.Incident) {
	c.section(c.status(inc), c.remark(inc))
	a := inc.Active
	if a == nil {
		return
	}
	s, _ := inc.Step(a.Step)
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

// moved is what the signals do after a change, against before.
func (c *composer) moved(inc incident.Incident, s incident.Step) []string {
	if s.Verification == nil || inc.Active == nil || inc.Active.Readings == 0 {
		return nil
	}
	return c.moves(inc, *s.Verification, listed)
}

// watching is an open incident in which nothing is asked.
func (c *composer) watching(inc incident.Incident) {
	lines := []string{c.status(inc)}
	s, hasRun := present.Latest(inc)
	if hasRun && inc.HealthySince.IsZero() && s.State == incident.StepFailed {
		lines = append(lines, "Was to "+escape(present.Change(s), 80)+approvedText(inc, s)+".")
	}
	c.section(append(lines, c.remark(inc))...)
	if hasRun && !inc.HealthySince.IsZero() && s.Verification != nil && !inc.OnlyDryRun(s) {
		c.section(c.outcome(inc, s)...)
	}
	if inc.HealthySince.IsZero() || present.FollowUp(inc) {
		c.why(inc)
		c.doNow(inc)
	}
	c.actions("actions", inc, c.watchingChoices(inc)...)
	c.below(inc, nil)
}

func (c *composer) watchingChoices(inc incident.Incident) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	if b, ok := askAgainButton(inc); ok && inc.CanAskAgain() {
		out = append(out, b)
	}
	return append(append(out, rollbacks(inc)...), c.general(inc)...)
}
