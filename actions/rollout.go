package actions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// workloadRollout follows kubectl's rules of "rollout status" for Deployments and StatefulSets; other kinds count as done when all their
// replicas are ready. A status of an older generation says nothing yet.
func workloadRollout(o *unstructured.Unstructured) incident.Rollout {
	count := func(path ...string) int64 {
		n, _, err := unstructured.NestedInt64(o.Object, path...)
		if err != nil {
			return -1
		}
		return n
	}
	running := func(format string, args ...any) incident.Rollout {
		return incident.Rollout{State: incident.RolloutRunning, Note: fmt.Sprintf(format, args...)}
	}
	if o.GetDeletionTimestamp() != nil {
		return incident.Rollout{State: incident.RolloutFailed, Note: "the workload is being deleted"}
	}
	if seen, found, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); err != nil || (found && seen < o.GetGeneration()) || (!found && o.GetGeneration() > 0) {
		return running("the controller has not seen the change yet")
	}
	want := count("spec", "replicas")
	switch o.GetKind() {
	case "Deployment":
		if reason := deadline(o); reason != "" {
			return incident.Rollout{State: incident.RolloutFailed, Note: reason}
		}
		updated, all, available := count("status", "updatedReplicas"), count("status", "replicas"), count("status", "availableReplicas")
		switch {
		case updated < want:
			return running("%d of %d replicas updated", updated, want)
		case all > updated:
			return running("%d old replicas are still there", all-updated)
		case available < updated:
			return running("%d of %d replicas available", available, updated)
		}
	default:
		ready := count("status", "readyReplicas")
		if ready < want || count("status", "replicas") != want {
			return running("%d of %d replicas ready", ready, want)
		}
		current, _, err1 := unstructured.NestedString(o.Object, "status", "currentRevision")
		update, _, err2 := unstructured.NestedString(o.Object, "status", "updateRevision")
		if err1 != nil || err2 != nil || current != update {
			return running("some replicas have the old revision")
		}
	}
	return incident.Rollout{State: incident.RolloutDone, Note: fmt.Sprintf("%d replicas are ready.", want)}
}

// deadline returns why a Deployment's rollout has failed, or "".
func deadline(o *unstructured.Unstructured) string {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if ok && m["type"] == "Progressing" && m["reason"] == "ProgressDeadlineExceeded" {
			return fmt.Sprintf("the progress deadline was exceeded: %v", m["message"])
		}
	}
	return ""
}
