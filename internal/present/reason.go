package present

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Reason says why a step is where it is: "approval expired".
func Reason(s incident.Step) string { return cause(s.Cause, s.Reason) }

// why is the reason of a note.
func why(n incident.Note) string { return cause(n.Cause, n.Why) }

// attemptWhy is the reason of an attempt.
func attemptWhy(t incident.Attempt) string { return cause(t.Cause, t.Why) }

// Guardrail is what a check says about a step.
func Guardrail(g incident.Guardrail) string { return cause(g.Cause, g.Reason) }

// cause is the clause for a reason, with what to do about it; stored is the same in words. An older version stored
// nothing else, and of a kind that only a newer version knows nothing else can be said.
func cause(r incident.Reason, stored string) string {
	if r.Kind == "" {
		return stored
	}
	text := ""
	for _, of := range []func(incident.Reason) string{plainCause, stopped, blocked, ended, became} {
		if text = of(r); text != "" {
			break
		}
	}
	switch {
	case text != "":
	case stored != "":
		return stored
	default:
		text = r.Text
	}
	switch {
	case r.NotUndone:
		text = "not rolled back: " + text
	case r.Undone:
		text = "rolled back, but " + text
	}
	if r.Hint != "" {
		text += "; " + r.Hint
	}
	return unmark.Replace(text)
}

// aside is the reason of a note as sentences of their own. Text that comes from elsewhere begins as it is.
func aside(n incident.Note) string {
	text := why(n)
	if text == "" || n.Cause.Kind == "" || n.Cause.Kind == incident.ReasonText {
		return more(text)
	}
	return more(Capital(clause(text)) + ".")
}

// plainCause has why a step is where it is.
func plainCause(r incident.Reason) string {
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonText:
		return r.Text
	case incident.ReasonDenied:
		return "denied"
	case incident.ReasonAborted:
		return "stopped"
	case incident.ReasonExpired:
		return "approval expired"
	case incident.ReasonHealthy:
		return "metrics are healthy again"
	case incident.ReasonRecovered:
		return "recovered"
	case incident.ReasonReplaced:
		return "the plan was replaced"
	case incident.ReasonClosed:
		return "the incident is closed"
	case incident.ReasonSnoozed:
		return "this diagnosis is snoozed"
	case incident.ReasonDryRun:
		return "it was a dry run; nothing was written"
	case incident.ReasonWriteUnknown:
		return "unknown whether the last write took effect; check the object"
	}
	return ""
}

// stopped has why a step, or its undo, is not run after all.
func stopped(r incident.Reason) string {
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonNoKubernetes:
		return "no Kubernetes API is configured anymore"
	case incident.ReasonMode:
		return "the bot is now in mode " + string(r.Mode)
	case incident.ReasonApprovers:
		return fmt.Sprintf("the approvers changed: %d of the %d approvals needed now count", r.Count, r.Of)
	case incident.ReasonNotAutomatic:
		return "policy no longer runs it automatically" + because(r.Text)
	case incident.ReasonDiagnosis:
		if r.Instead != "" {
			return "the diagnosis no longer holds: now it is " + r.Instead
		}
		return "the diagnosis no longer holds: " + cmp.Or(r.Text, "the metrics are inconclusive")
	case incident.ReasonNotAsked:
		if r.Instead != "" {
			return "the runbook no longer asks for this step. It now asks for: " + r.Instead
		}
		return "the runbook no longer asks for this step"
	case incident.ReasonOtherChange:
		return "the runbook now asks for another change: " + r.Instead
	case incident.ReasonNotProposable:
		return "this step can't be proposed anymore" + because(r.Text)
	case incident.ReasonUnchecked:
		return "it could not be checked again" + because(r.Text)
	case incident.ReasonObjectUnread:
		return "its object could not be read" + because(r.Text)
	case incident.ReasonOnTop:
		return fmt.Sprintf("a later step changed the same value (%s); roll that one back first", r.Instead)
	}
	return ""
}

