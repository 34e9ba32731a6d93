package incident

import (
	"time"
)

// waiting is the active step when it is the very one that was checked. The check before a write takes seconds;
// meanwhile a person may abort that step and ask for the undo of another one, which then waits unchecked. Later phases
// need no such check: only the engine, under its claim, leads to them.
func (a *applier) waiting(step string, op Op) (*Active, error) {
	act := a.inc.Active
	switch {
	case act == nil || act.Phase != PhaseRecheck:
		return nil, refusal(Note{Kind: RefusedNoneWaiting})
	case act.Step != step || act.Op != op:
		other, _ := a.inc.Step(act.Step)
		return nil, refusal(Note{Kind: RefusedOtherWaiting, Step: other.Title})
	}
	return act, nil
}

// stopped ends an approved step before its write: the world or a guardrail said no after all. Its approvals were for
// that moment; asked for again, it needs new ones.
func (a *applier) stopped(e Stopped) error {
	act, err := a.waiting(e.Step, e.Op)
	if err != nil {
		return err
	}
	s, err := a.edit(act.Step, func(s *Step) {
		if act.Op == OpUndo {
			a.keepApplied(s, e.Why)
			return
		}
		s.State, s.Approvals = StepRefused, nil
		s.because(e.Why)
		if len(e.Guardrails) > 0 {
			s.Guardrails = e.Guardrails
		}
	})
	if err != nil {
		return err
	}
	if act.Op == OpUndo {
		a.notUndone(s, e.Why)
		return nil
	}
	not := Note{Kind: NoteNotDone, Cause: e.Why}
	a.step(s.ID, not)
	a.noteStep = s.ID
	a.next(not, e.ExpiresAt)
	return nil
}

// keepApplied notes on a step that its undo was refused: the change is still in effect, so the incident stays open
// until it is gone.
func (a *applier) keepApplied(s *Step, why Reason) {
	why.NotUndone = true
	s.State = StepApplied
	s.because(why)
	s.UndoTries, s.UndoRefusedAt = s.UndoTries+1, a.now
}

func (a *applier) notUndone(s Step, why Reason) {
	not := Note{Kind: NoteNotUndone, Target: s.Target, Value: s.To, Cause: why}
	a.step(s.ID, not)
	a.mute(a.inc.MuteReason, Note{})
	a.setNote(not)
}

// next goes back to people when steps are left to decide on, else to watching.
func (a *applier) next(note Note, expiresAt time.Time) {
	a.inc.Active = nil
	if len(a.inc.Proposed()) > 0 {
		a.inc.State = StateDeciding
		a.setNote(note)
		// Policy asked nobody yet, or the time has passed while the step was looked at.
		if a.inc.Plan.ExpiresAt.Before(expiresAt) {
			a.inc.Plan.ExpiresAt = expiresAt
		}
		a.request()
		return
	}
	a.mute(NotMuted, Note{})
	a.setNote(note)
}

func (a *applier) claimed(e WriteClaimed) error {
	act, err := a.waiting(e.Step, e.Op)
	if err != nil {
		return err
	}
	act.Phase, act.WriteID, act.Since, act.Mark = PhaseClaimed, e.WriteID, a.now, e.Mark
	if e.Before != nil {
		act.Before = e.Before
	}
	_, err = a.edit(act.Step, func(s *Step) {
		s.State = StepApplying
		if act.Op == OpUndo {
			s.State = StepUndoing
		}
	})
	a.note(Note{Kind: NoteClaimed, Why: e.WriteID})
	return err
}

func (a *applier) written(e Written) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseClaimed {
		return refusal(Note{Kind: RefusedNoWrite})
	}
	if act.Op == OpUndo {
		return a.undoWritten(e)
	}
	s, err := a.edit(act.Step, func(s *Step) { setWritten(s, e, a.now) })
	if err != nil {
		return err
	}
	switch e.Result {
	case ResultApplied:
		a.inc.ChangedAt = a.now
		a.setNote(Note{})
		a.inc.State, act.Phase, act.Since = StateSettling, PhaseRollout, a.now
		a.step(s.ID, Note{Kind: NoteDone, Step: s.Title, StepKind: s.Kind, Cause: e.Why})
	case ResultDryRun:
		a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
		a.step(s.ID, Note{Kind: NoteDryRun, Step: s.Title, Cause: e.Why})
	case ResultDrift, ResultFailed:
		if act.Tries > 0 {
			a.remember(s, Attempt{Cause: Reason{Kind: ReasonNoAnswer}})
		}
		not := Note{Kind: NoteNotDone, Cause: e.Why}
		a.step(s.ID, not)
		a.noteStep = s.ID
		a.next(not, e.ExpiresAt)
	case ResultUnknown:
		a.unknown(s, e.Why)
		a.noteStep = s.ID
		a.next(Note{Kind: NoteUnknown, Cause: e.Why}, e.ExpiresAt)
	default:
		return refusal(Note{Kind: RefusedResult, Why: string(e.Result)})
	}
	return nil
}

func setWritten(s *Step, e Written, now time.Time) {
	switch e.Result {
	case ResultApplied, ResultDryRun:
		s.State, s.AppliedAt = StepApplied, now
	case ResultDrift:
		s.State, s.Approvals = StepRefused, nil
		s.because(e.Why)
	case ResultFailed:
		s.State, s.Approvals = StepFailed, nil
		s.because(e.Why)
	case ResultUnknown: // the caller says so
	}
}

