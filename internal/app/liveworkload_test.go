package app

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A kind that does not say how many of its replicas are ready can be scaled all the same; one without a number cannot.
func TestAWorkloadWhoseReadinessIsNotKnownIsNoError(t *testing.T) {
	t.Parallel()
	two, one := int64(2), int64(1)
	for _, tt := range []struct {
		name    string
		cluster incident.Cluster
		good    bool
		want    string
	}{
		{"known", incident.Cluster{Replicas: &two, ReadyReplicas: &one}, true, "1 of 2 ready"},
		{"not known", incident.Cluster{Replicas: &two}, true, "how many are ready isn't known"},
		{"no number", incident.Cluster{}, false, "does not say how many replicas"},
		{
			"not read",
			incident.Cluster{Replicas: &two, ReadyReplicas: &two, Error: "the right to list pods is missing"},
			false,
			"the right to list pods is missing",
		},
	} {
		if f := workloadFinding(incident.Pool{Name: "chat"}, tt.cluster); f.Good != tt.good ||
			!strings.Contains(f.Text, tt.want) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}
