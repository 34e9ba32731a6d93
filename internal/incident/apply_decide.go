package incident

import (
	"slices"
	"strings"
)

// decided takes a decision in, or refuses it. It never relies on the button: the plan's digest, the step's state and
// the confirmation are checked against what is here. An undo, or the refusal of one, may also have the step's digest,
// which outlives the plan, or none.
func (a *applier) decided(e Decided) error {
	d := e.Decision
	s, ok := a.inc.Step(d.Step)
	if mayNotSnooze(d) {
		return refusal(Note{Kind: RefusedSnooze, For: MaxSnooze})
	}
	if d.Verb == Keep {
		return a.keep(d, s)
	}
	if d.Verb != Undo && (a.inc.Plan == nil || d.Digest != a.inc.Plan.Digest) {
		return refusal(Note{Kind: RefusedPlanChanged})
	}
	if d.all() {
		return a.denyAll(d)
	}
	if !ok {
		return refusal(Note{Kind: RefusedStepGone})
	}
	if d.Verb == Undo {
		return a.decideUndo(d, s)
	}
	if s.State != StepProposed {
		return stepNotOpen(a.inc, s)
	}
	if a.inc.State != StateDeciding && a.inc.State != StateProposed {
		return decisionNotNow(a.inc, d)
	}
	if s.Kind == StepManual {
		return refusal(Note{Kind: RefusedManual, Verb: d.Verb})
	}
	if a.overdue() {
		return refusal(Note{Kind: RefusedExpired})
	}
	d.At = a.now
	switch d.Verb {
	case Approve:
		return a.approve(d, s, e.Approvers, e.Paused)
	case Deny:
		return a.deny(d, s)
	case Undo, Keep:
	}
	return refusal(Note{Kind: RefusedVerb, Verb: d.Verb})
}

// approve counts an approval under the approvers of now, if they are known. It never asks for less than what was shown:
// a count that was lowered applies from the next investigation, which shows it.
func (a *applier) approve(d Decision, s Step, now *Approvers, pause *Pause) error {
	need, counting := max(1, s.Needs.Approvals), s.Approvals
	chooser := a.inc.ChosenBy(s)
	var rule Approvers
	if now != nil {
		rule = *now
		need, counting = max(need, now.Needed(chooser)), s.Counting(*now)
	}
	by := rule.person(d.By)
	mixed := slices.IndexFunc(counting, func(o Actor) bool { return !rule.tellsApart(o, d.By) })
	switch {
	case !s.Executable():
		return refusal(Note{Kind: RefusedBlocked, Cause: s.Refusal()})
	case pause != nil:
		return paused(*pause)
	case s.Needs.Confirm && !d.Confirm:
		return refusal(Note{Kind: RefusedUnconfirmed})
	case now != nil && now.Reason && strings.TrimSpace(d.Reason) == "":
		return refusal(Note{Kind: RefusedNoReason})
	case slices.ContainsFunc(counting, func(o Actor) bool { return rule.person(o) == by }):
		return refusal(Note{Kind: RefusedTwice})
	case mixed >= 0:
		return refusal(Note{Kind: RefusedSameChannel, By: counting[mixed], Other: d.By})
	case now != nil && chooser != nil && need == 1 && !now.Enough([]Actor{d.By}, chooser):
		return refusal(Note{Kind: RefusedFourEyes, By: *chooser})
	}
	for _, by := range s.Approvals {
		if !slices.Contains(counting, by) {
			a.step(s.ID, Note{Kind: NoteApprovalVoid, By: by})
		}
	}
	a.inc.Decisions = append(a.inc.Decisions, d)
	s, err := a.edit(s.ID, func(s *Step) {
		s.Approvals = append(slices.Clone(counting), d.By)
		s.Needs.Approvals = need
		if now != nil {
			s.ApprovedUnder = now.Rule()
		}
		if rule.people(s.Approvals) >= need && (now == nil || now.Enough(s.Approvals, chooser)) {
			s.State, s.AskedAt = StepApproved, a.inc.AskedAt()
		}
	})
	if err != nil {
		return err
	}
	if s.State != StepApproved {
		a.by(d.By, s.ID, Note{Kind: NoteApprovedPart, By: d.By, Step: s.Title, Count: rule.people(s.Approvals), Of: need})
		return nil
	}
	a.inc.State, a.inc.MuteReason = StateApplying, NotMuted
	a.setNote(Note{})
	a.endRequest()
	a.inc.UndoOffered = ""
	a.inc.Active = &Active{Step: s.ID, Op: OpApply, Phase: PhaseRecheck, Since: a.now, By: d.By}
	a.firstDecided()
	a.by(d.By, s.ID, Note{Kind: NoteApproved, By: d.By, Step: s.Title, Why: d.Reason})
	return nil
}

