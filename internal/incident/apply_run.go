package incident

import (
	"fmt"
	"strings"
	"time"
)

// waiting is the active step when it is the very one that was checked. The check before a write takes seconds; meanwhile a person may abort that step and
// ask for the undo of another one, which then waits unchecked. Later phases need no such look: only the engine, under its claim, leads to them.
func (a *applier) waiting(step string, op Op) (*Active, error) {
	act := a.inc.Active
	switch {
	case act == nil || act.Phase != PhaseRecheck:
		return nil, &RefusedError{Reason: "No step waits for its write."}
	case act.Step != step || act.Op != op:
		return nil, &RefusedError{Reason: fmt.Sprintf("The check was of %s %s, but by now %s %s waits for its write.", op, step, act.Op, act.Step)}
	}
	return act, nil
}

// stopped ends an approved step before its write: the world or a guardrail said no after all. Its approvals were for that moment; asked for again, it
// needs new ones.
func (a *applier) stopped(e Stopped) error {
	act, err := a.waiting(e.Step, e.Op)
	if err != nil {
		return err
	}
	s, err := a.edit(act.Step, func(s *Step) {
		if act.Op == OpUndo {
			a.keepApplied(s, e.Reason)
			return
		}
		s.State, s.Reason, s.Approvals = StepRefused, e.Reason, nil
		if len(e.Guardrails) > 0 {
			s.Guardrails = e.Guardrails
		}
	})
	if err != nil {
		return err
	}
	if act.Op == OpUndo {
		a.notUndone(s, e.Reason)
		return nil
	}
	a.step(s.ID, "Not done: %s. Nothing was written.", e.Reason)
	a.noteStep = s.ID
	a.next("A step was refused after its approval: "+e.Reason, e.ExpiresAt)
	return nil
}

// keepApplied notes on a step that its undo was refused: the change is still in effect, so the incident stays open until it is gone.
func (a *applier) keepApplied(s *Step, why string) {
	s.State, s.Reason = StepApplied, "not undone: "+why
	s.UndoTries, s.UndoRefusedAt = s.UndoTries+1, a.now
}

func (a *applier) notUndone(s Step, why string) {
	a.step(s.ID, "Not undone: %s. %s stays at %s; a person must look.", strings.TrimSuffix(why, "."), s.Target, s.To)
	a.quiet(a.inc.Quiet, "")
	a.inc.Note = "An undo was refused, and " + s.Target.String() + " stays at " + s.To.String() + ": " + why
}

// next goes back to people when steps are left to decide on, else to watching.
func (a *applier) next(note string, expiresAt time.Time) {
	a.inc.Active = nil
	if len(a.inc.Proposed()) > 0 {
		a.inc.State, a.inc.Note = StateDeciding, note
		// Policy asked nobody yet, or the time has passed while the step was looked at.
		if a.inc.Plan.ExpiresAt.Before(expiresAt) {
			a.inc.Plan.ExpiresAt = expiresAt
		}
		return
	}
	a.quiet(QuietNone, "")
	a.inc.Note = note
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
	a.note("Claimed the write %s.", e.WriteID)
	return err
}

func (a *applier) written(e Written) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseClaimed {
		return &RefusedError{Reason: "No write is under way."}
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
		a.inc.ChangedAt, a.inc.Note = a.now, ""
		a.inc.State, act.Phase, act.Since = StateSettling, PhaseRollout, a.now
		a.step(s.ID, "Done: %s. %s%s", s.Title, waitingFor(s.Kind), space(e.Note))
	case ResultDryRun:
		a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
		a.step(s.ID, "DRY RUN: would have done: %s. Nothing was written.%s", s.Title, space(e.Note))
	case ResultDrift, ResultFailed:
		if act.Tries > 0 {
			a.remember(s, Trial{Why: "the API server gave no clear answer"})
		}
		a.step(s.ID, "Not done: %s. Nothing was written.", e.Note)
		a.noteStep = s.ID
		a.next("A step could not be written: "+e.Note, e.ExpiresAt)
	case ResultUnknown:
		a.unknown(s, e.Note)
		a.noteStep = s.ID
		a.next("It is not known whether a step was written: "+e.Note, e.ExpiresAt)
	default:
		return &RefusedError{Reason: fmt.Sprintf("A write cannot end with %q.", e.Result)}
	}
	return nil
}

// waitingFor says what has to follow a write.
func waitingFor(k StepKind) string {
	if k.RollsOut() {
		return "Waiting for the rollout."
	}
	return "Waiting for the gateway to accept it."
}

func setWritten(s *Step, e Written, now time.Time) {
	switch e.Result {
	case ResultApplied, ResultDryRun:
		s.State, s.AppliedAt = StepApplied, now
	case ResultDrift:
		s.State, s.Reason, s.Approvals = StepRefused, e.Note, nil
	case ResultFailed:
		s.State, s.Reason, s.Approvals = StepFailed, e.Note, nil
	case ResultUnknown: // the caller says so
	}
}

