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

// The load says how far a step goes, within what one step may do. A question that is asked stays while the load wavers.
func TestAStepGoesAsFarAsTheLoadNeeds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		req  incident.StepRequest
		want int64
	}{
		"not known":                       {incident.StepRequest{Add: 1}, 4},
		"a little more than there is":     {incident.StepRequest{Add: 1, Times: 1.02}, 4},
		"a third more, and headroom":      {incident.StepRequest{Add: 1, Times: 1.33}, 5},
		"at most double":                  {incident.StepRequest{Add: 1, Times: 40}, 6},
		"at least what the playbook adds": {incident.StepRequest{Add: 2, Times: 1.02}, 5},
		"beyond any number":               {incident.StepRequest{Add: 1, Times: math.MaxFloat64}, 6},
		"one less than is asked":          {incident.StepRequest{Add: 1, Times: 1.33, Asked: 6}, 6},
		"one more than is asked":          {incident.StepRequest{Add: 1, Times: 1.33, Asked: 4}, 4},
		"no longer known":                 {incident.StepRequest{Add: 1, Asked: 5}, 5},
		"two less than is asked":          {incident.StepRequest{Add: 1, Times: 1.01, Asked: 6}, 4},
		"what is asked is there by now":   {incident.StepRequest{Add: 1, Times: 1.01, Asked: 3}, 4},
		"more than double is asked":       {incident.StepRequest{Add: 1, Times: 2, Asked: 7}, 6},
		"a smaller choice of a person":    {incident.StepRequest{Add: 1, Times: 2, Chosen: 4}, 4},
	} {
		if to, _, err := addReplicas(3, tt.req, live.Limits{Min: 1, Max: 20}); err != nil || to != tt.want {
			t.Errorf("%s: %d, %v, want %d", name, to, err, tt.want)
		}
	}
	to, g, err := addReplicas(3, incident.StepRequest{Add: 1, Times: 2}, live.Limits{Min: 1, Max: 20, Step: 2})
	if err != nil || to != 5 || g.Verdict != incident.GuardShrink {
		t.Errorf("with max_step 2: %d, %+v, %v", to, g, err)
	}
	more := incident.StepRequest{Add: 1, Times: 2, Chosen: 7}
	if _, _, err := addReplicas(3, more, live.Limits{Min: 1, Max: 20}); !refused(err) {
		t.Error("a person chose more than is proposed")
	}
}
