package admission

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/test/leaves"
)

// keptByServer are the fields that the API server keeps up itself, and the bot's own note.
func keptByServer() []string {
	return []string{
		"metadata.generation", "metadata.managedFields", "metadata.resourceVersion",
		"metadata.annotations." + live.Annotation,
	}
}

// Every field that the API has is changed in turn, taken away, and put beside another one: in objects that have all of
// them, whether an API server would take such an object or not. Only the knob's own field may change.
func TestEachLeafOfAnObjectButTheKnobsOwnIsHeld(t *testing.T) {
	t.Parallel()
	least := Field{Path: []string{"minReplicas"}, Setting: "minReplicas", Filled: "1"}.Shape()
	scale := Field{Path: []string{"replicas"}, Setting: "replicas"}.Shape()
	for name, tt := range map[string]struct {
		of    any
		shape Shape
		// own are the paths of the field. Their values may change, and not go.
		own  []string
		more int
	}{
		"Deployment":  {appsv1.Deployment{}, Argument(flag), []string{"spec.template.spec.containers.1.args.0"}, 700},
		"StatefulSet": {appsv1.StatefulSet{}, Argument(flag), []string{"spec.template.spec.containers.1.args.0"}, 700},
		"HorizontalPodAutoscaler": {
			autoscalingv2.HorizontalPodAutoscaler{}, least, []string{"spec.minReplicas"}, 60,
		},
		"HorizontalPodAutoscaler v1": {
			autoscalingv1.HorizontalPodAutoscaler{}, least, []string{"spec.minReplicas"}, 20,
		},
		"Scale": {autoscalingv1.Scale{}, scale, []string{"spec.replicas"}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := leaves.Filled(tt.of)
			if strings.HasPrefix(tt.shape.ID, "max") {
				withTwoContainers(t, was)
			}
			e := evaluatorOf(t, Policies([]Leaf{{
				Place: kube.Place{
					Resource:  schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "r"},
					Namespace: "llm", Name: "x",
				},
				Shape: tt.shape, Min: 2, Max: 9, Container: "vllm",
			}}, "bot", "medic")[1])
			tried := 0
			for path, is := range leaves.Changes(was) {
				if slices.ContainsFunc(keptByServer(), func(p string) bool { return leaves.Within(path, p) }) {
					continue
				}
				tried++
				ok, err := e.passes(is, was, "llm", "x")
				if own := slices.Contains(tt.own, path); ok != own {
					t.Errorf("%s passes: %v, %v", path, ok, err)
				}
			}
			if tried < tt.more {
				t.Errorf("only %d changes were tried", tried)
			}
			t.Logf("%d changes", tried)
		})
	}
}

// withTwoContainers puts the pool's container beside the one that is there, with the flag on its command line.
func withTwoContainers(t *testing.T, o map[string]any) {
	t.Helper()
	at := o
	for _, name := range []string{"spec", "template", "spec"} {
		at = at[name].(map[string]any) //nolint:forcetypeassert // it was filled
	}
	boxes := at["containers"].([]any)                              //nolint:forcetypeassert // it was filled
	vllm := leaves.Copy(boxes[0]).(map[string]any)                 //nolint:forcetypeassert // a map stays one
	vllm["name"], vllm["command"] = "vllm", []any{"vllm", "serve"} // the rest is as full
	vllm["args"] = []any{"--max-num-batched-tokens=5", "--port", "8000"}
	at["containers"] = append(boxes, vllm)
}
