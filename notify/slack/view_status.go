package slack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// status says in one or two lines where the incident stands and what comes next.
func (c *canvas) status(inc incident.Incident) {
	lines := []string{stateLine(inc)}
	if inc.Active != nil {
		lines = append(lines, progress(inc))
	}
	if note := c.note(inc); note != "" {
		lines = append(lines, note)
	}
	if inc.AckedBy != nil {
		lines = append(lines, "👀 Seen by "+who(*inc.AckedBy)+".")
	}
	c.section(lines...)
	if inc.Drill && inc.State != incident.StateClosed {
		c.context("🧪 *Drill.* Every reading is real. Nothing is changed.")
	}
}

// note is the domain's remark. It is left out where the line above says the same: without a pool it is shown as advice.
func (c *canvas) note(inc incident.Incident) string {
	if inc.Pool == "" || inc.State == incident.StateClosed || inc.Note == "" {
		return ""
	}
	return sentence(inc.Note, c.detail.text)
}

func stateLine(inc incident.Incident) string {
	switch inc.State {
	case incident.StateReceived:
		return "🔔 *Received.* I wait a moment for more alerts, then I look."
	case incident.StateInvestigating:
		return "🔍 *Looking.* I read the metrics and the cluster."
	case incident.StateProposed:
		return "🔍 *The plan is ready.* I check who has to decide."
	case incident.StateDeciding:
		return decidingLine(inc)
	case incident.StateApplying, incident.StateSettling, incident.StateVerifying, incident.StateUndoing:
		return runningLine(inc)
	case incident.StateWatching:
		return watchingLine(inc)
	case incident.StateClosed:
		return "*Closed* at " + clock(inc.ClosedAt) + "."
	default:
		return "The incident is " + bold(string(inc.State), 40) + "."
	}
}

func decidingLine(inc incident.Incident) string {
	until := ""
	if inc.Plan != nil && !inc.Plan.ExpiresAt.IsZero() {
		until = " Until " + clock(inc.Plan.ExpiresAt) + "; no answer means no."
	}
	if s, ok := inc.Step(inc.UndoOffered); ok && inc.UndoOffered != "" {
		return "↩️ *It did not help: undo " + escape(name(s), 80) + "?*" + until
	}
	if len(inc.Proposed()) == 0 {
		return "👉 *A person must decide how to go on.*" + until
	}
	return "👉 *Approve or deny.*" + until
}

func runningLine(inc incident.Incident) string {
	if inc.Active == nil {
		return "⏳ *" + escape(string(inc.State), 40) + ".*"
	}
	s, _ := inc.Step(inc.Active.Step)
	what := bold(name(s), 120)
	by := " Approved by " + who(inc.Active.By) + "."
	if inc.Active.Op == incident.OpUndo {
		return "↩️ Undoing: " + what + ", back to " + bold(valueText(s.Undo), 40) + " (" + sentence(inc.Active.Why, 150) + ")."
	}
	switch inc.State {
	case incident.StateSettling:
		if inc.Active.Phase == incident.PhaseSettle && !inc.Active.SettleUntil.IsZero() {
			return "⏳ " + what + " is done. The signals settle until " + clock(inc.Active.SettleUntil) + "."
		}
		return "⏳ " + what + " is written. The pods follow." + rolloutText(inc)
	case incident.StateVerifying:
		return "🔬 " + what + " is in effect. I read the signals again." + readingsText(inc.Active)
	case incident.StateApplying, incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateDeciding,
		incident.StateUndoing, incident.StateWatching, incident.StateClosed:
	}
	return "⏳ Applying: " + what + "." + by
}

func rolloutText(inc incident.Incident) string {
	k := inc.Cluster
	if k.Error != "" || k.Replicas == nil || k.ReadyReplicas == nil {
		return ""
	}
	return fmt.Sprintf(" %d of %d were ready at the last look.", *k.ReadyReplicas, *k.Replicas)
}

func readingsText(a *incident.Active) string {
	switch {
	case a.WorseInRow > 0:
		return " It looks worse; one more reading decides."
	case a.Readings > 0:
		return fmt.Sprintf(" Reading %d so far.", a.Readings)
	}
	return ""
}

// progress shows how far the running step is.
func progress(inc incident.Incident) string {
	stages := []string{"approved", "written", "rolled out", "settled", "verified"}
	at := map[incident.Phase]int{
		incident.PhaseRecheck: 1, incident.PhaseClaimed: 1, incident.PhaseRollout: 2, incident.PhaseSettle: 3, incident.PhaseVerify: 4,
	}[inc.Active.Phase]
	switch {
	case inc.Active.Op == incident.OpUndo:
		stages = []string{"asked for", "restored", "rolled out"}
	case inc.Drill:
		stages = []string{"approved", "dry-run", "verified"}
		at = min(at, 2)
	}
	var out []string
	for i, s := range stages {
		icon := "▫️ "
		switch {
		case i < at:
			icon = "✅ "
		case i == at:
			icon = "⏳ "
		}
		out = append(out, icon+s)
	}
	return strings.Join(out, "   ")
}

func watchingLine(inc incident.Incident) string {
	healthy := ""
	if !inc.HealthySince.IsZero() {
		healthy = " Healthy since " + clock(inc.HealthySince) + "."
	}
	gaps := inc.StopGaps()
	switch {
	case len(gaps) > 0:
		s := gaps[len(gaps)-1]
		return "👀 *Watching: a stop-gap stands.* " + bold(name(s), 100) + " is taken back after " + human(s.LiftAfter) + " of health." + healthy
	case inc.Quiet == incident.QuietDenied:
		return "🔕 *Stopped by a person.* I only watch." + healthy
	case inc.Quiet == incident.QuietExpired:
		return "🔕 *Nobody decided, so nothing was changed.* I only watch." + healthy
	case inc.Quiet == incident.QuietDrilled:
		return "🏁 *The drill is over.* I only watch." + healthy
	case healthy != "":
		return "🟢 *It looks healthy.* I watch whether it stays so." + healthy
	case inc.Pool == "":
		return "🟠 *I cannot look at these.* They lead to no pool of my configuration."
	case failed(inc):
		return "🛑 *A person must look.* I only watch."
	}
	return "👀 *Watching.* I ask nothing for now."
}

// failed says that a step ended badly and nobody has looked after it since.
func failed(inc incident.Incident) bool {
	bad := func(s incident.Step) bool { return s.State == incident.StepFailed }
	return slices.ContainsFunc(inc.Standing, bad) || (inc.Plan != nil && slices.ContainsFunc(inc.Plan.Steps, bad))
}
