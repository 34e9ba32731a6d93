package incident

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// investigated takes fresh evidence in and decides whether the plan at hand stays, is replaced, or falls away.
func (a *applier) investigated(e Investigated) error {
	before := a.inc
	a.inc.Readings, a.inc.ReadAt = e.Evidence.Readings, e.Evidence.At
	a.inc.Dialect, a.inc.Cluster, a.inc.DeadAlerts = e.Evidence.Dialect, e.Evidence.Cluster, e.Evidence.DeadAlerts
	a.inc.Unexamined, a.inc.Versions = e.Evidence.Unexamined, e.Evidence.Versions
	a.inc.PodRoles = e.Evidence.PodRoles
	a.inc.Others = e.Others
	a.health(e.Healthy)
	a.endSnooze()
	a.unrecorded(e.Unrecorded)

	switch {
	case e.Healthy == True && before.State == StateDeciding:
		a.supersede(ReasonHealthy)
		a.mute(NotMuted, Note{Kind: NoteHealthyAgain})
		return nil
	case before.State == StateWatching && a.staysMuted(e, !before.HealthySince.IsZero()):
		a.stayMuted(e, before)
		return nil
	case before.HeldByPause() && executable(e.Steps) && a.samePlan(e):
		return a.resumed(e)
	case before.State == StateDeciding && (a.samePlan(e) || a.nearPlan(e)):
		return a.refresh(e)
	case before.State == StateDeciding && a.holdsStill(e, before):
		return nil
	case before.State == StateDeciding && e.Unread && a.sameDiagnosis(e):
		// The API server cannot be asked: the plan stays, and is asked about again at the click.
		a.inc.Diagnosis = e.Diagnosis
		a.foundAgain(e)
		a.render = true
		return nil
	case before.State == StateDeciding && e.Diagnosis == nil && e.Healthy == Undecided:
		// Prometheus cannot be asked: likewise.
		a.notFound(e, before)
		a.render = true
		return nil
	}
	return a.replan(e)
}

// refreshPlan takes over what the same plan says now: the evidence, and the words for a person, which name readings and
// pods. They must not send anybody to the pod that was the bad one an hour ago.
func (a *applier) refreshPlan(e Investigated) {
	a.inc.Diagnosis = e.Diagnosis
	a.foundAgain(e)
	for n := range a.inc.Plan.Steps {
		if s := &a.inc.Plan.Steps[n]; s.Kind == StepManual {
			s.Title, s.Why = e.Steps[n].Title, e.Steps[n].Why
		}
	}
}

// stayMuted takes the new readings over and says what is new about them, once.
func (a *applier) stayMuted(e Investigated, before Incident) {
	a.render = true
	if a.inc.Plan != nil && e.Diagnosis != nil && a.samePlan(e) {
		a.refreshPlan(e)
	}
	switch {
	case e.Healthy == True:
		a.inc.MuteReason = NotMuted
	case e.Diagnosis == nil && a.inc.MuteReason == NotMuted && len(a.inc.Applied()) == 0:
		a.notFound(e, before)
	}
}

func (a *applier) health(h Truth) {
	switch {
	case h != True:
		a.inc.HealthySince = time.Time{}
		return
	case a.inc.HealthySince.IsZero():
		a.inc.HealthySince = a.now
	}
	a.inc.AskedBy = nil
}

// staysMuted says whether a watched incident has no reason to ask: it is healthy, nothing is known, a person said no to
// this very diagnosis, or nothing can be run and that was said already. A relapse after health is a reason.
func (a *applier) staysMuted(e Investigated, relapse bool) bool {
	if e.Healthy == True || e.Diagnosis == nil {
		return true
	}
	if a.inc.MuteReason == MutedDenied && a.inc.Diagnosis == nil && !relapse {
		return true // aborted before there was a diagnosis: the no covers what was going on
	}
	if relapse || a.inc.Diagnosis == nil || a.inc.Diagnosis.Name != e.Diagnosis.Name {
		return false
	}
	return a.inc.MuteReason != NotMuted || (!executable(e.Steps) && a.samePlan(e))
}

