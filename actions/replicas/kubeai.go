package replicas

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// kubeai is KubeAI's Model, which scales itself: nothing is listed.
func kubeai() ownerKind {
	return ownerKind{
		AutoscalerKind: cluster.AutoscalerKind{Kind: cluster.ModelKind, Resource: cluster.Models, Minimum: "minReplicas"},
		owner:          model,
	}
}

// model is a Model as the autoscaler that it is.
func model(o *unstructured.Unstructured) *owner {
	// An absent minReplicas means 0, an absent maxReplicas no limit.
	return &owner{
		resource: schema.GroupVersionResource{
			Group: cluster.Models.Group, Version: o.GroupVersionKind().Version,
			Resource: cluster.Models.Resource,
		},
		object: o, minField: "minReplicas", maxField: "maxReplicas", maxDefault: live.Biggest,
	}
}
