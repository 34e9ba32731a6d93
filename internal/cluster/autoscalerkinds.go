package cluster

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds that set a number of replicas: Kubernetes' own, KEDA's (keda apis/keda/v1alpha1/scaledobject_types.go),
// AIBrix' (aibrix api/autoscaling/v1alpha1), and KubeAI's Model, which scales itself unless it is told not to (kubeai
// api/k8s/v1).
const (
	HPAKind           = "HorizontalPodAutoscaler"
	ScaledObjectKind  = "ScaledObject"
	PodAutoscalerKind = "PodAutoscaler"
	ModelKind         = "Model"
)

// Where these kinds are.
var (
	HPAs           = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	ScaledObjects  = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	PodAutoscalers = schema.GroupVersionResource{
		Group:    "autoscaling.aibrix.ai",
		Version:  "v1alpha1",
		Resource: "podautoscalers",
	}
	Models = schema.GroupVersionResource{Group: "kubeai.org", Version: "v1", Resource: "models"}
)

// kedaLabel is what KEDA puts on the autoscaler that it makes.
const kedaLabel = "scaledobject.keda.sh/name"

// AutoscalerKind is a kind of object that sets the replicas of the workload in its spec.scaleTargetRef, or where it
// names its targets.
type AutoscalerKind struct {
	Kind     string
	Resource schema.GroupVersionResource
	// Only is the API group of the workloads that it scales; empty for any.
	Only string
	// targets are what an object of this kind scales; nil where spec.scaleTargetRef says it.
	targets func(*unstructured.Unstructured) []autoscalerTarget
	// Minimum is its field under spec for the least number of replicas; empty where that depends on the target.
	Minimum string
	// hpaOf names the HorizontalPodAutoscaler that an object of this kind makes; empty when it makes none. label is what
	// it puts on that one, where its owner reference may be missing; empty when nothing.
	hpaOf func(*unstructured.Unstructured) string
	label string
	// reasons are those of its own events that say that it has scaled.
	reasons []string
}

// autoscalerTarget is a workload that an autoscaler scales, with the field for its least number of replicas.
type autoscalerTarget struct{ apiVersion, kind, namespace, name, minimum string }

// Scales says whether objects of this kind scale workloads of an API group at all.
func (k AutoscalerKind) Scales(group string) bool { return k.Only == "" || k.Only == group }

// The kinds that are known: a row each.
var (
	// HPA is Kubernetes' own. The others may make one.
	HPA = AutoscalerKind{
		Kind: HPAKind, Resource: HPAs, Minimum: "minReplicas", reasons: []string{"SuccessfulRescale"},
	}
	// KEDA is its ScaledObject.
	KEDA = AutoscalerKind{
		Kind: ScaledObjectKind, Resource: ScaledObjects, Minimum: "minReplicaCount", label: kedaLabel,
		hpaOf: func(o *unstructured.Unstructured) string { // KEDA's own default
			return cmp.Or(Text(o, "status", "hpaName"), "keda-hpa-"+o.GetName())
		},
		reasons: []string{"KEDAScaleTargetActivated", "KEDAScaleTargetDeactivated"},
	}
	// AIBrix is its PodAutoscaler, whose events are those of an autoscaler.
	AIBrix = AutoscalerKind{
		Kind: PodAutoscalerKind, Resource: PodAutoscalers, Minimum: "minReplicas",
		hpaOf: func(o *unstructured.Unstructured) string {
			if Text(o, "spec", "scalingStrategy") == "HPA" {
				return o.GetName() + "-hpa" // AIBrix' own name for it
			}
			return ""
		},
		reasons: HPA.reasons,
	}
)

// InstalledAutoscalers are the kinds that a cluster need not have.
func InstalledAutoscalers() []AutoscalerKind {
	return []AutoscalerKind{KEDA, AIBrix, KthenaPolicy, KthenaBinding}
}
