package replicas

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// keda is KEDA's ScaledObject.
func keda() ownerKind {
	kind := cluster.KEDA
	return ownerKind{
		AutoscalerKind: kind, list: ifInstalled(kind),
		owner: func(o *unstructured.Unstructured) *owner {
			// minReplicaCount defaults to 0 and maxReplicaCount to 100, in KEDA itself
			// (apis/keda/v1alpha1 scaledobject_types.go).
			return &owner{
				resource: kind.Resource, object: o, minField: kind.Minimum, maxField: "maxReplicaCount", maxDefault: 100,
				stopped: pausedBy(o),
			}
		},
	}
}

// pausedBy says why KEDA does not scale out now (keda-docs, "Pausing autoscaling"): paused-replicas counts whatever
// it holds, the others unless they are false.
func pausedBy(o *unstructured.Unstructured) string {
	for _, key := range []string{
		"autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused",
		"autoscaling.keda.sh/paused-scale-out",
	} {
		v, ok := o.GetAnnotations()[key]
		if !ok {
			continue
		}
		if on, err := strconv.ParseBool(v); key != "autoscaling.keda.sh/paused-replicas" && err == nil && !on {
			continue
		}
		return fmt.Sprintf("ScaledObject %s is paused (%s: %s): the replica count is held intentionally", o.GetName(), key, v)
	}
	return ""
}
