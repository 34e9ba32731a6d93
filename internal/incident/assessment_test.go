package incident_test

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestHealthIsOrderedAndWrongUnlessItIsKnownToBeWell(t *testing.T) {
	t.Parallel()
	all := incident.Healths()
	if !slices.IsSortedFunc(all, func(a, b incident.Health) int { return map[bool]int{true: -1, false: 1}[a.Worse(b)] }) {
		t.Errorf("not in order: %v", all)
	}
	for _, h := range append(all, "", "a word of a newer version") {
		well := h == incident.HealthOK || h == incident.HealthNoTraffic || h == incident.HealthPartial
		if h.Wrong() == well {
			t.Errorf("%q is wrong: %v", h, h.Wrong())
		}
	}
}