func executable(steps []Step) bool { return slices.ContainsFunc(steps, Step.Executable) }

func (a *applier) samePlan(e Investigated) bool {
	p := Plan{Steps: e.Steps}
	if !a.sameDiagnosis(e) {
		return a.inc.Plan == nil && e.Diagnosis == nil && len(e.Steps) == 0
	}
	return a.inc.Plan.Digest == p.ComputeDigest()
}

// sameDiagnosis says whether an investigation shows the diagnosis of the plan at hand.
func (a *applier) sameDiagnosis(e Investigated) bool {
	return a.inc.Plan != nil && a.inc.Diagnosis != nil && e.Diagnosis != nil && a.inc.Diagnosis.Name == e.Diagnosis.Name
}

// refresh keeps the plan, its ids and what people said of it, and takes over what the guardrails say now: a refused
// step may become free, and the other way round. Approvals of a step that was refused meanwhile do not count any more.
func (a *applier) refresh(e Investigated) error {
	a.keepNarrowings(e)
	a.refreshPlan(e)
	for n := range a.inc.Plan.Steps {
		s := &a.inc.Plan.Steps[n]
		s.Guardrails = e.Steps[n].Guardrails
		if s.Kind == StepManual || s.State != StepProposed && s.State != StepRefused {
			continue
		}
		s.Needs.Users, s.Needs.Groups = e.Steps[n].Needs.Users, e.Steps[n].Needs.Groups
		a.require(s, e.Steps[n].Needs.Approvals)
		if s.Executable() {
			if s.State == StepRefused {
				s.State, s.Approvals = StepProposed, nil
				s.because(Reason{})
			}
			continue
		}
		s.State, s.Approvals = StepRefused, nil
		s.because(s.Refusal())
	}
	a.render = true
	if len(a.inc.Proposed()) == 0 && a.inc.UndoOffered == "" {
		a.mute(NotMuted, noStepNote(*a.inc.Plan, e.Note))
		return nil
	}
	a.request()
	return nil
}

// resumed proposes the plan again that a pause has held: what people saw of it is what they are asked once more.
func (a *applier) resumed(e Investigated) error {
	if err := a.refresh(e); err != nil || len(a.inc.Proposed()) == 0 {
		return err
	}
	a.inc.State = StateProposed
	a.setNote(Note{})
	return nil
}

// require takes over how many approvals the configuration asks for now. More are needed at once. Fewer are shown first:
// what was approved under the higher number is asked for anew, so that nothing runs without a click on what it needs.
func (a *applier) require(s *Step, approvals int) {
	shown := max(1, s.Needs.Approvals)
	s.Needs.Approvals = max(1, approvals)
	switch {
	case s.Needs.Approvals == shown || s.State != StepProposed:
	case s.Needs.Approvals < shown && len(s.Approvals) > 0:
		s.Approvals = nil
		a.step(s.ID, Note{Kind: NoteApprovalsLowered, Step: s.Title, Count: s.Needs.Approvals, Of: shown})
	default:
		a.note(Note{Kind: NoteApprovalsChanged, Step: s.Title, Count: s.Needs.Approvals, Of: shown})
	}
}

