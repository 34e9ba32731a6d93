package present

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// words is the text of a note, with marks where its people are, and whether this version knows its kind: a newer one
// may have written it.
func words(n incident.Note) (text string, known bool) {
	for _, of := range []func(incident.Note) string{
		ofIncident, ofPlan, ofDecision, ofStep, ofEffect, ofUndo, ofObstacle, ofUnrecorded, ofDrill, ofDrillRefusal,
		ofRefusal, ofRefusedUndo, ofStaleEvent,
	} {
		if text := of(n); text != "" {
			return text, true
		}
	}
	return n.Why, false
}

// ofIncident has what is said of alerts and of an incident as a whole.
func ofIncident(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteStarted:
		return "Investigation started."
	case incident.NoteAcked:
		return "Acknowledged by " + markBy + "."
	case incident.NoteFiring:
		return "Opened by " + n.Names + "."
	case incident.NoteJoined:
		return "Also firing: " + n.Names + "."
	case incident.NoteRefired:
		return "Firing again: " + n.Names + "."
	case incident.NoteResolved:
		return resolved(n, n.Names)
	case incident.NoteAlerts:
		return alerts(n)
	case incident.NoteMoved:
		if n.Pool == "" {
			return "Moved to the earlier incident without a pool: " + n.Names + "."
		}
		return "Moved to pool " + n.Pool + ": " + n.Names + "."
	case incident.NoteRouting:
		return routing(n.Routing, n.Why)
	case incident.NoteNothingNew:
		return "Notification after close: no newly firing alerts."
	case incident.NoteReopened:
		return "Reopened: " + n.Names + " firing again." + newMode(n)
	case incident.NoteClosedBy:
		return "Closed by " + markBy + because(n.Why) + "."
	case incident.NoteHealthyFor:
		return "Healthy for " + incident.FormatDuration(n.For) + "."
	case incident.NoteUnheard:
		text := "Alertmanager has sent nothing about these alerts for " + incident.FormatDuration(n.Silent) + "."
		if n.For > 0 {
			text = "Healthy for " + incident.FormatDuration(n.For) + ". " + text
		}
		return text
	case incident.NoteNoneFires:
		return "None of these alerts is firing."
	case incident.NoteNoData:
		return "No alert is firing, and there has been no data for " + incident.FormatDuration(n.Silent) + "."
	case incident.NoteNotKept:
		return "The incident keeps the " + Counted(n.Of, "worst and newest alert") + ": " +
			incident.FormatValue(float64(n.Count), incident.UnitCount) + " more fire and are not kept."
	case incident.NoteNoPool:
		return "No pool matches these alerts, so there is nothing to investigate. Add one like this:"
	case incident.NotePoolGone:
		text := "Pool " + n.Pool + " is no longer configured; the bot won't read or change it."
		if n.Names != "" {
			text += " Still in place, not reverted automatically: " + n.Names + "."
		}
		return text
	case incident.NoteWorkFailed:
		return workFailed(n)
	case incident.NoteWorkResumed:
		return "Work on this incident has resumed."
	}
	return ""
}

// resolved says what ended and what that leaves: it closes nothing, except where no metric is looked at.
func resolved(n incident.Note, names string) string {
	switch {
	case n.Count > 0:
		return fmt.Sprintf("Resolved: %s (%d still firing).", names, n.Count)
	case n.Pool == "":
		return "All alerts resolved: " + names + "."
	}
	return "All alerts resolved: " + names + ". Waiting for metrics to confirm."
}

// alerts says how the alerts have changed in the last minute or so.
func alerts(n incident.Note) string {
	var parts []string
	for _, of := range []struct{ words, names string }{
		{"Also firing: ", n.Names}, {"Firing again: ", n.Again}, {"Flapping: ", n.Flapped},
	} {
		if of.names != "" {
			parts = append(parts, of.words+of.names+".")
		}
	}
	if n.Ended != "" {
		parts = append(parts, resolved(n, n.Ended))
	}
	return strings.Join(parts, " ")
}

// newMode says what the pool's present mode changes for an incident that is opened again.
func newMode(n incident.Note) string {
	was, is := n.WasMode == incident.ModeDryRun, n.Mode == incident.ModeDryRun
	switch {
	case n.Mode == "":
		return ""
	case is && !was:
		return fmt.Sprintf(" The pool is now in mode %s: nothing will be changed.", n.Mode)
	case was && !is:
		return fmt.Sprintf(" The pool is now in mode %s: this is no longer a dry run.", n.Mode)
	}
	return fmt.Sprintf(" The pool is now in mode %s.", n.Mode)
}

