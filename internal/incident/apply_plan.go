package incident

import (
	"fmt"
	"slices"
	"time"
)

// investigated takes fresh evidence in and decides whether the plan at hand stays, is replaced, or falls away.
func (a *applier) investigated(e Investigated) error {
	before := a.inc
	a.inc.Readings, a.inc.ReadAt = e.Evidence.Readings, e.Evidence.At
	a.inc.Dialect, a.inc.Cluster = e.Evidence.Dialect, e.Evidence.Cluster
	a.inc.Others = e.Others
	a.health(e.Healthy)

	switch {
	case e.Healthy == True && before.State == StateDeciding:
		a.retire("the signals are healthy again")
		a.quiet(QuietNone, "The signals are healthy again. Nothing is asked any more.")
		return nil
	case before.State == StateWatching && a.staysQuiet(e, !before.HealthySince.IsZero()):
		a.stayQuiet(e)
		return nil
	case before.State == StateDeciding && a.samePlan(e):
		a.refresh(e)
		return nil
	case before.State == StateDeciding && e.Diagnosis == nil && e.Healthy == Undecided:
		// Prometheus or the API server cannot be asked: the plan stays, and is asked about again at the click.
		a.inc.Note = e.Note
		a.redraw = true
		return nil
	}
	return a.replan(e)
}

// stayQuiet takes the new readings over and says what is new about them, once.
func (a *applier) stayQuiet(e Investigated) {
	a.redraw = true
	switch {
	case e.Healthy == True:
		a.inc.Quiet = QuietNone
	case e.Diagnosis == nil && a.inc.Quiet == QuietNone && len(a.inc.Applied()) == 0:
		a.inc.Note = e.Note
	}
}

func (a *applier) health(h Truth) {
	switch {
	case h != True:
		a.inc.HealthySince = time.Time{}
	case a.inc.HealthySince.IsZero():
		a.inc.HealthySince = a.now
	}
}

// staysQuiet says whether a watched incident has no reason to ask: it is healthy, nothing is known, a person said no to this very
// diagnosis, or nothing can be run and that was said already. A relapse after health is a reason.
func (a *applier) staysQuiet(e Investigated, relapse bool) bool {
	if e.Healthy == True || e.Diagnosis == nil {
		return true
	}
	if relapse || a.inc.Diagnosis == nil || a.inc.Diagnosis.Name != e.Diagnosis.Name {
		return false
	}
	return a.inc.Quiet != QuietNone || (!executable(e.Steps) && a.samePlan(e))
}

func executable(steps []Step) bool { return slices.ContainsFunc(steps, Step.Executable) }

func (a *applier) samePlan(e Investigated) bool {
	p := Plan{Steps: e.Steps}
	if a.inc.Plan == nil || a.inc.Diagnosis == nil || e.Diagnosis == nil || a.inc.Diagnosis.Name != e.Diagnosis.Name {
		return a.inc.Plan == nil && e.Diagnosis == nil && len(e.Steps) == 0
	}
	return a.inc.Plan.Digest == p.ComputeDigest()
}

// refresh keeps the plan, its ids and what people said of it, and takes over what the guardrails say now.
func (a *applier) refresh(e Investigated) {
	a.inc.Diagnosis = e.Diagnosis
	for n := range a.inc.Plan.Steps {
		a.inc.Plan.Steps[n].Guardrails = e.Steps[n].Guardrails
	}
	a.redraw = true
}

// replan puts a new plan in the place of the old one. Applied steps of the old plan stay, as standing steps that can be undone.
func (a *applier) replan(e Investigated) error {
	a.retire("the plan was replaced")
	a.inc.Standing = a.inc.Applied()
	a.inc.Diagnosis = e.Diagnosis
	revision := 1
	if a.inc.Plan != nil {
		revision = a.inc.Plan.Revision + 1
	}
	a.inc.Plan = nil
	a.inc.Quiet = QuietNone
	if e.Diagnosis == nil {
		a.quiet(QuietNone, e.Note)
		return nil
	}
	p := Plan{Revision: revision, Diagnosis: e.Diagnosis.Name, Steps: cloneSteps(e.Steps), CreatedAt: a.now}
	for n := range p.Steps {
		s := &p.Steps[n]
		s.ID = fmt.Sprintf("p%d-s%d", revision, n+1)
		s.State = StepProposed
		if !s.Executable() && s.Kind != StepManual {
			s.State, s.Reason = StepRefused, firstRefusal(s.Guardrails)
		}
	}
	p.Digest = p.ComputeDigest()
	a.inc.Plan = &p
	a.add(nil, "", true, e.Diagnosis, "Diagnosis: %s", e.Diagnosis.Summary)
	if !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.State == StepProposed && s.Executable() }) {
		a.quiet(QuietNone, noStepNote(p, e.Note))
		return nil
	}
	a.inc.State, a.inc.Note = StateProposed, ""
	return nil
}

func firstRefusal(gs []Guardrail) string {
	for _, g := range gs {
		if g.Verdict == GuardRefuse {
			return g.Reason
		}
	}
	return ""
}

func noStepNote(p Plan, note string) string {
	switch {
	case note != "":
		return note
	case len(p.Steps) == 0:
		return "This diagnosis asks for no action."
	case slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind != StepManual }):
		return "No step can be run now; each says why."
	default:
		return "The runbook has only steps for a person here."
	}
}

func (a *applier) asked(e Asked) {
	a.inc.State = StateDeciding
	a.inc.Plan.ExpiresAt = e.ExpiresAt
	a.note("Asked for a decision on plan %s until %s.", a.inc.Plan.Digest, e.ExpiresAt.UTC().Format(time.RFC3339))
}

func (a *applier) expired() {
	if a.inc.Plan != nil {
		for n := range a.inc.Plan.Steps {
			if s := &a.inc.Plan.Steps[n]; s.State == StepProposed && s.Executable() {
				s.State, s.Reason = StepExpired, "nobody decided in time"
			}
		}
	}
	a.inc.UndoOffered = ""
	a.quiet(QuietExpired, "Nobody decided in time, and that means no. Nothing was changed. I keep watching.")
}

func (a *applier) aborted(e Aborted) error {
	if a.inc.Active != nil {
		if a.inc.Active.Phase == PhaseClaimed {
			return &RefusedError{Reason: "The write is under way and cannot be stopped. Wait a moment, then undo the step."}
		}
		a.endActive(e)
	}
	a.retire("aborted by " + e.By.String())
	a.by(e.By, "", "Aborted by %s: %s", e.By, e.Reason)
	a.inc.UndoOffered = ""
	a.quiet(QuietDenied, "")
	a.inc.Note = "Aborted by " + e.By.String() + ": " + e.Reason
	return nil
}

// endActive gives the step that was being run the state that is true when nobody looks after it any more.
func (a *applier) endActive(e Aborted) {
	id := a.inc.Active.Step
	_, err := a.edit(id, func(s *Step) {
		switch s.State {
		case StepApproved:
			s.State, s.Reason = StepDenied, "aborted by "+e.By.String()
		case StepUndoing:
			s.State = StepApplied
		case StepProposed, StepDenied, StepExpired, StepSuperseded, StepRefused, StepApplying, StepApplied, StepFailed, StepUndone:
		}
	})
	if err != nil {
		a.note("The aborted step %s is gone.", id)
	}
}
