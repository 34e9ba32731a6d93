package present

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ofDecision has what is said of approvals and denials.
func ofDecision(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteApprovalVoid:
		return "The approval by " + markBy + " no longer counts: the approvers of this step changed."
	case incident.NoteApprovalsLowered:
		return fmt.Sprintf("%s now needs %d of the %d approvals it needed before. Approve it again.", n.Step, n.Count, n.Of)
	case incident.NoteApprovalsChanged:
		return fmt.Sprintf("%s now needs %d approvals instead of %d.", n.Step, n.Count, n.Of)
	case incident.NoteApprovedPart:
		return markBy + fmt.Sprintf(" approved: %s. %d of %d approvals.", n.Step, n.Count, n.Of)
	case incident.NoteApproved:
		return markBy + " approved: " + n.Step + "." + reason(n.Why)
	case incident.NoteDenied:
		return markBy + " denied: " + n.Step + "." + reason(n.Why)
	case incident.NoteNarrowed:
		return markBy + " wants " + value(n.Value) + " instead: " + n.Step + "." + reason(n.Why)
	case incident.NoteNotNarrowed:
		return "Can't use " + value(n.Value) + ", chosen by " + markBy + because(why(n)) + "."
	case incident.NoteAllDenied:
		return "Denied. Nothing was changed. No further proposals until it recovers or the diagnosis changes."
	case incident.NoteDeniedAll:
		return markBy + " denied: " + n.Names + "." + reason(n.Why)
	case incident.NoteKept:
		return markBy + " kept: " + n.Step + ". It won't be rolled back." + reason(n.Why)
	case incident.NoteAskedAgain:
		return markBy + " asked again. Investigating." + reason(n.Why)
	case incident.NoteSnoozed:
		return "Snoozed by " + markBy + " until " + n.At.UTC().Format("Jan 2, 15:04 UTC") +
			": this diagnosis isn't asked about on this pool until then." + reason(n.Why)
	case incident.NoteApprovalNeeded:
		return Capital(request(n))
	case incident.NoteReminder:
		return "Reminder: " + request(n)
	case incident.NoteEscalated:
		return "No answer yet, so more approvers are asked: " + request(n)
	case incident.NoteDetails:
		return markBy + " asked for the details."
	}
	return ""
}

// failed says what a change did that is to be rolled back.
func failed(v incident.Verdict) string {
	if v == incident.VerdictWorse {
		return "made it worse"
	}
	return "didn't help"
}

// request asks for a decision, without a capital letter.
func request(n incident.Note) string {
	by := " by " + clock(n.At)
	if n.At.IsZero() {
		by = ""
	}
	switch {
	case n.Verb == incident.Undo:
		return "approval needed" + by + " to roll back to " + value(n.Value) + ": " + n.Step +
			" " + failed(n.Verdict) + ". If no one responds, it stays in place."
	case n.Mode == incident.ModeDryRun:
		return "approval needed" + by + ", as a dry run: " + n.Names + ". Nothing will be changed."
	}
	return "approval needed" + by + ": " + n.Names + "."
}
