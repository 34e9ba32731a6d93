package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rolloutRunning follows kubectl rollout status (polymorphichelpers/rollout_status.go) as far as a kind has the fields,
// with one difference: a pod that fails after a finished rollout does not make it run again. Without any of the fields
// nothing is known to run. want is the number of replicas, which not every kind has in the same place.
func rolloutRunning(obj *unstructured.Unstructured, want *int64) bool {
	seen := Number(obj, "status", "observedGeneration")
	behind := Count(obj, "status", "observedGeneration") < obj.GetGeneration()
	switch kind := obj.GetKind(); {
	case Group(obj.GetAPIVersion()) != "apps":
	case kind == "Deployment": // its controller always writes what it has seen; absent means not yet
		return behind || deploymentRolling(obj)
	case kind == "StatefulSet":
		return behind || Text(obj, "status", "currentRevision") != Text(obj, "status", "updateRevision")
	}
	if seen != nil && behind {
		return true
	}
	updated := Number(obj, "status", "updatedReplicas")
	return want != nil && updated != nil && *updated < *want
}

// deploymentRolling relies on the Deployment controller: a finished rollout has the reason NewReplicaSetAvailable until
// the next one starts. Without that condition (no progress deadline) pods that are not available count as a rollout.
func deploymentRolling(obj *unstructured.Unstructured) bool {
	updated := Count(obj, "status", "updatedReplicas")
	if updated < Count(obj, "spec", "replicas") || Count(obj, "status", "replicas") > updated {
		return true
	}
	if reason := ConditionOf(obj, "Progressing").Reason; reason != "" {
		return reason != "NewReplicaSetAvailable"
	}
	return Count(obj, "status", "availableReplicas") < updated
}
