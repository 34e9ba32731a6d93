package present

import (
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ofRefusal has what a person is told whose decision on a step is not taken.
func ofRefusal(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.RefusedPlanChanged:
		return "The plan changed since you saw this. Nothing was changed. Check the latest message."
	case incident.RefusedStepGone:
		return "This incident no longer has this step. Check the latest message."
	case incident.RefusedManual:
		return fmt.Sprintf("This step is manual; there is nothing to %s.", n.Verb)
	case incident.RefusedExpired:
		return "This approval request has expired. Nothing was changed."
	case incident.RefusedVerb:
		return fmt.Sprintf("%q is not a decision; use approve, deny or undo.", n.Verb)
	case incident.RefusedBlocked:
		return "This step is blocked: " + why(n)
	case incident.RefusedUnconfirmed:
		return "This step restarts pods and requires a separate confirmation. Nothing was changed."
	case incident.RefusedSameChannel:
		return markBy +
			" approved first. access.slack_users doesn't have both of you, so the bot can't tell whether " + markBy + " and " +
			markOther + " are two people. The second approver must use the same channel (Slack or CLI)."
	case incident.RefusedSameValue:
		return "The step already sets " + value(n.Value) + "; approve it to apply it."
	case incident.RefusedNotNarrower:
		return fmt.Sprintf("%s isn't a smaller change than proposed. Choose a whole number after %s, up to %s. "+
			"Nothing was changed.", value(n.Value), value(n.From), value(n.To))
	case incident.RefusedTwice:
		return "You already approved this; another approver is required."
	case incident.RefusedDecidedBefore:
		return fmt.Sprintf("Already %s by "+markBy+". The step is %s. Your click changed nothing.", past(n.Verb), n.State)
	case incident.RefusedStepState:
		return fmt.Sprintf("This step is %s. Your click changed nothing.", n.State)
	case incident.RefusedDecideClosed:
		return "The incident is closed. Nothing was changed."
	case incident.RefusedDecideBusy:
		return "Another step is in progress. Decide when it has finished."
	case incident.RefusedDecide:
		return fmt.Sprintf("The incident is %s and takes no decisions now. Nothing was changed.", n.During)
	case incident.RefusedNothingOpen:
		return "Nothing is waiting for approval. Nothing was changed."
	case incident.RefusedNotOffered:
		return "No rollback of this step is offered, so there is nothing to keep. Nothing was changed."
	case incident.RefusedSnooze:
		return "Only a denial of everything that is proposed can snooze, for at most " + incident.FormatDuration(n.For) +
			". Nothing was changed."
	case incident.RefusedNoReason:
		return "Approving this step requires a reason. Nothing was changed. Approve it with one (--reason)."
	case incident.RefusedFourEyes:
		return markBy + " chose the value of this step, so someone else must approve it, through the same channel " +
			"(Slack or CLI) unless access.slack_users tells them apart. Nothing was changed."
	case incident.RefusedPaused:
		return "Changes are " + pausedBy(n.Cause, markBy) + ". Nothing was changed. Resume them with " + resumeLine(n.Cause) +
			". Then approve again."
	case incident.RefusedHeld:
		return "This step is on hold: changes were " + pausedBy(n.Cause, markBy) + ". Nothing was changed. It is " +
			"proposed again after the resume: " + resumeLine(n.Cause) + "."
	case incident.RefusedAskAgain:
		return refusedAsk(n.During)
	}
	return ""
}

// refusedAsk says why nothing is asked again.
func refusedAsk(during incident.State) string {
	switch during { //nolint:exhaustive // the others are named by their state
	case incident.StateClosed:
		return "The incident is closed, so nothing can be asked again."
	case incident.StateWatching:
		return "Nothing was denied or expired here, so there is nothing to ask again."
	case incident.StateDeciding:
		return "The incident is already waiting for approval."
	}
	return fmt.Sprintf("The incident is %s, so nothing can be asked again now.", during)
}

