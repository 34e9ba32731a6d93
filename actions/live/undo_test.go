package live

import (
	"maps"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A policy of the API server lets the undo go back only to what is noted: the note has every value that the policy
// would not take for one within the limits.
func TestAValueBeyondTheLimitsIsNotedBeforeItIsReplaced(t *testing.T) {
	t.Parallel()
	for value, want := range map[incident.Value]string{
		{}: "absent", incident.Set("1"): "1", incident.Set("9"): "9", incident.Set("8k"): "8k", incident.Set("04"): "04",
		incident.Set("+4"): "+4", incident.Set("auto"): "auto", incident.Set("0"): "0", incident.Set("-4"): "-4",
		incident.Set("2"): "", incident.Set("4"): "", incident.Set("8"): "",
	} {
		f := Field{Value: value, Target: incident.Target{Setting: "replicas"}, Limits: Limits{Min: 2, Max: 8}}
		notes := map[string]string{Annotation: "w1"}
		if want != "" {
			notes["vllm-medic.io/undo-to.replicas"] = want
		}
		if got := f.notes("w1"); !maps.Equal(got, notes) {
			t.Errorf("%s: %v", value, got)
		}
	}
}