func (a *applier) deny(d Decision, s Step) error {
	a.inc.Decisions = append(a.inc.Decisions, d)
	if _, err := a.edit(s.ID, denied); err != nil {
		return err
	}
	a.firstDecided()
	a.by(d.By, s.ID, Note{Kind: NoteDenied, By: d.By, Step: s.Title, Why: d.Reason})
	if len(a.inc.Proposed()) == 0 {
		a.mute(MutedDenied, Note{})
		a.setNote(Note{Kind: NoteAllDenied})
	}
	return nil
}

func (a *applier) firstDecided() {
	if a.inc.DecidedAt.IsZero() {
		a.inc.DecidedAt = a.now
	}
}

func denied(s *Step) {
	s.State = StepDenied
	s.because(Reason{Kind: ReasonDenied})
}

// overdue says whether the time to decide on the plan has passed.
func (a *applier) overdue() bool {
	until := a.inc.Plan.ExpiresAt
	return !until.IsZero() && !a.now.Before(until)
}

// denyAll denies every step that is asked about, as one decision.
func (a *applier) denyAll(d Decision) error {
	open := a.inc.Proposed()
	switch {
	case a.inc.State != StateDeciding && a.inc.State != StateProposed:
		return decisionNotNow(a.inc, d)
	case len(open) == 0:
		return refusal(Note{Kind: RefusedNothingOpen})
	case a.overdue():
		return refusal(Note{Kind: RefusedExpired})
	}
	d.At = a.now
	a.inc.Decisions = append(a.inc.Decisions, d)
	for _, s := range open {
		if _, err := a.edit(s.ID, denied); err != nil {
			return err
		}
	}
	a.firstDecided()
	a.by(d.By, "", Note{Kind: NoteDeniedAll, By: d.By, Names: titles(open), Why: d.Reason})
	if d.Snooze > 0 {
		a.snooze(d)
		return nil
	}
	a.mute(MutedDenied, Note{})
	a.setNote(Note{Kind: NoteAllDenied})
	return nil
}

// keep declines the undo that is offered: the change stays. What else is asked is still asked.
func (a *applier) keep(d Decision, s Step) error {
	switch {
	case a.inc.UndoOffered == "" || a.inc.UndoOffered != d.Step || s.State != StepApplied:
		return refusal(Note{Kind: RefusedNotOffered})
	case !a.saw(d, s):
		return refusal(Note{Kind: RefusedPlanChanged})
	}
	d.At = a.now
	a.inc.Decisions = append(a.inc.Decisions, d)
	a.inc.UndoOffered = ""
	a.by(d.By, s.ID, Note{Kind: NoteKept, By: d.By, Step: s.Title, Why: d.Reason})
	if a.inc.State == StateDeciding && len(a.inc.Proposed()) == 0 {
		a.mute(NotMuted, Note{})
	}
	return nil
}

// askedAgain begins anew after a no: what was denied, or expired, may be proposed and asked about again, as a plan of
// its own.
func (a *applier) askedAgain(e AskedAgain) error {
	if !a.inc.CanAskAgain() && !a.inc.HeldByPause() {
		return refusal(Note{Kind: RefusedAskAgain, During: a.inc.State})
	}
	if e.Revision != 0 && (a.inc.Plan == nil || a.inc.Plan.Revision != e.Revision) {
		return refusal(Note{Kind: RefusedPlanChanged})
	}
	if a.inc.Plan != nil {
		a.wake(a.inc.Plan.Diagnosis)
	}
	a.inc.State, a.inc.MuteReason = StateInvestigating, NotMuted
	a.inc.AskedBy = &e.By
	a.setNote(Note{})
	a.by(e.By, "", Note{Kind: NoteAskedAgain, By: e.By, Why: e.Reason})
	return nil
}

