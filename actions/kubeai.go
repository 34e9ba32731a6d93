package actions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// modelScaler is a Model as the autoscaler that it is.
func modelScaler(o *unstructured.Unstructured) *scaler {
	// An absent minReplicas means 0, an absent maxReplicas no limit.
	return &scaler{
		resource: schema.GroupVersionResource{Group: cluster.Models.Group, Version: o.GroupVersionKind().Version, Resource: cluster.Models.Resource},
		object:   o, minField: "minReplicas", maxField: "maxReplicas", maxDefault: biggest,
	}
}
