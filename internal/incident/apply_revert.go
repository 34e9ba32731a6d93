package incident

import (
	"time"
)

// reverted ends the following of a change whose value somebody else has changed since. What the signals do now says
// nothing about the change, so there is no verdict; and the value that stands is not the bot's to undo. The change is
// remembered, so that policy does not fight over it.
func (a *applier) reverted(e Reverted) error {
	s, err := a.followed(e.Step)
	if err != nil {
		return err
	}
	act := a.inc.Active
	if act != nil && act.Phase == PhaseClaimed {
		a.inc.ChangedAt = a.now // the write is known only now
	}
	if act != nil && act.Op == OpUndo {
		return a.undoReverted(s, e.Reversal)
	}
	made := s.AppliedAt
	if made.IsZero() {
		made = act.Since
	}
	became := e.Reversal.reason(s.From, s.To, made)
	s, err = a.edit(s.ID, func(s *Step) {
		s.State, s.AppliedAt, s.Reverted, s.Verification = StepReverted, made, &e.Reversal, nil
		s.because(became)
	})
	if err != nil {
		return err
	}
	a.remember(s, Attempt{Cause: became.withoutHint()})
	a.add(nil, s.ID, true, e.Reversal, Note{
		Kind: NoteReverted, Target: s.Target, Cause: became.withoutHint(), Hint: became.Hint,
	})
	note := Note{Kind: NoteStepReverted, Step: s.Title, Cause: became}
	a.noteStep = s.ID
	if a.inc.UndoOffered == s.ID {
		a.inc.UndoOffered = ""
	}
	if act == nil {
		a.setNote(note)
		return nil
	}
	a.next(note, e.ExpiresAt)
	return nil
}

// followed is the step whose value the bot has set and keeps an eye on: the active one after its claim, or one that is
// in place.
func (a *applier) followed(id string) (Step, error) {
	s, ok := a.inc.Step(id)
	act := a.inc.Active
	switch {
	case !ok:
		return s, refusal(Note{Kind: RefusedNoStep})
	case a.inc.DryRun:
		return s, refusal(Note{Kind: RefusedRevertDryRun})
	case act != nil && (act.Step != id || act.Phase == PhaseRecheck):
		return s, refusal(Note{Kind: RefusedNotFollowed, Step: s.Title})
	case act == nil && s.State != StepApplied:
		return s, refusal(Note{Kind: RefusedNotInPlace, Step: s.Title, State: s.State})
	}
	return s, nil
}

// undoReverted says that an undo was made, and that its value does not stand either.
func (a *applier) undoReverted(s Step, r Reversal) error {
	act := a.inc.Active
	became := r.reason(s.To, s.Undo, act.Since)
	s, err := a.edit(s.ID, func(s *Step) {
		s.State, s.Reverted, s.UndoneAt, s.UndoneBy = StepUndone, &r, a.now, new(act.By)
		why := became
		why.Undone = true
		s.because(why)
	})
	if err != nil {
		return err
	}
	a.add(nil, s.ID, true, r, Note{
		Kind: NoteUndoneReverted, Target: s.Target, Value: s.Undo, Cause: became.withoutHint(), Hint: became.Hint,
	})
	a.undone(s)
	a.mute(a.inc.MuteReason, Note{})
	a.setNote(Note{Kind: NoteUndoneChanged, Target: s.Target, Cause: became})
	return nil
}

// undone remembers an undo that somebody asked for, so that policy does not make the same change again.
func (a *applier) undone(s Step) {
	if by := a.inc.Active.By; by.Kind != ActorBot { // a mitigation that the bot undoes has done its work
		a.remember(s, Attempt{UndoneBy: &by})
	}
	a.inc.HealthySince = time.Time{}
}

// unanswered counts the tries of a claimed write that had no clear answer. The first one is said in the thread; the
// message shows the others.
func (a *applier) unanswered(e Unanswered) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseClaimed {
		return refusal(Note{Kind: RefusedNoWrite})
	}
	s, ok := a.inc.Step(act.Step)
	if !ok {
		return refusal(Note{Kind: RefusedNoStep})
	}
	act.Tries, act.TriedAt, act.LastError = act.Tries+1, a.now, e.Error
	a.setNote(Note{Kind: NoteNoAnswer, Target: s.Target, Count: act.Tries, Why: e.Error})
	if act.Tries == 1 {
		a.step(s.ID, a.inc.Said)
		return nil
	}
	a.note(a.inc.Said)
	return nil
}

// unknown ends a write of which nobody can tell whether it took effect. It is not made again without a person.
func (a *applier) unknown(s Step, why Reason) {
	s, err := a.edit(s.ID, func(s *Step) {
		s.State, s.Approvals, s.Unsure = StepFailed, nil, true
		s.because(why)
	})
	if err != nil {
		a.note(Note{Kind: NoteStepGone, Why: s.ID})
		return
	}
	a.remember(s, Attempt{Cause: Reason{Kind: ReasonUnknown}})
	a.step(s.ID, Note{Kind: NoteUnknown, Cause: why})
}

// undoUnknown is unknown for an undo: what it should have restored may still stand, so a person may ask for it again.
func (a *applier) undoUnknown(id string, why Reason) error {
	s, err := a.edit(id, func(s *Step) {
		a.keepApplied(s, why)
		s.UndoUnsure = true
	})
	if err != nil {
		return err
	}
	a.notUndone(s, why)
	return nil
}
