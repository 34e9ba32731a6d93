package replicas

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// horizontalPodAutoscaler is Kubernetes' own autoscaler.
func horizontalPodAutoscaler() ownerKind {
	kind := cluster.HPA
	const least = "1"
	return ownerKind{
		AutoscalerKind: kind, filled: least,
		list: func(ctx context.Context, c *kube.Reader, w *workload) ([]unstructured.Unstructured, error) {
			return c.List(ctx, kind.Resource, w.ref.Namespace)
		},
		owner: func(o *unstructured.Unstructured) *owner {
			// minReplicas defaults to 1 in the API server (k8s.io/api autoscaling/v2); maxReplicas is required.
			return &owner{
				resource: kind.Resource, object: o, minField: kind.Minimum, maxField: "maxReplicas", minDefault: 1, filled: least,
			}
		},
	}
}
