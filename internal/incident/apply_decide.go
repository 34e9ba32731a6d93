package incident

import (
	"fmt"
	"slices"
)

// decided takes a decision in, or refuses it with the sentence that the person reads. It never relies on the button: the plan's digest,
// the step's state and the confirmation are checked against what stands here.
func (a *applier) decided(e Decided) error {
	d := e.Decision
	s, ok := a.inc.Step(d.Step)
	if d.Verb != Undo && (a.inc.Plan == nil || d.Digest != a.inc.Plan.Digest) {
		return &RefusedError{Reason: "The plan has changed since this was shown. Nothing was done. Look at the new plan and decide on that."}
	}
	if !ok {
		return &RefusedError{Reason: fmt.Sprintf("There is no step %s here. Look at the incident again.", d.Step)}
	}
	if d.Verb == Undo {
		return a.decideUndo(d, s)
	}
	if s.State != StepProposed {
		return &RefusedError{Reason: stepNotOpen(a.inc, s)}
	}
	if a.inc.State != StateDeciding && a.inc.State != StateProposed {
		return &RefusedError{Reason: decisionNotNow(a.inc, d)}
	}
	if s.Kind == StepManual {
		return &RefusedError{Reason: "This step is for a person; there is nothing to " + string(d.Verb) + "."}
	}
	if !a.inc.Plan.ExpiresAt.IsZero() && !a.now.Before(a.inc.Plan.ExpiresAt) {
		return &RefusedError{Reason: "The time to decide is over, and that means no. Nothing was done."}
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

// approve counts an approval under the approvers of now, if they are known. It never asks for less than what was shown: a count that was lowered applies
// from the next look, which shows it.
func (a *applier) approve(d Decision, s Step, now *Approvers) error {
	need, counting := max(1, s.Needs.Approvals), s.Approvals
	if now != nil {
		need, counting = max(need, now.Count), s.Counting(*now)
	}
	switch {
	case !s.Executable():
		return &RefusedError{Reason: "This step is refused: " + s.Refusal()}
	case s.Needs.Confirm && !d.Confirm:
		return &RefusedError{Reason: "This step restarts pods and needs a confirmation of its own. Nothing was done."}
	case slices.ContainsFunc(counting, func(o Actor) bool { return o.Kind != d.By.Kind }):
		return &RefusedError{Reason: fmt.Sprintf("%s approved first. The second person must come through the same door: the bot cannot tell whether %s and %s are two people.",
			counting[0], counting[0], d.By)}
	case slices.Contains(counting, d.By):
		return &RefusedError{Reason: "You have approved this already. It needs somebody else too."}
	}
	for _, by := range s.Approvals {
		if !slices.Contains(counting, by) {
			a.step(s.ID, "The approval from %s no longer counts: the approvers of this step were changed.", by)
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
		a.by(d.By, s.ID, "%s approved: %s. %d of %d approvals.", d.By, s.Title, len(s.Approvals), need)
		return nil
	}
	a.inc.State, a.inc.Quiet, a.inc.Note = StateApplying, QuietNone, ""
	a.inc.UndoOffered = ""
	a.inc.Active = &Active{Step: s.ID, Op: OpApply, Phase: PhaseRecheck, Since: a.now, By: d.By}
	a.by(d.By, s.ID, "%s approved: %s.%s", d.By, s.Title, reasonText(d.Reason))
	return nil
}

func (a *applier) deny(d Decision, s Step) error {
	a.inc.Decisions = append(a.inc.Decisions, d)
	if _, err := a.edit(s.ID, func(s *Step) {
		s.State, s.Reason = StepDenied, "denied by "+d.By.String()
	}); err != nil {
		return err
	}
	a.by(d.By, s.ID, "%s denied: %s.%s", d.By, s.Title, reasonText(d.Reason))
	if len(a.inc.Proposed()) == 0 {
		a.quiet(QuietDenied, "Denied. Nothing is changed and nothing more is asked until it is healthy or the diagnosis changes.")
	}
	return nil
}

func (a *applier) decideUndo(d Decision, s Step) error {
	switch {
	case a.inc.OnlyDryRun(s):
		return &RefusedError{Reason: "This is a dry run: nothing was changed, so there is nothing to undo."}
	case a.inc.DryRun:
		return &RefusedError{Reason: "This incident is a dry run now, so the bot writes nothing. Roll the step back by hand."}
	}
	d.At = a.now
	a.inc.Decisions = append(a.inc.Decisions, d)
	return a.undo(s.ID, d.By, "asked for by "+d.By.String()+reasonText(d.Reason))
}

// undo begins the way back of an applied step.
func (a *applier) undo(id string, by Actor, why string) error {
	s, ok := a.inc.Step(id)
	switch {
	case !ok:
		return &RefusedError{Reason: fmt.Sprintf("There is no step %s here.", id)}
	case s.State == StepUndone || s.State == StepUndoing:
		return &RefusedError{Reason: "This step has been undone already."}
	case s.State != StepApplied:
		return &RefusedError{Reason: fmt.Sprintf("This step is %s: there is nothing to undo.", s.State)}
	case a.inc.OnTopOf(s) != "":
		return &RefusedError{Reason: fmt.Sprintf("%s changed the same value later. Undo that one first.", a.inc.OnTopOf(s))}
	case a.inc.Active != nil && a.inc.Active.Step != id:
		return &RefusedError{Reason: "Another step is being run. Undo this one when that has ended."}
	}
	a.inc.State, a.inc.UndoOffered, a.inc.Note = StateUndoing, "", ""
	a.inc.Active = &Active{Step: id, Op: OpUndo, Phase: PhaseRecheck, Since: a.now, By: by, Why: why}
	a.by(by, id, "Undoing: %s, back to %s (%s).", s.Title, s.Undo, why)
	return nil
}

// decisionNotNow explains to a person why the incident takes no decision at the moment.
func decisionNotNow(inc Incident, d Decision) string {
	if s, ok := inc.Step(d.Step); ok && (s.State != StepProposed || inc.State == StateClosed) {
		return stepNotOpen(inc, s)
	}
	switch {
	case inc.State == StateClosed:
		return "The incident is closed. Nothing was done."
	case inc.State.Running():
		return "Another step is being run. Decide when that has ended."
	default:
		return fmt.Sprintf("The incident is %s and takes no decision now. Nothing was done.", inc.State)
	}
}

// stepNotOpen explains why a step takes no decision any more, naming who decided when somebody did.
func stepNotOpen(inc Incident, s Step) string {
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Step == s.ID && d.Verb != Undo {
			return fmt.Sprintf("This was decided already: %s by %s. The step is %s. Your click changed nothing.", past(d.Verb), d.By, s.State)
		}
	}
	switch s.State {
	case StepExpired:
		return "The time to decide is over, and that means no. Nothing was done."
	case StepSuperseded:
		return "The plan has changed since this was shown. Nothing was done. Look at the new plan and decide on that."
	case StepRefused:
		return "This step is refused: " + s.Reason
	case StepProposed, StepApproved, StepDenied, StepApplying, StepApplied, StepFailed, StepUndoing, StepUndone, StepReverted:
	}
	return fmt.Sprintf("This step is %s. Your click changed nothing.", s.State)
}

func past(v Verb) string {
	switch v {
	case Approve:
		return "approved"
	case Deny:
		return "denied"
	case Undo:
		return "undone"
	default:
		return string(v)
	}
}

func reasonText(r string) string {
	if r == "" {
		return ""
	}
	return " Reason: " + r
}
