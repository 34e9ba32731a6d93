package present

import (
	"cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Reason says why a step is where it is: "approval expired". A step of an older version has nothing but the text.
func Reason(s incident.Step) string {
	if s.Cause.Kind == "" {
		return s.Reason
	}
	return cause(s.Cause)
}

// why is the reason of a note, likewise.
func why(n incident.Note) string {
	if n.Cause.Kind == "" {
		return n.Why
	}
	return cause(n.Cause)
}

// attemptWhy is the reason of an attempt, likewise.
func attemptWhy(t incident.Attempt) string {
	if t.Cause.Kind == "" {
		return t.Why
	}
	return cause(t.Cause)
}

// cause is the clause for a reason, with what to do about it.
func cause(r incident.Reason) string {
	text := plainCause(r)
	if text == "" {
		text = became(r)
	}
	text = cmp.Or(text, r.Text) // of a kind that a newer version wrote
	switch {
	case r.NotUndone:
		text = "not rolled back: " + text
	case r.Undone:
		text = "rolled back, but " + text
	}
	if r.Hint != "" {
		text += "; " + r.Hint
	}
	return text
}

// plainCause has why a step is where it is.
func plainCause(r incident.Reason) string {
	switch r.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.ReasonText:
		return r.Text
	case incident.ReasonDenied:
		return "denied"
	case incident.ReasonAborted:
		return "aborted"
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
	case incident.ReasonDryRun:
		return "it was a dry run; nothing was written"
	case incident.ReasonWriteUnknown:
		return "unknown whether the last write took effect; check the object"
	}
	return ""
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