// replan puts a new plan in the place of the old one. Applied steps of the old plan are kept and can be undone.
func (a *applier) replan(e Investigated) error {
	asked, rollback, same := a.askedUntil(e), a.asksRollbackOnly(e), a.sameDiagnosis(e)
	if asked.IsZero() {
		a.replaceRequest()
	}
	a.keepNarrowings(e)
	a.supersede(ReasonReplaced)
	a.inc.AppliedEarlier = a.inc.Applied()
	a.inc.Diagnosis = e.Diagnosis
	if e.Diagnosis != nil && a.inc.DiagnosedAt.IsZero() {
		a.inc.DiagnosedAt = a.now
	}
	a.inc.Plan = nil
	a.inc.MuteReason = NotMuted
	if e.Diagnosis == nil {
		a.mute(NotMuted, Text(e.Note))
		return nil
	}
	a.inc.Revision++
	p := Plan{
		Revision: a.inc.Revision, Diagnosis: e.Diagnosis.Name, Steps: cloned(e.Steps), CreatedAt: a.now,
		ExpiresAt: asked,
	}
	for n := range p.Steps {
		s := &p.Steps[n]
		s.ID = fmt.Sprintf("p%d-s%d", a.inc.Revision, n+1)
		s.State, s.Attempt = StepProposed, a.tried(*s)
		if !s.Executable() && s.Kind != StepManual {
			s.State = StepRefused
			s.because(s.Refusal())
		}
	}
	p.Digest = p.ComputeDigest()
	a.inc.Plan = &p
	if asked.IsZero() || rollback && !same {
		a.add(nil, "", true, e.Diagnosis, Note{Kind: NoteDiagnosis, Why: e.Diagnosis.Summary})
	} else {
		a.add(nil, "", false, e.Diagnosis, Note{Kind: NoteNewPlan, Why: e.Diagnosis.Summary})
	}
	if !executable(p.Steps) {
		if rollback && !asked.IsZero() { // the question stays, as long as it was to
			a.setNote(noStepNote(p, e.Note))
			a.render = true
			return nil
		}
		a.mute(NotMuted, noStepNote(p, e.Note))
		return nil
	}
	if s, ok := a.snoozed(p.Diagnosis); ok {
		a.supersede(ReasonSnoozed)
		a.mute(MutedSnoozed, s.note())
		return nil
	}
	a.inc.State = StateProposed
	a.setNote(Note{})
	if !asked.IsZero() { // the buttons would vanish until policy has looked at the plan, which is what comes next
		a.render = false
	}
	return nil
}

// askedUntil is until when people are being asked about this very diagnosis, or about the very same settings; zero when
// they are not. A plan that follows the live values, such as a number of replicas that an autoscaler moves, neither
// puts the end off nor makes a new line in the thread. Nor do two causes that take turns under load and ask for the
// same.
func (a *applier) askedUntil(e Investigated) time.Time {
	if a.inc.State != StateDeciding || a.inc.Plan == nil || e.Diagnosis == nil ||
		!a.sameDiagnosis(e) && !a.asksNothingNew(e) && !a.asksRollbackOnly(e) {
		return time.Time{}
	}
	return a.inc.Plan.ExpiresAt
}

// asksRollbackOnly says that people are being asked whether to roll back, and that nothing else is there to ask.
func (a *applier) asksRollbackOnly(e Investigated) bool {
	return a.inc.UndoOffered != "" && a.inc.Request.Open() && a.inc.Request.Undo == a.inc.UndoOffered &&
		!executable(e.Steps)
}

// tried is what came of the same change earlier in this incident; nil when it is new.
func (a *applier) tried(s Step) *Attempt {
	for _, t := range slices.Backward(a.inc.Attempts) {
		if t.Kind != s.Kind || t.Target != s.Target.Key() || t.To != s.To || s.Kind == StepManual {
			continue
		}
		return &t
	}
	return nil
}

// Attempted says whether the step's setting was changed earlier in this incident, to whatever value, and that did not
// help or was taken back.
func (i Incident) Attempted(s Step) bool {
	return s.Attempt != nil || slices.ContainsFunc(i.Attempts, func(t Attempt) bool {
		return t.Kind == s.Kind && t.Target == s.Target.Key()
	})
}

// remember keeps what came of a change, so that policy does not repeat it and people know.
func (a *applier) remember(s Step, t Attempt) {
	t.Kind, t.Target, t.To, t.At = s.Kind, s.Target.Key(), s.To, s.AppliedAt
	if t.At.IsZero() {
		t.At = a.now
	}
	if n := slices.IndexFunc(a.inc.Attempts, func(o Attempt) bool {
		return o.Kind == t.Kind && o.Target == t.Target && o.To == t.To
	}); n >= 0 {
		if t.Verdict == "" {
			t.Verdict = a.inc.Attempts[n].Verdict
		}
		a.inc.Attempts = slices.Delete(a.inc.Attempts, n, n+1)
	}
	a.inc.Attempts = append(a.inc.Attempts, t)
}

