package app

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A check may give its reason as facts or as text.
func TestAKnobsFindingSaysWhatTheChecksSay(t *testing.T) {
	t.Parallel()
	unread := incident.Reason{Kind: incident.ReasonLedgerUnread, Text: "locked up"}
	f := proposal(Finding{}, incident.Step{Kind: incident.StepReplicas, Guardrails: []incident.Guardrail{
		{Name: "lock", Verdict: incident.GuardRefuse, Cause: unread},
		{Name: "scaler", Verdict: incident.GuardCaution, Cause: incident.Reason{Kind: incident.ReasonSet, By: "helm"}},
		{Name: actions.OwnershipGuard, Verdict: incident.GuardPass, Reason: "nothing else sets it"},
	}})
	want := []string{
		"refused: cannot be read from the store: locked up", "caution: helm set it to unset", "owner: nothing else sets it",
	}
	if f.Good || !f.Caution || !slices.Equal(f.More, want) {
		t.Errorf("got %+v", f)
	}
}
