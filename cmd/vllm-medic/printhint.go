package main

import (
	"io"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printHint says with which words a person goes on.
func printHint(w io.Writer, inc incident.Incident) {
	if inc.ID == "" {
		return
	}
	held := inc.HeldByPause()
	if inc.Paused != nil && (held || len(inc.Proposed()) > 0) {
		say(w, "\n  %s\n", present.Paused(*inc.Paused))
	}
	if inc.State == incident.StateDeciding && len(inc.Proposed()) > 0 {
		say(w, "\n  to decide: vllm-medic incidents approve %s STEP --digest %s   (or deny)\n", inc.ID, inc.Plan.Digest)
	}
	for _, s := range inc.Undoable() {
		to := "back to " + present.ValueText(s.Undo)
		if s.ID == inc.UndoOffered {
			to += "; keep leaves " + present.ValueText(s.To)
		}
		say(w, "\n  to roll back: vllm-medic incidents undo %s %s   (%s)\n", inc.ID, s.ID, to)
	}
	if inc.CanAskAgain() || held && inc.Paused == nil {
		say(w, "\n  to be asked again: vllm-medic incidents ask %s\n", inc.ID)
	}
}
