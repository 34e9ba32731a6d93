package replicas

import (
	"errors"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestPausedBy(t *testing.T) {
	t.Parallel()
	const p = "autoscaling.keda.sh/"
	for _, tt := range []struct {
		notes map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{p + "paused": "true"}, p + "paused: true"},
		{map[string]string{p + "paused": "yes"}, p + "paused: yes"},
		{map[string]string{p + "paused": ""}, p + "paused: "},
		{map[string]string{p + "paused": "false"}, ""},
		{map[string]string{p + "paused-replicas": "0", p + "paused": "false"}, p + "paused-replicas: 0"},
		{map[string]string{p + "paused-scale-out": "true"}, p + "paused-scale-out: true"},
		{map[string]string{p + "paused-scale-in": "true"}, ""},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{
			"kind":     "ScaledObject",
			"metadata": map[string]any{"name": "x"},
		}}
		o.SetAnnotations(tt.notes)
		if got := pausedBy(o); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.notes, got, tt.want)
		}
	}
}

// refused says whether an error is a refusal.
func refused(err error) bool {
	_, no := errors.AsType[*incident.RefusedError](err)
	return no
}

func TestMoreAddsReplicasAndNothingElse(t *testing.T) {
	t.Parallel()
	l := live.Limits{Min: 1, Max: 8}
	for _, req := range []incident.StepRequest{{}, {Add: -1}, {Factor: 2}, {Add: 1, Factor: 2}, {Add: math.MaxInt64}} {
		if _, _, err := addReplicas(2, req, l); !refused(err) {
			t.Errorf("%+v is not refused", req)
		}
	}
	if to, _, err := addReplicas(2, incident.StepRequest{Add: 3}, l); err != nil || to != 5 {
		t.Errorf("2 and 3 more: %d, %v", to, err)
	}
}
