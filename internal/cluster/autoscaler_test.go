package cluster

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scalerOf makes an autoscaler that aims at Deployment llm/llama, or at what target says.
func scalerOf(version, kind, name string, target map[string]any) unstructured.Unstructured {
	aim := map[string]any{"name": "llama"}
	maps.Copy(aim, target)
	o := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": "llm"},
		"spec": map[string]any{"scaleTargetRef": aim},
	}}
	return o
}

func TestAutoscalersOf(t *testing.T) {
	t.Parallel()
	type list = []unstructured.Unstructured
	keda := func(name string, target map[string]any) unstructured.Unstructured {
		return scalerOf("keda.sh/v1alpha1", ScaledObjectKind, name, target)
	}
	aibrix := func(name string, target map[string]any) unstructured.Unstructured {
		return scalerOf("autoscaling.aibrix.ai/v1alpha1", PodAutoscalerKind, name, target)
	}
	hpa := func(name string) unstructured.Unstructured {
		return scalerOf("autoscaling/v2", HPAKind, name, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"})
	}
	madeBy := func(o unstructured.Unstructured, version, kind, name string) unstructured.Unstructured {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name}})
		return o
	}
	labelled := hpa("keda-hpa-gone")
	labelled.SetLabels(map[string]string{kedaLabel: "gone"})
	named := keda("a", nil)
	named.Object["status"] = map[string]any{"hpaName": "mine"}
	asHPA := aibrix("p", nil)
	asHPA.Object["spec"].(map[string]any)["scalingStrategy"] = "HPA"
	type want struct {
		name, hpa string
		orphan    bool
	}
	for name, tt := range map[string]struct {
		among Candidates
		want  []want
	}{
		"none": {Candidates{}, nil},
		"a HorizontalPodAutoscaler": {
			Candidates{HPAKind: list{hpa("h")}},
			[]want{{"HorizontalPodAutoscaler llm/h", "h", false}},
		},
		"several": {
			Candidates{HPAKind: list{hpa("h"), hpa("i")}},
			[]want{{"HorizontalPodAutoscaler llm/h", "h", false}, {"HorizontalPodAutoscaler llm/i", "i", false}},
		},
		"KEDA, which is paused": {
			Candidates{ScaledObjectKind: list{keda("a", nil)}},
			[]want{{"ScaledObject llm/a", "keda-hpa-a", false}},
		},
		"KEDA with a name of its own": {
			Candidates{ScaledObjectKind: list{named}},
			[]want{{"ScaledObject llm/a", "mine", false}},
		},
		"KEDA and its product": {
			Candidates{
				ScaledObjectKind: list{keda("a", nil)},
				HPAKind:          list{madeBy(hpa("x"), "keda.sh/v1alpha1", "ScaledObject", "a")},
			},
			[]want{{"ScaledObject llm/a", "x", false}},
		},
		"KEDA and the product of another ScaledObject": {
			Candidates{
				ScaledObjectKind: list{keda("a", nil)},
				HPAKind:          list{madeBy(hpa("x"), "keda.sh/v1alpha1", "ScaledObject", "b")},
			},
			[]want{{"ScaledObject llm/a", "keda-hpa-a", false}, {"ScaledObject llm/b", "x", true}},
		},
		"the product of one that is gone": {
			Candidates{HPAKind: list{labelled}},
			[]want{{"ScaledObject llm/gone", "keda-hpa-gone", true}},
		},
		"AIBrix": {Candidates{PodAutoscalerKind: list{aibrix("p", nil)}}, []want{{"PodAutoscaler llm/p", "", false}}},
		"AIBrix with its product": {
			Candidates{
				PodAutoscalerKind: list{asHPA},
				HPAKind:           list{madeBy(hpa("p-hpa"), "autoscaling.aibrix.ai/v1alpha1", "PodAutoscaler", "p")},
			},
			[]want{{"PodAutoscaler llm/p", "p-hpa", false}},
		},
		"KEDA and a HorizontalPodAutoscaler": {
			Candidates{ScaledObjectKind: list{keda("a", nil)}, HPAKind: list{hpa("h")}},
			[]want{{"ScaledObject llm/a", "keda-hpa-a", false}, {"HorizontalPodAutoscaler llm/h", "h", false}},
		},
		"an older version of the target": {
			Candidates{ScaledObjectKind: list{keda("a", map[string]any{"apiVersion": "apps/v1beta1", "kind": "Deployment"})}},
			[]want{{"ScaledObject llm/a", "keda-hpa-a", false}},
		},
		"other targets": {
			Candidates{
				ScaledObjectKind: list{
					keda("a", map[string]any{"name": "other"}), keda("b", map[string]any{"kind": "StatefulSet"}),
					keda("c", map[string]any{"apiVersion": "argoproj.io/v1"}), keda("d", map[string]any{"apiVersion": "a/b/c"}),
				},
				PodAutoscalerKind: list{aibrix("p", map[string]any{"namespace": "elsewhere"})},
			}, nil,
		},
	} {
		w := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama"}
		var got []want
		for _, a := range AutoscalersOf(w, &unstructured.Unstructured{}, tt.among) {
			got = append(got, want{a.String(), a.HPA, a.Object == nil})
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAModelScalesItself(t *testing.T) {
	t.Parallel()
	w := incident.WorkloadRef{APIVersion: "kubeai.org/v1", Kind: "Model", Namespace: "llm", Name: "llama"}
	for name, tt := range map[string]struct {
		version string
		spec    map[string]any
		want    string
	}{
		"by itself":          {"kubeai.org/v1", map[string]any{}, "Model llm/llama"},
		"told not to":        {"kubeai.org/v1", map[string]any{"autoscalingDisabled": true}, ""},
		"not readable":       {"kubeai.org/v1", map[string]any{"autoscalingDisabled": "yes"}, "Model llm/llama"},
		"of another project": {"example.org/v1", map[string]any{}, ""},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": tt.version, "kind": "Model", "metadata": map[string]any{"name": "llama"}, "spec": tt.spec,
		}}
		if got := autoscalerNames(AutoscalersOf(w, o, Candidates{})); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