// workFailed says how the bot's own work failed, and who tries again when. Work that hangs cannot be stopped: the
// replica that gave it up keeps away from the incident until that work has ended, and the end of the process ends it.
func workFailed(n incident.Note) string {
	text := "Work on this incident failed."
	switch n.Setback {
	case incident.SetbackPanic:
		text = "Work on this incident failed with an internal error."
	case incident.SetbackHung:
		text = "Work on this incident did not finish in time and was given up."
	case incident.SetbackLost:
		text = "Work on this incident was cut off before it finished."
	}
	if n.Why != "" {
		text += " (" + n.Why + ")"
	}
	if n.At.IsZero() {
		return text
	}
	at := clock(n.At)
	if n.Parked {
		text += fmt.Sprintf(" That was attempt %d in a row, so this incident is parked. Needs a human.", n.Count)
		at += ", or after any action on the incident"
	}
	if n.Setback == incident.SetbackHung {
		return text + " The same replica tries again only after that work ends or after a restart. " +
			"Other replicas: at " + at + "."
	}
	return text + " Next attempt at " + at + "."
}

// ofPlan has what is said of a diagnosis and a plan.
func ofPlan(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteText:
		return n.Why
	case incident.NoteHealthyAgain:
		return "Metrics are healthy again. No approval needed."
	case incident.NoteDiagnosis:
		return "Diagnosis: " + n.Why
	case incident.NoteNotFoundAgain:
		return "The newest check made no diagnosis. This one is of " + clock(n.At) + "."
	case incident.NoteOtherCause:
		return "The newest check points to another cause: " + strings.TrimSuffix(n.Why, ".") + ". This one is of " +
			clock(n.At) + "; it is replaced if the next checks confirm the other."
	case incident.NoteNewPlan:
		return "New plan, same diagnosis: " + n.Why
	case incident.NoteNoAction:
		return "This diagnosis needs no action."
	case incident.NoteNoStep:
		return "No automated fix available right now (reasons below)."
	case incident.NoteManualOnly:
		return "Only manual steps apply here."
	case incident.NoteAsked:
		return "Requested approval of plan " + n.Why + " by " + n.At.UTC().Format(time.RFC3339) + "."
	case incident.NoteExpired:
		expired := Capital(cause(incident.Reason{Kind: incident.ReasonExpired}, ""))
		if n.Names == "" {
			return expired + "; nothing was changed."
		}
		return expired + ". Still in place: " + n.Names + "."
	case incident.NoteAborted:
		return "Stopped by " + markBy + because(n.Why) + "."
	}
	return ""
}

// ofStep has what is said of a step up to its write.
func ofStep(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteNotDone:
		again := ""
		if n.Cause.Kind == incident.ReasonPaused {
			again = " It is proposed again after the resume."
		}
		return "Not applied: " + clause(why(n)) + ". Nothing was changed." + again
	case incident.NoteClaimed:
		return "Claimed the write " + n.Why + "."
	case incident.NoteNoAnswer:
		if n.Count <= 1 {
			return fmt.Sprintf("No clear answer to the write of %s: %s. Checking the object before trying again.", n.Target,
				clause(n.Why))
		}
		return fmt.Sprintf("No clear answer to %d tries of the write of %s: %s. Checking the object before each try.",
			n.Count, n.Target, clause(n.Why))
	case incident.NoteUnknown:
		return "Not written again: " + clause(why(n)) + ". Needs a human."
	case incident.NoteDone:
		return "Applied: " + n.Step + "." + aside(n)
	case incident.NoteDryRun:
		return "DRY RUN: would have applied: " + n.Step + ". Nothing was written." + aside(n)
	case incident.NoteStepGone:
		return "Step " + n.Why + " no longer exists."
	}
	return ""
}

// ofEffect has what is said of a step after its write.
func ofEffect(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteRolledOut:
		text := "Live." + aside(n)
		if n.StepKind.RollsOut() {
			text = "Rollout complete." + aside(n)
		}
		return text + " First check at " + clock(n.At) + "."
	case incident.NoteNotRolledOut:
		if n.StepKind.RollsOut() {
			return "The rollout failed" + because(why(n)) + "."
		}
		return "The change did not take effect" + because(why(n)) + "."
	case incident.NoteSettled:
		return "Metrics have caught up."
	case incident.NoteReading:
		return fmt.Sprintf("Check %d after the change: %s.", n.Count, n.Verdict) + more(judged(n.Check, n.Why))
	case incident.NoteVerified:
		return verified(n.Verdict, n.Check, n.Why)
	case incident.NoteDryRunEnded:
		return "Dry run finished. Nothing was changed."
	case incident.NoteRecovered:
		return "Recovered after: " + n.Step + "."
	case incident.NoteOutcome:
		return "After " + n.Step + ": " + string(n.Verdict) + "."
	case incident.NoteReverted:
		return fmt.Sprintf("Reverted: %s (%s).%s The effect can't be verified, and there is nothing to roll back.",
			why(n), n.Target, toKeep(n.Hint))
	case incident.NoteStepReverted:
		return n.Step + " was reverted: " + clause(why(n)) + "."
	}
	return ""
}

