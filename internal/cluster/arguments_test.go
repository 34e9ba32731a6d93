package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestArgsOfAWorkload(t *testing.T) {
	t.Parallel()
	pod := func(args ...string) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Args: args}}}}
	}
	spec := func(args ...any) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "vllm", "args": args}}}}
	}
	for _, tt := range []struct {
		name string
		obj  map[string]any
		pods []corev1.Pod
		want map[string]float64
		gone bool // the token budget is certainly not given
	}{
		{
			"the template",
			map[string]any{"template": spec("--max-num-seqs=3")},
			[]corev1.Pod{pod("--max-num-seqs=4")},
			map[string]float64{"max_num_seqs": 3},
			true,
		},
		{
			"the leaders",
			map[string]any{"leaderWorkerTemplate": map[string]any{
				"leaderTemplate": spec("--max-num-seqs=3"),
				"workerTemplate": spec("--max-num-seqs=4"),
			}},
			nil,
			map[string]float64{"max_num_seqs": 3},
			true,
		},
		{
			"the workers",
			map[string]any{"leaderWorkerTemplate": map[string]any{"workerTemplate": spec("--max-num-seqs=4")}},
			nil,
			map[string]float64{"max_num_seqs": 4},
			true,
		},
		{
			"pods that agree in part",
			map[string]any{},
			[]corev1.Pod{pod("--max-num-seqs=4", "-tp=2"), pod("--max-num-seqs=4", "-tp=4")},
			map[string]float64{"max_num_seqs": 4},
			true,
		},
		{"pods that do not agree", map[string]any{}, []corev1.Pod{pod("-tp=2"), pod()}, nil, false},
		{
			"pods of which one has the budget",
			map[string]any{},
			[]corev1.Pod{pod("-tp=2"), pod("--max-num-batched-tokens=2048")},
			nil, false,
		},
		{
			"a budget that cannot be read",
			map[string]any{"template": spec("--max-num-batched-tokens=$(BUDGET)")},
			nil, nil, false,
		},
		{"nothing", map[string]any{}, nil, nil, false},
	} {
		a := around{obj: &unstructured.Unstructured{Object: map[string]any{"spec": tt.obj}}, pods: tt.pods}
		if diff := cmp.Diff(tt.want, a.args(nil)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		knobs := incident.ArgumentKnobs{incident.StepMaxNumBatchedTokens: {Default: 2048}}
		if n := a.args(knobs)["max_num_batched_tokens"]; (n == 2048) != tt.gone {
			t.Errorf("%s: the budget reads %v; that it is certainly not given: %t", tt.name, n, tt.gone)
		}
	}
}