// ofRefusedUndo has what a person is told whose undo, abort or close is not taken.
func ofRefusedUndo(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.RefusedUndoDryRun:
		return "This is a dry run: nothing was changed, so there is nothing to roll back."
	case incident.RefusedUndoManually:
		return "This incident is now a dry run, so the bot changes nothing. Roll the step back manually."
	case incident.RefusedUndone:
		return "This step was already rolled back."
	case incident.RefusedNotApplied:
		return fmt.Sprintf("This step is %s; there is nothing to roll back.", n.State)
	case incident.RefusedOnTop:
		return fmt.Sprintf("A later step changed the same value (%s). Roll that one back first.", n.Step)
	case incident.RefusedUndoBusy:
		return "Another step is in progress. Roll this one back when it has finished."
	case incident.RefusedAbort:
		return fmt.Sprintf("The incident is %s; there is nothing to abort.", n.During)
	case incident.RefusedAbortWrite:
		return "The write is in progress and can't be stopped. Roll the step back when it has finished; if it hasn't by " +
			clock(n.At.Add(time.Minute)) + ", abort again."
	case incident.RefusedAbortLate:
		return tooLateToStop(n.State)
	case incident.RefusedClosed:
		return "The incident is already closed."
	case incident.RefusedClose:
		return fmt.Sprintf("The incident is %s and can't be closed now. Abort it first.", n.During)
	case incident.RefusedMitigation:
		return fmt.Sprintf("A mitigation is still active: %s. Undo it first, then close the incident.", n.Step)
	}
	return ""
}

// tooLateToStop says why a step that was about to be run, or undone, can't be stopped any more.
func tooLateToStop(s incident.StepState) string {
	switch s { //nolint:exhaustive // the others are named by their state
	case incident.StepApplied:
		return "This change is already applied, so nothing was stopped. Roll it back instead."
	case incident.StepApplying:
		return "This change is already being applied, so nothing was stopped. Roll it back instead."
	case incident.StepUndoing:
		return "The rollback has already begun, so nothing was stopped."
	}
	return fmt.Sprintf("This step is %s, so nothing was stopped.", s)
}

// ofStaleEvent has what is said of events that came to nothing because the incident had changed.
func ofStaleEvent(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.RefusedNoStep:
		return "This incident has no such step."
	case incident.RefusedStale:
		return fmt.Sprintf("The incident changed since it was read and is %s now; %s came too late.", n.During, n.Event)
	case incident.RefusedEvent:
		return fmt.Sprintf("%s does not apply to an incident that is %s.", n.Event, n.During)
	case incident.RefusedNoted:
		return "This is already noted."
	case incident.RefusedHasPool:
		return "The alerts of this incident already have a pool."
	case incident.RefusedNoAlert:
		return "None of these alerts belongs to this incident."
	case incident.RefusedReopen:
		return "The incident closed too long ago; this is a new one."
	case incident.RefusedRevertDryRun:
		return "A dry run changes nothing, so nothing can be reverted."
	case incident.RefusedNotFollowed:
		return fmt.Sprintf("The step %q is not being followed at the moment.", n.Step)
	case incident.RefusedNotInPlace:
		return fmt.Sprintf("The step %q is %s; there is nothing to revert.", n.Step, n.State)
	case incident.RefusedNoneWaiting:
		return "No step is waiting to be applied."
	case incident.RefusedOtherWaiting:
		return fmt.Sprintf("The step %q is waiting by now.", n.Step)
	case incident.RefusedNoWrite:
		return "No write is in progress."
	case incident.RefusedResult:
		return fmt.Sprintf("A write can't end with %q.", n.Why)
	case incident.RefusedNoRollout:
		return "No rollout is in progress."
	case incident.RefusedNotSettled:
		return "Metrics have not caught up yet."
	case incident.RefusedNoCheck:
		return "No verification is in progress."
	case incident.RefusedNoSetback:
		return "There is no setback."
	case incident.RefusedNoNews:
		return "There is no news of the alerts."
	case incident.RefusedNoRequest:
		return "No approval request is open."
	}
	return ""
}