func (a *applier) undoWritten(e Written) error {
	act := a.inc.Active
	switch e.Result {
	case ResultApplied:
		a.inc.ChangedAt = a.now
		a.setNote(Note{})
		act.Phase, act.Since = PhaseRollout, a.now
		s, err := a.edit(act.Step, func(*Step) {})
		if err != nil {
			return err
		}
		a.step(s.ID, Note{Kind: NoteRestored, Target: s.Target, Value: s.Undo, StepKind: s.Kind, Cause: e.Why})
	case ResultFailed:
		s, err := a.edit(act.Step, func(s *Step) { a.keepApplied(s, e.Why) })
		if err != nil {
			return err
		}
		a.notUndone(s, e.Why)
	case ResultDrift:
		// Somebody else has changed the object: this step's value is not in place any more, and theirs is not ours to undo.
		s, err := a.edit(act.Step, func(s *Step) {
			why := e.Why
			why.NotUndone = true
			s.State = StepFailed
			s.because(why)
		})
		if err != nil {
			return err
		}
		not := Note{Kind: NoteUndoDrift, Target: s.Target, Cause: e.Why}
		a.step(s.ID, not)
		a.mute(NotMuted, Note{})
		a.setNote(not)
	case ResultDryRun:
		return refusal(Note{Kind: RefusedUndoDryRun})
	case ResultUnknown:
		return a.undoUnknown(act.Step, e.Why)
	default:
		return refusal(Note{Kind: RefusedResult, Why: string(e.Result)})
	}
	return nil
}

func (a *applier) rolledOut(e RolledOut) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseRollout {
		return refusal(Note{Kind: RefusedNoRollout})
	}
	if act.Op == OpUndo {
		s, err := a.edit(act.Step, func(s *Step) { s.State, s.UndoneAt, s.UndoneBy = StepUndone, a.now, new(act.By) })
		if err != nil {
			return err
		}
		a.step(s.ID, Note{
			Kind: NoteUndone, By: act.By, Target: s.Target, Value: s.Undo, StepKind: s.Kind, Failed: e.Failed, Cause: e.Why,
		})
		a.undone(s)
		a.mute(a.inc.MuteReason, Note{})
		a.setNote(Note{Kind: NoteMonitoring})
		return nil
	}
	if e.Failed {
		s, _ := a.inc.Step(act.Step)
		a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
		a.step(act.Step, Note{Kind: NoteNotRolledOut, StepKind: s.Kind, Cause: e.Why})
		return nil
	}
	act.Phase, act.SettleUntil, act.Since = PhaseSettle, e.SettleUntil, a.now
	s, err := a.edit(act.Step, func(s *Step) { s.LiveAt = a.now })
	if err != nil {
		return err
	}
	a.step(act.Step, Note{Kind: NoteRolledOut, StepKind: s.Kind, Cause: e.Why, At: e.SettleUntil})
	return nil
}

func (a *applier) settled() error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseSettle || a.now.Before(act.SettleUntil) {
		return refusal(Note{Kind: RefusedNotSettled})
	}
	a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
	a.note(Note{Kind: NoteSettled})
	return nil
}

// verified takes one reading after the change in. "Worse" is only believed twice in a row, which the engine says with
// Final.
func (a *applier) verified(e Verified) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseVerify {
		return refusal(Note{Kind: RefusedNoCheck})
	}
	v := e.Verification
	a.inc.Readings, a.inc.ReadAt = v.After, v.At
	act.Readings++
	if v.Verdict == VerdictWorse {
		act.WorseInRow++
	} else {
		act.WorseInRow = 0
	}
	s, err := a.edit(act.Step, func(s *Step) { s.Verification = &v })
	if err != nil {
		return err
	}
	if !e.Final {
		a.note(Note{Kind: NoteReading, Count: act.Readings, Verdict: v.Verdict, Check: v.Comparison})
		return nil
	}
	a.add(nil, s.ID, true, v, Note{Kind: NoteVerified, Verdict: v.Verdict, Check: v.Comparison})
	return a.concluded(e, s)
}

func (a *applier) concluded(e Verified, s Step) error {
	verdict := e.Verification.Verdict
	a.inc.Active = nil
	bad := verdict == VerdictWorse || verdict == VerdictUnchanged
	if bad && !a.inc.DryRun {
		a.remember(s, Attempt{Verdict: verdict})
	}
	switch {
	case a.inc.DryRun:
		a.mute(MutedDryRun, Note{})
		a.setNote(Note{Kind: NoteDryRunEnded})
	case verdict == VerdictRecovered:
		a.inc.HealthySince = e.Verification.At
		a.supersede(ReasonRecovered)
		a.mute(NotMuted, Note{})
		a.setNote(Note{Kind: NoteRecovered, Step: s.Title})
	case bad && e.UndoNow:
		return a.undo(s.ID, Actor{Kind: ActorPolicy, ID: "undo"}, Note{Verdict: verdict})
	default:
		a.inc.State = StateDeciding
		if bad {
			a.inc.UndoOffered = s.ID
		}
		if a.inc.Plan != nil {
			a.inc.Plan.ExpiresAt = e.ExpiresAt
		}
		a.setNote(Note{Kind: NoteOutcome, Step: s.Title, Verdict: verdict})
		a.request()
	}
	return nil
}
