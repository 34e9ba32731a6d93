package incident

import (
	"fmt"
	"slices"
)

// decided takes a decision in, or refuses it with the sentence that the person reads. It never relies on the button:
// the plan's digest, the step's state and the confirmation are checked against what stands here.
func (a *applier) decided(e Decided) error {
	d := e.Decision
	s, ok := a.inc.Step(d.Step)
	if d.Verb != Undo && (a.inc.Plan == nil || d.Digest != a.inc.Plan.Digest) {
		return &RefusedError{Reason: PlanChanged}
	}
	if !ok {
		return &RefusedError{Reason: "This incident no longer has this step. Check the latest message."}
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
		return &RefusedError{Reason: "This step is manual; there is nothing to " + string(d.Verb) + "."}
	}
	if !a.inc.Plan.ExpiresAt.IsZero() && !a.now.Before(a.inc.Plan.ExpiresAt) {
		return &RefusedError{Reason: requestExpired}
	}
	d.At = a.now
	switch d.Verb {
	case Approve:
		return a.approve(d, s, e.Approvers)
	case Deny:
		return a.deny(d, s)
	case Undo:
	}
	return &RefusedError{Reason: fmt.Sprintf("%q is not a decision; use approve, deny or undo.", d.Verb)}
}

// approve counts an approval under the approvers of now, if they are known. It never asks for less than what was shown:
// a count that was lowered applies from the next investigation, which shows it.
func (a *applier) approve(d Decision, s Step, now *Approvers) error {
	need, counting := max(1, s.Needs.Approvals), s.Approvals
	if now != nil {
		need, counting = max(need, now.Count), s.Counting(*now)
	}
	switch {
	case !s.Executable():
		return &RefusedError{Reason: "This step is blocked: " + s.Refusal()}
	case s.Needs.Confirm && !d.Confirm:
		return &RefusedError{Reason: "This step restarts pods and requires a separate confirmation. Nothing was changed."}
	case slices.ContainsFunc(counting, func(o Actor) bool { return o.Kind != d.By.Kind }):
		return &RefusedError{Said: Note{Kind: NoteSameChannel, By: counting[0], Other: d.By}}
	case slices.Contains(counting, d.By):
		return &RefusedError{Reason: "You already approved this; another approver is required."}
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
		if len(s.Approvals) >= need {
			s.State = StepApproved
		}
	})
	if err != nil {
		return err
	}
	if s.State != StepApproved {
		a.by(d.By, s.ID, Note{Kind: NoteApprovedPart, By: d.By, Step: s.Title, Count: len(s.Approvals), Of: need})
		return nil
	}
	a.inc.State, a.inc.MuteReason = StateApplying, NotMuted
	a.setNote(Note{})
	a.inc.UndoOffered = ""
	a.inc.Active = &Active{Step: s.ID, Op: OpApply, Phase: PhaseRecheck, Since: a.now, By: d.By}
	a.by(d.By, s.ID, Note{Kind: NoteApproved, By: d.By, Step: s.Title, Why: d.Reason})
	return nil
}

func (a *applier) deny(d Decision, s Step) error {
	a.inc.Decisions = append(a.inc.Decisions, d)
	if _, err := a.edit(s.ID, func(s *Step) {
		s.State, s.Reason = StepDenied, "denied"
	}); err != nil {
		return err
	}
	a.by(d.By, s.ID, Note{Kind: NoteDenied, By: d.By, Step: s.Title, Why: d.Reason})
	if len(a.inc.Proposed()) == 0 {
		a.mute(MutedDenied, Note{Kind: NoteAllDenied})
	}
	return nil
}

func (a *applier) decideUndo(d Decision, s Step) error {
	switch {
	case a.inc.OnlyDryRun(s):
		return &RefusedError{Reason: "This is a dry run: nothing was changed, so there is nothing to roll back."}
	case a.inc.DryRun:
		return &RefusedError{Reason: "This incident is now a dry run, so the bot changes nothing. Roll the step " +
			"back manually."}
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
		return &RefusedError{Reason: "This incident has no such step."}
	case s.State == StepUndone || s.State == StepUndoing:
		return &RefusedError{Reason: "This step was already rolled back."}
	case s.State != StepApplied:
		return &RefusedError{Reason: fmt.Sprintf("This step is %s; there is nothing to roll back.", s.State)}
	case a.inc.OnTopOf(s) != "":
		return &RefusedError{Reason: fmt.Sprintf("A later step changed the same value (%s). Roll that one back first.",
			a.inc.OnTopOf(s))}
	case a.inc.Active != nil && a.inc.Active.Step != id:
		return &RefusedError{Reason: "Another step is in progress. Roll this one back when it has finished."}
	}
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
		return &RefusedError{Reason: "The incident is closed. Nothing was changed."}
	case inc.State.Running():
		return &RefusedError{Reason: "Another step is in progress. Decide when it has finished."}
	default:
		return &RefusedError{Reason: fmt.Sprintf("The incident is %s and takes no decisions now. Nothing was changed.",
			inc.State)}
	}
}

// What a person reads whose decision comes too late.
const (
	PlanChanged    = "The plan changed since you saw this. Nothing was changed. Check the latest message."
	requestExpired = "This approval request has expired. Nothing was changed."
)

// stepNotOpen explains why a step takes no decision any more, naming who decided when somebody did.
func stepNotOpen(inc Incident, s Step) *RefusedError {
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Step == s.ID && d.Verb != Undo {
			return &RefusedError{Said: Note{Kind: NoteDecidedBefore, By: d.By, Verb: d.Verb, State: s.State}}
		}
	}
	switch s.State {
	case StepExpired:
		return &RefusedError{Reason: requestExpired}
	case StepSuperseded:
		return &RefusedError{Reason: PlanChanged}
	case StepRefused:
		return &RefusedError{Reason: "This step is blocked: " + s.Reason}
	case StepProposed, StepApproved, StepDenied, StepApplying, StepApplied, StepFailed, StepUndoing, StepUndone,
		StepReverted:
	}
	return &RefusedError{Reason: fmt.Sprintf("This step is %s. Your click changed nothing.", s.State)}
}
