package slack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// status says in one or two lines where the incident stands and what comes next.
func (c *composer) status(inc incident.Incident) {
	lines := []string{c.stateLine(inc)}
	if inc.Active != nil {
		lines = append(lines, progress(inc))
	}
	lines = append(lines, c.note(inc))
	if inc.AckedBy != nil && inc.State != incident.StateClosed {
		lines = append(lines, "👀 Acknowledged by "+who(*inc.AckedBy)+".")
	}
	c.section(lines...)
	if inc.DryRun && inc.State != incident.StateClosed {
		c.context("🧪 *Dry run.* All readings are real; nothing is changed.")
	}
}

// note is the domain's remark on why the incident is where it is. Without a pool it is shown as advice, further down.
func (c *composer) note(inc incident.Incident) string {
	if inc.Pool == "" && inc.State != incident.StateClosed {
		return ""
	}
	return sentence(present.Note(inc), c.detail.text)
}

func (c *composer) stateLine(inc incident.Incident) string {
	switch inc.State {
	case incident.StateReceived:
		return "🔔 *Received.* Waiting briefly for related alerts before investigating."
	case incident.StateInvestigating:
		return "🔍 *Investigating.* Reading metrics and cluster state."
	case incident.StateProposed:
		return "🔍 *Plan ready.* Checking who needs to approve."
	case incident.StateDeciding:
		return decidingLine(inc)
	case incident.StateApplying, incident.StateSettling, incident.StateVerifying, incident.StateUndoing:
		return c.runningLine(inc)
	case incident.StateWatching:
		return watchingLine(inc)
	case incident.StateClosed:
		return "*Closed* at " + clock(inc.ClosedAt) + " (open for " +
			incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)) + ")."
	default:
		return "The incident is " + bold(string(inc.State), 40) + "."
	}
}

func decidingLine(inc incident.Incident) string {
	by, otherwise, until := "", "", ""
	if inc.Plan != nil && !inc.Plan.ExpiresAt.IsZero() {
		by = " by " + clock(inc.Plan.ExpiresAt)
		otherwise, until = " If no one responds, nothing changes.", " If no one responds"+by+", it stays as is."
	}
	if s, ok := inc.Step(inc.UndoOffered); ok && inc.UndoOffered != "" {
		return "↩️ *" + escape(name(s), 80) + " didn't help. Roll back?*" + until
	}
	if len(inc.Proposed()) == 0 {
		return "👉 *Needs a human decision.*" + until
	}
	return "👉 *Approve or deny" + by + ".*" + otherwise
}

// runningLine says what is being done; the step itself is shown below it.
func (c *composer) runningLine(inc incident.Incident) string {
	a := inc.Active
	if a == nil {
		return "⏳ *" + escape(string(inc.State), 40) + ".*"
	}
	s, _ := inc.Step(a.Step)
	switch {
	case a.Op == incident.OpUndo:
		return "↩️ *Rolling back to " + escape(valueText(s.Undo), 40) + "* (" + sentence(present.Why(*a), 150) + ")."
	case a.Phase == incident.PhaseRecheck:
		return "⏳ *Approved.* Re-checking, then applying."
	case a.Phase == incident.PhaseClaimed:
		return "⏳ *Applying.*"
	case a.Phase == incident.PhaseRollout:
		return effectText(inc, s)
	case a.Phase == incident.PhaseSettle && !a.SettleUntil.IsZero():
		return "⏳ *Live.* Metrics catching up; first check at " + clock(a.SettleUntil) + "."
	case a.Phase == incident.PhaseVerify:
		return "🔬 *Verifying.*" + readingsText(a)
	}
	return "⏳ *" + escape(string(inc.State), 40) + ".*"
}

// effectText says what has to follow the write: pods, or a gateway that takes a policy.
func effectText(inc incident.Incident, s incident.Step) string {
	if !s.Kind.RollsOut() {
		return "⏳ *Applied.* Waiting for the gateway to accept it."
	}
	text := "⏳ *Rolling out.*"
	if ready := inc.Cluster.ReadyText(); inc.Cluster.Error == "" && ready != "" {
		text += " " + ready + "."
	}
	return text
}

func readingsText(a *incident.Active) string {
	switch {
	case a.WorseInRow > 0:
		return " Metrics look worse; confirming with one more check."
	case a.Readings > 0:
		return fmt.Sprintf(" Checks so far: %d.", a.Readings)
	}
	return ""
}

// progress shows how far the running step is.
func progress(inc incident.Incident) string {
	effect := "rolled out"
	if s, ok := inc.Step(inc.Active.Step); ok && !s.Kind.RollsOut() {
		effect = "in effect"
	}
	stages := []string{"approved", "applied", effect, "metrics caught up", "verified"}
	at := map[incident.Phase]int{
		incident.PhaseRecheck: 1, incident.PhaseClaimed: 1, incident.PhaseRollout: 2, incident.PhaseSettle: 3,
		incident.PhaseVerify: 4,
	}[inc.Active.Phase]
	switch {
	case inc.Active.Op == incident.OpUndo:
		stages = []string{"requested", "restored", effect}
	case inc.DryRun:
		stages = []string{"approved", "dry-run", "verified"}
		at = min(at, 2)
	}
	var marked []string
	for i, s := range stages {
		icon := "▫️ "
		switch {
		case i < at:
			icon = "✅ "
		case i == at:
			icon = "⏳ "
		}
		marked = append(marked, icon+s)
	}
	return strings.Join(marked, "   ")
}

// watchingLine says what is waited for. The note, which follows, says why nothing is asked.
func watchingLine(inc incident.Incident) string {
	healthy := ""
	if !inc.HealthySince.IsZero() {
		healthy = " Healthy since " + clock(inc.HealthySince) + "."
	}
	active := inc.Mitigations()
	switch {
	case inc.Pool == "":
		return ""
	case len(active) > 0:
		s := active[len(active)-1]
		what := "change"
		if s.Kind == incident.StepThrottle {
			what = "throttle"
		}
		return "👀 *Temporary " + what + " in place.* Reverts to " + escape(valueText(s.Undo), 40) + " after " +
			incident.FormatDuration(s.RevertAfter) + " healthy." + healthy
	case healthy != "" && inc.ClosesOnResolve():
		return "🟢 *Healthy, but an alert is still firing.* Closes when the alert resolves." + healthy
	case healthy != "":
		return "🟢 *Recovered.* Closes if it stays healthy." + healthy
	case failed(inc):
		return "🛑 *Needs a human.*"
	case takenBack(inc):
		return "⏪ *Change reverted by someone else.*"
	case inc.MuteReason != incident.NotMuted:
		return "🔕 *Monitoring only; no further proposals.*"
	}
	return "👀 *Monitoring.* No action needed."
}

// takenBack says that somebody else changed the value of a step of the present plan.
func takenBack(inc incident.Incident) bool {
	return inc.Plan != nil &&
		slices.ContainsFunc(inc.Plan.Steps, func(s incident.Step) bool { return s.State == incident.StepReverted })
}

// failed says that a step ended badly and nobody has looked after it since.
func failed(inc incident.Incident) bool {
	bad := func(s incident.Step) bool { return s.State == incident.StepFailed }
	return slices.ContainsFunc(inc.AppliedEarlier, bad) || (inc.Plan != nil && slices.ContainsFunc(inc.Plan.Steps, bad))
}
