package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rolloutRunning follows kubectl rollout status (polymorphichelpers/rollout_status.go) as far as a kind has the fields, with one difference:
// a pod that fails after a finished rollout does not make it run again. Without any of the fields nothing is known to run. want is the number of replicas,
// which not every kind has in the same place.
func rolloutRunning(obj *unstructured.Unstructured, want *int64) bool {
	seen := number(obj, "status", "observedGeneration")
	behind := zeroIfAbsent(seen) < obj.GetGeneration()
	switch obj.GetKind() {
	case "Deployment": // its controller always writes what it has seen; absent means not yet
		return behind || deploymentRolling(obj)
	case "StatefulSet":
		return behind || text(obj, "status", "currentRevision") != text(obj, "status", "updateRevision")
	}
	if seen != nil && behind {
		return true
	}
	updated := number(obj, "status", "updatedReplicas")
	return want != nil && updated != nil && *updated < *want
}

// deploymentRolling relies on the Deployment controller: a finished rollout has the reason NewReplicaSetAvailable until the next one starts.
// Without that condition (no progress deadline) pods that are not available count as a rollout.
func deploymentRolling(obj *unstructured.Unstructured) bool {
	updated := zeroIfAbsent(number(obj, "status", "updatedReplicas"))
	if updated < zeroIfAbsent(number(obj, "spec", "replicas")) || zeroIfAbsent(number(obj, "status", "replicas")) > updated {
		return true
	}
	if reason, ok := conditionReason(obj, "Progressing"); ok {
		return reason != "NewReplicaSetAvailable"
	}
	return zeroIfAbsent(number(obj, "status", "availableReplicas")) < updated
}

// conditionReason returns the reason of a status condition.
func conditionReason(obj *unstructured.Unstructured, kind string) (reason string, ok bool) {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return "", false
	}
	for _, c := range conditions {
		if m, isMap := c.(map[string]any); isMap && m["type"] == kind {
			reason, ok = m["reason"].(string)
			return reason, ok
		}
	}
	return "", false
}

// number reads a whole number; nil when it is not there.
func number(obj *unstructured.Unstructured, path ...string) *int64 {
	n, found, err := unstructured.NestedInt64(obj.Object, path...)
	if err != nil || !found {
		return nil
	}
	return &n
}

// text reads a string; empty when it is not there.
func text(obj *unstructured.Unstructured, path ...string) string {
	s, _, err := unstructured.NestedString(obj.Object, path...)
	if err != nil {
		return ""
	}
	return s
}

// zeroIfAbsent is for status counts, which the API server leaves out while they are zero.
func zeroIfAbsent(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
