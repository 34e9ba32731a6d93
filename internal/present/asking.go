package present

import (
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Asking is what a person should do, or that there is nothing to do, with times of UTC.
func Asking(inc incident.Incident) string {
	if s, ok := Offered(inc); ok {
		return "Roll back to " + ValueText(s.Undo) + "?" + otherwise(inc, " If no one responds by ", ", it stays at "+
			ValueText(s.To)+".")
	}
	open := Questions(inc)
	switch {
	case inc.Pool == "":
		return ""
	case inc.State == incident.StateClosed && inc.Drill != nil:
		return "Nothing was changed."
	case inc.State == incident.StateClosed:
		return Outcome(inc)
	case inc.State == incident.StateDeciding && len(open) > 0:
		if inc.DryRun {
			return Capital(unreal(inc)) + ": would you " + Change(open[0]) + "?" + otherwise(inc, " Answer by ", ".") +
				" Nothing will change."
		}
		return "Approve" + otherwise(inc, " by ", "") + ": " + Change(open[0]) + rejecting(inc, open[0]) + "."
	case inc.State == incident.StateDeciding, NeedsHuman(inc), FollowUp(inc):
		return "Needs a human."
	case inc.State.Running(), !inc.HealthySince.IsZero():
		return "No action needed."
	case inc.State == incident.StateReceived, inc.State == incident.StateInvestigating:
		return "Investigating."
	case inc.MuteReason == incident.MutedExpired:
		return "Approval expired; ask again if it's still needed."
	case forPeople(inc):
		return "Needs a human: manual steps only."
	}
	return ""
}

// rejecting is what a throttle would turn away, in brackets with a space before it; empty where that isn't known.
func rejecting(inc incident.Incident, s incident.Step) string {
	share, ok := RejectedBy(inc.Readings, s)
	if !ok || s.Kind != incident.StepThrottle {
		return ""
	}
	return " (rejects " + OneIn(share) + ")"
}

// Outcome is what was changed in the life of an incident that is over. Empty where the headline says so.
func Outcome(inc incident.Incident) string {
	var names []string
	for _, m := range History(inc) {
		if m.DryRun {
			continue
		}
		name := ChangeMade(m)
		switch m.State { //nolint:exhaustive // the others are still in place
		case incident.StepUndone:
			if m.Lifted() {
				name += " (reverted as planned)"
				break
			}
			name += " (rolled back)"
		case incident.StepReverted:
			name += " (reverted)"
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0 && Resolved(inc):
		return "Nothing was changed."
	case len(names) == 0:
		return ""
	}
	return "Changed: " + strings.Join(Capped(names, 3), ", ") + "."
}

// otherwise puts the deadline between two texts; empty where there is none.
func otherwise(inc incident.Incident, before, after string) string {
	if at := deadline(inc); !at.IsZero() {
		return before + clock(at) + after
	}
	return ""
}

// deadline is when waiting for a decision ends; zero while nobody is asked.
func deadline(inc incident.Incident) time.Time {
	if inc.Plan == nil {
		return time.Time{}
	}
	return inc.Plan.ExpiresAt
}
