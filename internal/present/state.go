package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// State is where an incident stands, in the words of whoever is on call: "needs approval", not "deciding".
func State(inc incident.Incident) string {
	switch inc.State {
	case incident.StateReceived:
		return "received"
	case incident.StateInvestigating:
		return "investigating"
	case incident.StateProposed:
		return "plan ready"
	case incident.StateDeciding:
		return decision(inc)
	case incident.StateApplying:
		return "applying"
	case incident.StateSettling:
		if a := inc.Active; a != nil && a.Phase == incident.PhaseRollout {
			return "rolling out"
		}
		return "waiting for metrics"
	case incident.StateVerifying:
		return "verifying"
	case incident.StateUndoing:
		return "rolling back"
	case incident.StateWatching:
		return watched(inc)
	case incident.StateClosed:
		if Resolved(inc) {
			return "resolved"
		}
		return "closed"
	}
	return string(inc.State) // of a newer version
}

// decision is what is asked of people.
func decision(inc incident.Incident) string {
	switch _, offered := Offered(inc); {
	case offered:
		return "rollback offered"
	case len(inc.Proposed()) > 0 && inc.DryRun:
		return unreal(inc) + ": needs an answer"
	case len(inc.Proposed()) > 0:
		return "needs approval"
	}
	return "needs a human"
}

// watched is an open incident in which nothing is asked.
func watched(inc incident.Incident) string {
	switch {
	case inc.Pool == "":
		return "not investigated"
	case LeftToPeople(inc):
		return "needs a human"
	case !inc.HealthySince.IsZero():
		if _, many := turnsAway(inc); many {
			return "rejecting requests"
		}
		return "recovered"
	case inc.MuteReason == incident.MutedDenied:
		return "denied"
	case inc.MuteReason == incident.MutedExpired:
		return "approval expired"
	case inc.MuteReason == incident.MutedSnoozed:
		return "snoozed"
	}
	return "monitoring"
}

// StepState is where a step stands, in words.
func StepState(s incident.Step) string {
	switch s.State {
	case incident.StepProposed:
		switch {
		case s.Kind == incident.StepManual:
			return "manual"
		case !s.Executable():
			return "blocked"
		case len(s.Approvals) > 0 && len(s.Approvals) < s.Needs.Approvals:
			return "partly approved"
		}
		return "proposed"
	case incident.StepRefused:
		return "blocked"
	case incident.StepSuperseded:
		return "no longer needed"
	case incident.StepUndoing:
		return "rolling back"
	case incident.StepUndone:
		if s.Lifted() {
			return "reverted as planned"
		}
		return "rolled back"
	case incident.StepApproved, incident.StepDenied, incident.StepExpired, incident.StepApplying, incident.StepApplied,
		incident.StepFailed, incident.StepReverted:
	}
	return string(s.State)
}
