package present

import (
	"cmp"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Resolved says that the signals were healthy when the incident ended, or are by now.
func Resolved(inc incident.Incident) bool { return inc.Pool != "" && !inc.HealthySince.IsZero() }

// Stale says that the readings are older than the last change: they say nothing about now.
func Stale(inc incident.Incident) bool {
	return !inc.ChangedAt.IsZero() && inc.ReadAt.Before(inc.ChangedAt)
}

// Outdated says that the evidence is older than what is known by now: a step is being run, the newest readings are
// those of its verification, or it is healthy.
func Outdated(inc incident.Incident) bool {
	verified := func(s incident.Step) bool { return s.Verification != nil && s.Verification.At.Equal(inc.ReadAt) }
	return inc.State.Running() || !inc.HealthySince.IsZero() || Stale(inc) ||
		slices.ContainsFunc(inc.AppliedEarlier, verified) || slices.ContainsFunc(Planned(inc), verified)
}

// AsDiagnosed says of a diagnosis that its numbers are of before; empty where they are the newest.
func AsDiagnosed(inc incident.Incident) string {
	if !Outdated(inc) {
		return ""
	}
	return "As diagnosed, before what happened since."
}

// Planned are the steps of the present plan.
func Planned(inc incident.Incident) []incident.Step {
	if inc.Plan == nil {
		return nil
	}
	return inc.Plan.Steps
}

// Questions are the steps that wait for a decision. One that somebody has approved and that needs others, too, comes
// first: that's the news.
func Questions(inc incident.Incident) []incident.Step {
	open := inc.Proposed()
	slices.SortStableFunc(open, func(a, b incident.Step) int {
		return cmp.Compare(min(1, len(b.Approvals)), min(1, len(a.Approvals)))
	})
	return open
}

// Offered is the step whose rollback is offered.
func Offered(inc incident.Incident) (incident.Step, bool) {
	if inc.UndoOffered == "" || inc.State != incident.StateDeciding {
		return incident.Step{}, false
	}
	return inc.Step(inc.UndoOffered)
}

// Ran are the steps that were run, as far as the incident still knows them, the one that was decided on last at the
// end.
func Ran(inc incident.Incident) []incident.Step {
	all := slices.Concat(inc.AppliedEarlier, Planned(inc))
	all = slices.DeleteFunc(all, func(s incident.Step) bool {
		switch s.State {
		case incident.StepApplied, incident.StepFailed, incident.StepUndone, incident.StepReverted, incident.StepApplying,
			incident.StepUndoing:
			return false
		case incident.StepProposed, incident.StepApproved, incident.StepDenied, incident.StepExpired,
			incident.StepSuperseded, incident.StepRefused:
		}
		return true
	})
	decided := func(s incident.Step) int {
		for n, d := range slices.Backward(inc.Decisions) {
			if d.Step == s.ID {
				return n
			}
		}
		return -1
	}
	slices.SortStableFunc(all, func(a, b incident.Step) int { return cmp.Compare(decided(a), decided(b)) })
	return all
}

// Latest is the step that was run last.
func Latest(inc incident.Incident) (incident.Step, bool) {
	all := Ran(inc)
	if len(all) == 0 {
		return incident.Step{}, false
	}
	return all[len(all)-1], true
}

// NeedsHuman says that a step ended badly and nobody has looked after it since.
func NeedsHuman(inc incident.Incident) bool {
	return inc.HealthySince.IsZero() && slices.ContainsFunc(Ran(inc), func(s incident.Step) bool {
		return s.State == incident.StepFailed
	})
}

// Approval is the decision by which a step was run or turned down.
func Approval(inc incident.Incident, s incident.Step, v incident.Verb) (incident.Decision, bool) {
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Verb == v && (d.Step == s.ID || v == incident.Deny && d.Step == "") {
			return d, true
		}
	}
	return incident.Decision{}, false
}

// History is everything that was applied in the incident's life, the oldest first. What an older version stored has
// only the steps that are still known.
func History(inc incident.Incident) []incident.Made {
	if len(inc.History) > 0 {
		return inc.History
	}
	var out []incident.Made
	for _, s := range Ran(inc) {
		if s.AppliedAt.IsZero() {
			continue
		}
		m := incident.Made{
			Step: s.ID, Kind: s.Kind, Title: s.Title, Target: s.Target, From: s.From, To: s.To, Undo: s.Undo, State: s.State,
			DryRun: inc.OnlyDryRun(s), AppliedAt: s.AppliedAt, By: s.Approvals,
		}
		if d, ok := Approval(inc, s, incident.Approve); ok {
			m.By, m.DecidedAt = []incident.Actor{d.By}, d.At
		}
		if v := s.Verification; v != nil {
			m.Verdict, m.Check, m.VerifiedAt = v.Verdict, v.Comparison, v.At
		}
		out = append(out, m)
	}
	return out
}

// Changed says whether anything was written in the incident's life, or may have been.
func Changed(inc incident.Incident) bool {
	return slices.ContainsFunc(History(inc), func(m incident.Made) bool { return !m.DryRun })
}

// CauseOf is what an incident is about: what was diagnosed last, and once it is healthy or over, what its changes were
// made for. Empty where nothing was found.
func CauseOf(inc incident.Incident) incident.Cause {
	if inc.State == incident.StateClosed || !inc.HealthySince.IsZero() {
		inc.History = History(inc)
		return inc.Cause()
	}
	if inc.Diagnosis == nil {
		return incident.Cause{}
	}
	return inc.Diagnosis.Cause()
}

// OtherCause says that the present diagnosis is not what the incident is about: it is of what came after the changes.
func OtherCause(inc incident.Incident) bool {
	return inc.Diagnosis != nil && inc.Diagnosis.Name != CauseOf(inc).Name
}

// MadeFor is " for queueing", to be put behind the name of a change, where it was made for something else than what the
// incident is about; empty elsewhere.
func MadeFor(inc incident.Incident, m incident.Made) string {
	if name := m.Cause.Name; name != "" && name != CauseOf(inc).Name {
		return " for " + Clip(Line(incident.CauseWords(name)), 60)
	}
	return ""
}

// Moves are the signals that decide about recovery, before and after a change, in the order of MovesOf. What an older
// version stored has no moves.
func Moves(inc incident.Incident, v incident.Verification) []incident.Move {
	if v.Comparison != nil {
		return MovesOf(v.Comparison)
	}
	var names []string
	if inc.Diagnosis != nil {
		names = slices.Clone(inc.Diagnosis.Healthy)
	}
	_, found := incident.VerdictOf(v.Before, v.After, names, incident.Undecided)
	return MovesOf(&found)
}

// MovesOf are the signals of a comparison in the order in which they are read: what the change was decided by, what
// users feel, the rest.
func MovesOf(c *incident.Comparison) []incident.Move { return ranked(c.Moves) }