func noStepNote(p Plan, note string) Note {
	switch {
	case note != "":
		return Text(note)
	case len(p.Steps) == 0:
		return Note{Kind: NoteNoAction}
	case slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind != StepManual }):
		return Note{Kind: NoteNoStep}
	default:
		return Note{Kind: NoteManualOnly}
	}
}

func (a *applier) asked(e Asked) {
	a.inc.State = StateDeciding
	if until := a.inc.Plan.ExpiresAt; until.IsZero() || e.ExpiresAt.Before(until) {
		a.inc.Plan.ExpiresAt = e.ExpiresAt
	}
	a.note(Note{Kind: NoteAsked, Why: a.inc.Plan.Digest, At: a.inc.Plan.ExpiresAt})
	a.request()
}

func (a *applier) expired() {
	if a.inc.Plan != nil {
		for n := range a.inc.Plan.Steps {
			if s := &a.inc.Plan.Steps[n]; s.State == StepProposed && s.Executable() {
				s.State, s.Approvals = StepExpired, nil
				s.because(Reason{Kind: ReasonExpired})
			}
		}
	}
	a.mute(MutedExpired, Note{Kind: NoteExpired, Names: a.inPlace()})
}

// inPlace names the changes that are in place, for texts that would be misread as "nothing has happened".
func (a *applier) inPlace() string {
	return titles(slices.DeleteFunc(a.inc.Applied(), a.inc.OnlyDryRun))
}

func titles(steps []Step) string {
	out := make([]string, len(steps))
	for n, s := range steps {
		out[n] = s.Title
	}
	return strings.Join(out, "; ")
}

// claimPatience is how long a write may be under way before a person may stop waiting for its outcome. The API server
// gives up a request after one minute by default (--request-timeout), so nothing of ours can land later than that.
const claimPatience = 5 * time.Minute

func (a *applier) aborted(e Aborted) error {
	if act := a.inc.Active; e.Step != "" && (act == nil || act.Step != e.Step || act.Phase != PhaseRecheck ||
		!act.Since.Equal(e.Since)) {
		s, _ := a.inc.Step(e.Step)
		return refusal(Note{Kind: RefusedAbortLate, State: s.State})
	}
	if act := a.inc.Active; act != nil {
		if until := act.Since.Add(claimPatience); act.Phase == PhaseClaimed && a.now.Before(until) {
			return refusal(Note{Kind: RefusedAbortWrite, At: until})
		}
		a.endActive()
	}
	a.supersede(ReasonAborted)
	aborted := Note{Kind: NoteAborted, By: e.By, Why: e.Reason}
	a.by(e.By, "", aborted)
	a.inc.UndoOffered = ""
	a.mute(MutedDenied, Note{})
	a.setNote(aborted)
	return nil
}

// endActive gives the step that was being run the state that is true when nobody looks after it any more.
func (a *applier) endActive() {
	id := a.inc.Active.Step
	_, err := a.edit(id, func(s *Step) {
		unknown := Reason{Kind: ReasonWriteUnknown}
		switch s.State {
		case StepApproved:
			s.State = StepDenied
			s.because(Reason{Kind: ReasonAborted})
		case StepApplying:
			// It may be in effect, so it can be undone; the undo looks at the object first.
			s.State, s.AppliedAt = StepApplied, a.now
			s.because(unknown)
		case StepUndoing:
			switch a.inc.Active.Phase {
			case PhaseRollout:
				// The object has its old value already.
				s.State, s.UndoneAt, s.UndoneBy = StepUndone, a.now, new(a.inc.Active.By)
			case PhaseRecheck, PhaseSettle, PhaseVerify:
				s.State = StepApplied
			case PhaseClaimed:
				a.keepApplied(s, unknown)
			default: // a newer version knows how far it was
				a.keepApplied(s, unknown)
			}
		case StepProposed, StepDenied, StepExpired, StepSuperseded, StepRefused, StepApplied, StepFailed, StepUndone,
			StepReverted:
		}
	})
	if err != nil {
		a.note(Note{Kind: NoteStepGone, Why: id})
	}
}