// ofUndo has what is said of an undo.
func ofUndo(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteUndoing:
		var why strings.Builder
		for _, s := range undoReason(n) {
			why.WriteString(cmp.Or(s.Text, markBy))
		}
		if n.For > 0 {
			return fmt.Sprintf("Healthy for %s: reverting to %s (%s).", incident.FormatDuration(n.For), value(n.Value), n.Step)
		}
		return fmt.Sprintf("Rolling back to %s: %s (%s).", value(n.Value), n.Step, why.String())
	case incident.NoteRestored:
		return fmt.Sprintf("Restored %s to %s. %s%s", n.Target, value(n.Value), waiting(n.StepKind), aside(n))
	case incident.NoteUndone:
		what := "Rolled back"
		if n.By.Kind == incident.ActorBot {
			what = "Reverted as planned"
		}
		text := fmt.Sprintf("%s: %s is %s again", what, n.Target, value(n.Value))
		switch {
		case n.Failed && n.StepKind.RollsOut():
			text += ", but its rollout failed"
		case n.Failed:
			text += ", but that did not take effect"
		}
		return text + "." + aside(n)
	case incident.NoteMonitoring:
		return "Rolled back. Still monitoring."
	case incident.NoteNotUndone:
		return fmt.Sprintf("Couldn't roll back: %s. %s is still at %s. Needs a human.", clause(why(n)), n.Target,
			value(n.Value))
	case incident.NoteUndoDrift:
		return fmt.Sprintf("Couldn't roll back: %s. Check %s manually.", clause(why(n)), n.Target)
	case incident.NoteUndoneReverted:
		return fmt.Sprintf("Rolled back: %s was %s again, but %s.%s", n.Target, value(n.Value), why(n), toKeep(n.Hint))
	case incident.NoteUndoneChanged:
		return fmt.Sprintf("Rolled back, but %s: %s.", why(n), n.Target)
	}
	return ""
}

// ofObstacle has what keeps the bot from going on for the moment.
func ofObstacle(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteMitigationHeld:
		return n.Step + " stays in place for now: " + clause(why(n)) + "."
	case incident.NoteUndoOnHold:
		return "Rollback on hold: " + clause(why(n)) + "."
	case incident.NoteOutcomeUnseen:
		return fmt.Sprintf("Can't see the outcome of the write to %s: no Kubernetes API is configured anymore. "+
			"Check the object manually, or abort.", n.Target)
	case incident.NoteEffectUnseen:
		return fmt.Sprintf("Can't see the effect of the change of %s: no Kubernetes API is configured anymore. "+
			"Check the object manually, or abort.", n.Target)
	case incident.NoteObjectUnread:
		return fmt.Sprintf("The write to %s may or may not have happened: its object can't be read. Retrying. "+
			"Check the object manually, or abort.", n.Target)
	}
	return ""
}

// Verdict is what the check after a change found, as a heading.
func Verdict(v incident.Verdict) string {
	switch v { //nolint:exhaustive // the others are their own words
	case incident.VerdictRecovered:
		return "Fixed"
	case incident.VerdictNotEnough:
		return "Not enough yet"
	}
	return Capital(string(v))
}

// waiting says what has to follow a write.
func waiting(k incident.StepKind) string {
	if k.RollsOut() {
		return "Waiting for the rollout."
	}
	return "Waiting for the gateway to accept it."
}

func past(v incident.Verb) string {
	switch v {
	case incident.Approve:
		return "approved"
	case incident.Deny:
		return "denied"
	case incident.Undo:
		return "rolled back"
	case incident.Keep:
		return "kept"
	}
	return string(v)
}

func value(v incident.Value) string {
	if !v.Present {
		return "unset"
	}
	return v.Text
}

// clause is foreign text in the middle of a sentence.
func clause(why string) string { return strings.TrimRight(strings.TrimSpace(why), ".") }

// because is a reason at the end of a sentence, without its full stop.
func because(why string) string {
	if why = clause(why); why == "" {
		return ""
	}
	return ": " + why
}

// more is a sentence after another one.
func more(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return " " + text
}

func reason(why string) string {
	if why = strings.TrimSpace(why); why == "" {
		return ""
	}
	return " Reason: " + why
}

func toKeep(hint string) string {
	if hint == "" {
		return ""
	}
	return " To keep the change, " + hint + "."
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
