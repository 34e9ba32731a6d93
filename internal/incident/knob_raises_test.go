package incident_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A step from a flag that isn't given goes up or down from what the engine uses then.
func TestAStepRaisesAlsoFromWhatAnAbsentValueMeans(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, assumed, to incident.Value
		want              bool
	}{
		"up":                         {incident.Set("2"), incident.Value{}, incident.Set("3"), true},
		"down":                       {incident.Set("3"), incident.Value{}, incident.Set("2"), false},
		"up from a default":          {incident.Value{}, incident.Set("8192"), incident.Set("16384"), true},
		"down from a default":        {incident.Value{}, incident.Set("8192"), incident.Set("4096"), false},
		"from what nobody knows":     {incident.Value{}, incident.Value{}, incident.Set("4096"), false},
		"the value, not the default": {incident.Set("4096"), incident.Set("8192"), incident.Set("6000"), true},
	} {
		s := incident.Step{Kind: incident.StepMaxNumBatchedTokens, From: tt.from, Assumed: tt.assumed, To: tt.to}
		if got := s.Raises(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