// blocked has why a step cannot be proposed, or what a check says against it.
func blocked(r incident.Reason) string {
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonPaused:
		return "writes are " + pausedBy(r, Person(r.Who))
	case incident.ReasonLocked:
		return fmt.Sprintf("%s is being changed by incident %s", r.Target.Object(), r.Incident)
	case incident.ReasonDrift:
		if r.Text != "" {
			return fmt.Sprintf("%s changed since the proposal: %s", r.Target, r.Text)
		}
		return fmt.Sprintf("%s changed since the proposal: it was %s and is %s now", r.Target, value(r.Was), value(r.Value))
	case incident.ReasonNoLiveValue:
		return "no Kubernetes API is configured, so the current value cannot be read"
	case incident.ReasonValueUnread:
		return "could not be read" + because(r.Text)
	case incident.ReasonLedgerUnread:
		return "cannot be read from the store" + because(r.Text)
	case incident.ReasonUnrecorded:
		return fmt.Sprintf("this database has no record of the last write of %s: its value now may be a leftover, and a "+
			"rollback goes back to that", r.Target.Object())
	case incident.ReasonRecordUnknown:
		return fmt.Sprintf("it isn't known whether the last write of %s is recorded", r.Target.Object()) + because(r.Text)
	case incident.ReasonCheck:
		return fmt.Sprintf("the check %q refuses it", r.Check)
	case incident.ReasonVerdict:
		return fmt.Sprintf("this version doesn't know the verdict %q of the check %q", r.Given, r.Check) + also(r.Text)
	case incident.ReasonStepKind:
		return fmt.Sprintf("this version doesn't know steps of the kind %q", r.Given)
	}
	return ""
}

// pausedBy is what is paused, by whom and why, without a full stop.
func pausedBy(r incident.Reason, who string) string {
	scope := "all pools"
	if r.Pool != "" {
		scope = "pool " + r.Pool
	}
	return "paused for " + scope + " by " + who + because(r.Text)
}

// Paused says that changes are paused, by whom and why, and how to end that.
func Paused(p incident.Pause) string {
	r := (&incident.PausedError{Pause: p}).Reason()
	return "Changes are " + pausedBy(r, Person(r.Who)) + ". To resume: " + resumeLine(r) + "."
}

// resumeLine is the command that ends a pause, on the command line and in Slack.
func resumeLine(r incident.Reason) string {
	if r.Pool == "" {
		return "vllm-medic resume, or /vllm-medic resume in Slack"
	}
	return "vllm-medic resume --pool " + r.Pool + ", or /vllm-medic resume " + r.Pool + " in Slack"
}

// Refusals says why the bot can't run a step: what each check says that refuses it.
func Refusals(s incident.Step) []string {
	var out []string
	for _, g := range s.Guardrails {
		if g.Refuses() {
			out = append(out, cause(g.Refusal(), g.Reason))
		}
	}
	if len(out) == 0 && s.Refusal().Kind != "" {
		out = append(out, cause(s.Refusal(), ""))
	}
	return out
}

// ended has how a write, or the rollout after it, ended.
func ended(r incident.Reason) string {
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonInterrupted:
		return "found applied after an interruption"
	case incident.ReasonChanged:
		return fmt.Sprintf("%s is now %s, changed by someone else", r.Target, value(r.Value)) + also(r.Text)
	case incident.ReasonUnsure:
		return unsure(r)
	case incident.ReasonGaveUp:
		return fmt.Sprintf("gave up after %d tries without a clear answer; last: %s", r.Count, r.Text)
	case incident.ReasonRolloutUnread:
		return "it could not be checked" + because(r.Text)
	case incident.ReasonTooSlow:
		return "not complete after " + incident.FormatDuration(r.After) + also(r.Text)
	}
	return ""
}

// unsure says why nobody can tell what became of a write.
func unsure(r incident.Reason) string {
	now, by := "now", ""
	if r.Value == r.Was {
		now = "as before"
	}
	if r.By != "" {
		by = " (" + r.By + " was the last to set the value)"
	}
	return fmt.Sprintf("the write had no clear answer. %s is %s %s, but the object has changed since the write was "+
		"claimed%s, so it's unknown whether the write took effect", r.Target, value(r.Value), now, by)
}

// also is a sentence from elsewhere after a clause.
func also(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return ". " + text
}

// became has what became of a change: "argocd-controller set it back to 184 after 6 s".
func became(r incident.Reason) string {
	who := cmp.Or(r.By, "another client")
	text := ""
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonGone:
		return r.Text
	case incident.ReasonNoAnswer:
		return "the API server gave no clear answer"
	case incident.ReasonUnknown:
		return "unknown whether it took effect"
	case incident.ReasonRemovedAgain:
		text = who + " removed it again"
	case incident.ReasonRemoved:
		text = who + " removed it"
	case incident.ReasonSetBack:
		text = who + " set it back to " + value(r.Value)
	case incident.ReasonMovedFurther:
		text = who + " moved it further, to " + value(r.Value)
	case incident.ReasonSet:
		text = who + " set it to " + value(r.Value)
	}
	if text != "" && r.After > 0 {
		text += " after " + incident.FormatDuration(r.After)
	}
	return text
}