// saw says whether a decision on an applied step is about this very step, as far as it says so.
func (a *applier) saw(d Decision, s Step) bool {
	return d.Digest == "" || d.Digest == s.Digest || a.inc.Plan != nil && d.Digest == a.inc.Plan.Digest
}

func (a *applier) decideUndo(d Decision, s Step) error {
	switch {
	case !a.saw(d, s):
		return refusal(Note{Kind: RefusedPlanChanged})
	case a.inc.OnlyDryRun(s):
		return refusal(Note{Kind: RefusedUndoDryRun})
	case a.inc.DryRun:
		return refusal(Note{Kind: RefusedUndoManually})
	}
	d.At = a.now
	a.inc.Decisions = append(a.inc.Decisions, d)
	return a.undo(s.ID, d.By, Note{Why: d.Reason})
}

// undo begins the undo of an applied step. why has the reason: a verdict, how long the pool has been healthy, or what a
// person gave.
func (a *applier) undo(id string, by Actor, why Note) error {
	s, ok := a.inc.Step(id)
	switch {
	case !ok:
		return refusal(Note{Kind: RefusedNoStep})
	case s.State == StepUndone || s.State == StepUndoing:
		return refusal(Note{Kind: RefusedUndone})
	case s.State != StepApplied:
		return refusal(Note{Kind: RefusedNotApplied, State: s.State})
	case a.inc.OnTopOf(s) != "":
		return refusal(Note{Kind: RefusedOnTop, Step: a.inc.OnTopOf(s)})
	case a.inc.Active != nil && a.inc.Active.Step != id:
		return refusal(Note{Kind: RefusedUndoBusy})
	}
	a.endRequest()
	a.inc.State, a.inc.UndoOffered = StateUndoing, ""
	a.setNote(Note{})
	why.Kind, why.By, why.Step, why.Value = NoteUndoing, by, s.Title, s.Undo
	a.inc.Active = &Active{Step: id, Op: OpUndo, Phase: PhaseRecheck, Since: a.now, By: by, Said: why}
	a.by(by, id, why)
	return nil
}

// decisionNotNow explains to a person why the incident takes no decision at the moment.
func decisionNotNow(inc Incident, d Decision) *RefusedError {
	if s, ok := inc.Step(d.Step); ok && (s.State != StepProposed || inc.State == StateClosed) {
		return stepNotOpen(inc, s)
	}
	switch {
	case inc.State == StateClosed:
		return refusal(Note{Kind: RefusedDecideClosed})
	case inc.State.Running():
		return refusal(Note{Kind: RefusedDecideBusy})
	default:
		return refusal(Note{Kind: RefusedDecide, During: inc.State})
	}
}

// stepNotOpen explains why a step takes no decision any more, naming who decided when somebody did.
func stepNotOpen(inc Incident, s Step) *RefusedError {
	if why, held := s.HeldByPause(); held {
		return refusal(Note{Kind: RefusedHeld, By: why.Who, Cause: why})
	}
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Step == s.ID && d.Verb != Undo && d.Verb != Keep || d.all() && s.State == StepDenied {
			return refusal(Note{Kind: RefusedDecidedBefore, By: d.By, Verb: d.Verb, State: s.State})
		}
	}
	switch s.State {
	case StepExpired:
		return refusal(Note{Kind: RefusedExpired})
	case StepSuperseded:
		return refusal(Note{Kind: RefusedPlanChanged})
	case StepRefused:
		return refusal(Note{Kind: RefusedBlocked, Cause: s.Cause, Why: s.Reason})
	case StepProposed, StepApproved, StepDenied, StepApplying, StepApplied, StepFailed, StepUndoing, StepUndone,
		StepReverted:
	}
	return refusal(Note{Kind: RefusedStepState, State: s.State})
}
