package slack

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAValueThatIsNotSetIsShownBesideTheTitle(t *testing.T) {
	t.Parallel()
	set := incident.Set
	for want, s := range map[string]incident.Step{
		" `not set → 3`":    {Kind: incident.StepReplicas, To: set("3")},
		" `4096 → not set`": {Kind: incident.StepMaxNumBatchedTokens, From: set("4096")},
	} {
		if got := unset(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, s := range []incident.Step{
		{Kind: incident.StepReplicas, From: set("2"), To: set("3")},
		{Kind: incident.StepManual},
		{Kind: incident.StepManual, To: set("3")},
	} {
		if got := unset(s); got != "" {
			t.Errorf("%s %s %s: %q", s.Kind, s.From, s.To, got)
		}
	}
}
