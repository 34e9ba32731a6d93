package incident

import (
	"fmt"
	"time"
)

// reverted ends the following of a change whose value somebody else has changed since. What the signals do now says nothing about the change, so there is
// no verdict; and the value that stands is not the bot's to undo. The change is remembered, so that policy does not fight over it.
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
	advice := e.Reversal.Advice(s.From, s.To, made)
	s, err = a.edit(s.ID, func(s *Step) {
		s.State, s.Reason, s.AppliedAt, s.Reverted, s.Verification = StepReverted, advice, made, &e.Reversal, nil
	})
	if err != nil {
		return err
	}
	a.remember(s, Trial{Why: e.Reversal.Text(s.From, s.To, made)})
	a.add(nil, s.ID, true, e.Reversal, "Reverted: %s (%s).%s The effect can't be verified, and there is nothing to undo.",
		e.Reversal.Text(s.From, s.To, made), s.Target, toKeep(e.Reversal))
	note := s.Title + " was reverted: " + advice + "."
	a.noteStep = s.ID
	if a.inc.UndoOffered == s.ID {
		a.inc.UndoOffered = ""
	}
	if act == nil {
		a.inc.Note = note
		return nil
	}
	a.next(note, e.ExpiresAt)
	return nil
}

// followed is the step whose value the bot has set and keeps an eye on: the active one after its claim, or one that stands.
func (a *applier) followed(id string) (Step, error) {
	s, ok := a.inc.Step(id)
	act := a.inc.Active
	switch {
	case !ok:
		return s, &RefusedError{Reason: fmt.Sprintf("Incident %s has no step %q.", a.inc.ID, id)}
	case a.inc.DryRun:
		return s, &RefusedError{Reason: "A dry run changes nothing, so nothing can be reverted."}
	case act != nil && (act.Step != id || act.Phase == PhaseRecheck):
		return s, &RefusedError{Reason: fmt.Sprintf("The bot is not following what becomes of %s at the moment.", id)}
	case act == nil && s.State != StepApplied:
		return s, &RefusedError{Reason: fmt.Sprintf("Step %s is %s: there is nothing to revert.", id, s.State)}
	}
	return s, nil
}

// undoReverted says that an undo was made, and that its value does not stand either.
func (a *applier) undoReverted(s Step, r Reversal) error {
	act := a.inc.Active
	s, err := a.edit(s.ID, func(s *Step) {
		s.State, s.Reason, s.Reverted = StepUndone, "undone, but "+r.Advice(s.To, s.Undo, act.Since), &r
	})
	if err != nil {
		return err
	}
	text := r.Text(s.To, s.Undo, act.Since)
	a.add(nil, s.ID, true, r, "Undone: %s was %s again, but %s.%s", s.Target, s.Undo, text, toKeep(r))
	a.undone(s)
	a.quiet(a.inc.Quiet, "")
	a.inc.Note = "Undone, but " + r.Advice(s.To, s.Undo, act.Since) + ": " + s.Target.String() + "."
	return nil
}

// undone remembers an undo that somebody asked for, so that policy does not make the same change again.
func (a *applier) undone(s Step) {
	if by := a.inc.Active.By; by.Kind != "bot" { // a mitigation that the bot undoes has done its work
		a.remember(s, Trial{UndoneBy: &by})
	}
	a.inc.HealthySince = time.Time{}
}

func toKeep(r Reversal) string {
	if r.Hint == "" {
		return ""
	}
	return " To keep the change, " + r.Hint + "."
}

// unanswered counts the tries of a claimed write that had no clear answer. The first one is said in the thread; the message shows the others.
func (a *applier) unanswered(e Unanswered) error {
	act := a.inc.Active
	if act == nil || act.Phase != PhaseClaimed {
		return &RefusedError{Reason: "No write is under way."}
	}
	s, ok := a.inc.Step(act.Step)
	if !ok {
		return &RefusedError{Reason: fmt.Sprintf("Incident %s has no step %q.", a.inc.ID, act.Step)}
	}
	act.Tries, act.TriedAt, act.LastError = act.Tries+1, a.now, e.Error
	if act.Tries == 1 {
		a.inc.Note = fmt.Sprintf("No clear answer to the write of %s: %s. Checking the object before anything is tried again.", s.Target, e.Error)
		a.step(s.ID, "%s", a.inc.Note)
		return nil
	}
	a.inc.Note = fmt.Sprintf("No clear answer to %d tries of the write of %s: %s. Checking the object before each try.", act.Tries, s.Target, e.Error)
	a.note("%s", a.inc.Note)
	return nil
}

// unknown ends a write of which nobody can tell whether it took effect. It is not made again without a person.
func (a *applier) unknown(s Step, why string) {
	s, err := a.edit(s.ID, func(s *Step) { s.State, s.Reason, s.Approvals = StepFailed, why, nil })
	if err != nil {
		a.note("The step %s is gone.", s.ID)
		return
	}
	a.remember(s, Trial{Why: "nobody knows whether it took effect"})
	a.step(s.ID, "Not written again: %s. Needs a human.", why)
}

// undoUnknown is unknown for an undo: what it should have restored may still stand, so a person may ask for it again.
func (a *applier) undoUnknown(id, why string) error {
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
