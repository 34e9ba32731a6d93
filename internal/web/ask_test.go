package web_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A change that helped too little can be rolled back although nobody asks about that: the command stands beside what
// the check after it found, as long as an undo would be taken.
func TestWhatCanBeRolledBackSaysHow(t *testing.T) {
	t.Parallel()
	const rollback = "<p class=\"small\">Roll back to 256:</p>\n<pre class=\"copy\">" +
		"vllm-medic incidents undo inc-7kq2mz4a p1-s1"
	inc := asked()
	inc.State = incident.StateWatching
	inc.Plan.Steps[0].State = incident.StepApplied
	inc.History = []incident.Made{{
		Step: "p1-s1", Kind: incident.StepThrottle, Title: "Throttle llama-70b from 256 to 128",
		Target: inc.Plan.Steps[0].Target, From: incident.Set("256"), To: incident.Set("128"), Undo: incident.Set("256"),
		By: []incident.Actor{ada}, AppliedAt: now, Verdict: incident.VerdictNotEnough, State: incident.StepApplied,
	}}
	mustHold(t, show(t, inc), `<span class="tag">Not enough yet</span>`, rollback)

	offered := inc
	offered.State, offered.UndoOffered = incident.StateDeciding, "p1-s1"
	page := show(t, offered)
	mustHold(t, page, "Roll back to 256?", "vllm-medic incidents undo inc-7kq2mz4a p1-s1")
	mustLack(t, page, rollback) // said once, where it is asked

	dry, closed := inc, inc
	dry.DryRun, closed.State = true, incident.StateClosed
	for name, inc := range map[string]incident.Incident{"dry run": dry, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustLack(t, show(t, inc), "incidents undo")
		})
	}
}
