package actions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// KubeAI's Model scales itself unless it is told not to (kubeai api/k8s/v1 model_types.go): spec.replicas is its own then.
var modelResource = schema.GroupVersionResource{Group: "kubeai.org", Version: "v1", Resource: "models"}

const modelKind = "Model"

func isModel(o *unstructured.Unstructured) bool {
	return o.GetKind() == modelKind && cluster.Group(o.GetAPIVersion()) == modelResource.Group
}

// modelScaler is a Model as the autoscaler that it is.
func modelScaler(o *unstructured.Unstructured) *scaler {
	// An absent minReplicas means 0, an absent maxReplicas no limit.
	return &scaler{
		resource: schema.GroupVersionResource{Group: modelResource.Group, Version: o.GroupVersionKind().Version, Resource: modelResource.Resource},
		object:   o, minField: "minReplicas", maxField: "maxReplicas", maxDefault: biggest,
	}
}

// scalesItself says whether KubeAI keeps the replicas of the workload; what cannot be read counts as yes.
func scalesItself(o *unstructured.Unstructured) bool {
	if !isModel(o) {
		return false
	}
	disabled, _, err := unstructured.NestedBool(o.Object, "spec", "autoscalingDisabled")
	return err != nil || !disabled
}
