package actions

import (
	"maps"
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestEveryKnobThatIsDescribedCanBeAdjusted(t *testing.T) {
	t.Parallel()
	var described []incident.StepKind
	for _, k := range incident.AllKnobs() {
		described = append(described, k.Kind)
	}
	slices.Sort(described)
	if got := slices.Sorted(maps.Keys(knobs())); !slices.Equal(got, described) {
		t.Errorf("the registry adjusts %v, and incident describes %v", got, described)
	}
}