func (a *applier) undoWritten(e Written) error {
	act := a.inc.Active
	switch e.Result {
	case ResultApplied:
		a.inc.ChangedAt, a.inc.Note = a.now, ""
		act.Phase, act.Since = PhaseRollout, a.now
		s, err := a.edit(act.Step, func(*Step) {})
		if err != nil {
			return err
		}
		a.step(s.ID, "Restored %s to %s. %s%s", s.Target, s.Undo, waitingFor(s.Kind), space(e.Note))
	case ResultFailed:
		s, err := a.edit(act.Step, func(s *Step) { a.keepApplied(s, e.Note) })
		if err != nil {
			return err
		}
		a.notUndone(s, e.Note)
	case ResultDrift:
		// Somebody else has changed the object: this step's value does not stand any more, and theirs is not ours to undo.
		s, err := a.edit(act.Step, func(s *Step) { s.State, s.Reason = StepFailed, "not undone: "+e.Note })
		if err != nil {
			return err
		}
		a.step(s.ID, "Not undone: %s. A person must look at %s.", e.Note, s.Target)
		a.quiet(QuietNone, "")
		a.inc.Note = "An undo could not be written: " + e.Note
	case ResultDryRun:
		return &RefusedError{Reason: "A dry run has nothing to undo."}
	case ResultUnknown:
		return a.undoUnknown(act.Step, e.Note)
	default:
		return &RefusedError{Reason: fmt.Sprintf("A write cannot end with %q.", e.Result)}
	}
	return nil
}

func (a *applier) rolledOut(e RolledOut) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseRollout {
		return &RefusedError{Reason: "No rollout is waited for."}
	}
	if act.Op == OpUndo {
		s, err := a.edit(act.Step, func(s *Step) { s.State = StepUndone })
		if err != nil {
			return err
		}
		text := "Undone: %s is %s again.%s"
		switch {
		case e.Failed && s.Kind.RollsOut():
			text = "Undone: %s is %s again, but its rollout does not end well.%s"
		case e.Failed:
			text = "Undone: %s is %s again, but that did not take effect.%s"
		}
		a.step(s.ID, text, s.Target, s.Undo, space(e.Note))
		a.undone(s)
		a.quiet(a.inc.Quiet, "")
		a.inc.Note = "Undone. I keep watching."
		return nil
	}
	s, _ := a.inc.Step(act.Step)
	failed, complete := "The rollout failed: %s", "The rollout is complete.%s The signals settle until %s."
	if !s.Kind.RollsOut() {
		failed, complete = "The change did not take effect: %s", "The change is in effect.%s The signals settle until %s."
	}
	if e.Failed {
		a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
		a.step(act.Step, failed, e.Note)
		return nil
	}
	act.Phase, act.SettleUntil, act.Since = PhaseSettle, e.SettleUntil, a.now
	a.step(act.Step, complete, space(e.Note), e.SettleUntil.UTC().Format("15:04:05 UTC"))
	return nil
}

func (a *applier) settled() error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseSettle || a.now.Before(act.SettleUntil) {
		return &RefusedError{Reason: "The signals have not settled yet."}
	}
	a.inc.State, act.Phase, act.Since = StateVerifying, PhaseVerify, a.now
	a.note("The signals have settled.")
	return nil
}

// verified takes one reading after the change in. "Worse" is only believed twice in a row, which the engine says with Final.
func (a *applier) verified(e Verified) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseVerify {
		return &RefusedError{Reason: "No verification is under way."}
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
		a.note("Reading %d after the change: %s. %s", act.Readings, v.Verdict, v.Why)
		return nil
	}
	a.add(nil, s.ID, true, v, "Verified: %s. %s", v.Verdict, v.Why)
	return a.concluded(e, s)
}

func (a *applier) concluded(e Verified, s Step) error {
	verdict := e.Verification.Verdict
	a.inc.Active = nil
	bad := verdict == VerdictWorse || verdict == VerdictUnchanged
	if bad && !a.inc.DryRun {
		a.remember(s, Trial{Verdict: verdict})
	}
	switch {
	case a.inc.DryRun:
		a.quiet(QuietDryRun, "")
		a.inc.Note = "The dry run has ended. Nothing was changed."
	case verdict == VerdictRecovered:
		a.inc.HealthySince = e.Verification.At
		a.retire("it has recovered")
		a.quiet(QuietNone, "")
		a.inc.Note = "Recovered after: " + s.Title + "."
	case bad && e.UndoNow:
		return a.undo(s.ID, Actor{Kind: "policy", ID: "undo"}, "it did not help: "+string(verdict))
	default:
		a.inc.State = StateDeciding
		if bad {
			a.inc.UndoOffered = s.ID
		}
		if a.inc.Plan != nil {
			a.inc.Plan.ExpiresAt = e.ExpiresAt
		}
		a.inc.Note = "After " + s.Title + ": " + string(verdict) + "."
	}
	return nil
}

func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}
