package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxEndedPods bounds how many pods that ended for good are told one by one: a node that refuses pods can leave
// hundreds behind.
const maxEndedPods = 3

// endedForGood says that a pod never runs again and that its owner makes another one in its place. Such pods (evicted,
// refused by a node, done) stay listed until Kubernetes collects them, which can take days. One without a controller is
// not replaced, and stays a pod that should serve.
func endedForGood(pod *corev1.Pod) bool {
	return (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded) &&
		metav1.GetControllerOf(pod) != nil
}

// endedPods are the recent ends of pods as changes, the newest one by one.
func endedPods(pods []corev1.Pod, now time.Time) []incident.RecentChange {
	var out []incident.RecentChange
	for i := range pods {
		p := &pods[i]
		if at := endOfPod(p); endedForGood(p) && recent(at, now) {
			out = append(
				out,
				incident.RecentChange{
					At:     at.UTC(),
					Kind:   incident.ChangeRestart,
					Object: "Pod " + p.Name,
					Text:   "ended for good" + podReason(p) + ", and its owner replaces it",
				},
			)
		}
	}
	slices.SortStableFunc(out, func(a, b incident.RecentChange) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Object, b.Object))
	})
	if n := len(out) - maxEndedPods; n > 0 {
		out = append(out[:maxEndedPods], incident.RecentChange{
			At: out[maxEndedPods].At, Kind: incident.ChangeRestart, Object: "Pods",
			Text: fmt.Sprintf("%d more ended for good, and their owners replace them", n),
		})
	}
	return out
}

func podReason(pod *corev1.Pod) string {
	var parts []string
	for _, s := range []string{pod.Status.Reason, pod.Status.Message} {
		if s = redact.Shown(s); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ": ") + ")"
}

// endOfPod is when a pod ended: the status has no field for it. The end of its last container is best; one that a node
// refused never had any.
func endOfPod(pod *corev1.Pod) time.Time {
	var at time.Time
	later := func(t metav1.Time) {
		if t.After(at) {
			at = t.Time
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Terminated != nil {
			later(s.State.Terminated.FinishedAt)
		}
	}
	if !at.IsZero() {
		return at
	}
	for _, c := range pod.Status.Conditions {
		later(c.LastTransitionTime)
	}
	if at.IsZero() && pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	if at.IsZero() {
		at = pod.CreationTimestamp.Time
	}
	return at
}
