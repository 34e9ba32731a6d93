package main

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Whoever sees that a change helped too little finds the command that rolls it back, whether or not anybody is asked
// about that; and finds none where it would be refused.
func TestATerminalSaysHowToRollBack(t *testing.T) {
	t.Parallel()
	scaled := incident.Step{
		ID: "p1-s1", Kind: incident.StepReplicas, State: incident.StepApplied, Title: "Scale it",
		From: incident.Set("2"), To: incident.Set("3"), Undo: incident.Set("2"), AppliedAt: time.Unix(60, 0),
		Verification: &incident.Verification{
			Verdict: incident.VerdictNotEnough, Comparison: &incident.Comparison{Finding: incident.FoundNotEnough},
		},
	}
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, time.Unix(0, 0))
	inc.State, inc.Plan = incident.StateDeciding, &incident.Plan{Digest: "0a1b", Steps: []incident.Step{scaled}}
	const command = "  to roll back: vllm-medic incidents undo inc-1 p1-s1   "
	offered, dry, closed, earlier := inc, inc, inc, inc
	offered.UndoOffered, dry.DryRun, closed.State = "p1-s1", true, incident.StateClosed
	earlier.Plan, earlier.AppliedEarlier = nil, []incident.Step{scaled}
	for name, c := range map[string]struct {
		inc  incident.Incident
		want string
	}{
		"not enough yet":            {inc, command + "(back to 2)\n"},
		"offered":                   {offered, command + "(back to 2; keep leaves 3)\n"},
		"of a plan that is over":    {earlier, command + "(back to 2)\n"},
		"a dry run changed nothing": {dry, ""},
		"closed":                    {closed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := printed(c.inc)
			if !strings.Contains(text, "verified: not enough yet. The new capacity is in use") {
				t.Errorf("the verdict is not in words:\n%s", text)
			}
			if c.want == "" && strings.Contains(text, "incidents undo") || !strings.Contains(text, c.want) {
				t.Errorf("want %q in\n%s", c.want, text)
			}
		})
	}
}
