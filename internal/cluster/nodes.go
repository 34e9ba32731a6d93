package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// nodeEvents is the namespace of events about objects that are in none (k8s.io/client-go/tools/record, makeEvent).
const nodeEvents = metav1.NamespaceDefault

// maxNodeChanges bounds how many events of nodes are told.
const maxNodeChanges = 10

// nodeChanges are the recent events about the nodes of a workload's pods: one for each node and reason, the newest.
func (k *Reader) nodeChanges(ctx context.Context, pods []corev1.Pod, now time.Time) ([]incident.RecentChange, error) {
	nodes := nodesOf(pods)
	if len(nodes) == 0 {
		return nil, nil
	}
	found, err := k.eventsWith(ctx, nodeEvents, fields.Set{"involvedObject.kind": "Node"}, func(e *corev1.Event) bool {
		return slices.Contains(nodes, e.InvolvedObject.Name) && recent(eventTime(e), now) && troubling(e)
	})
	var (
		out  []incident.RecentChange
		told = make(map[string]bool)
	)
	for i := range found {
		e := &found[i]
		key := e.InvolvedObject.Name + " " + e.Reason
		if told[key] || len(out) == maxNodeChanges {
			continue
		}
		told[key] = true
		out = append(
			out,
			incident.RecentChange{
				At:     eventTime(e).UTC(),
				Kind:   incident.ChangeNode,
				Object: "Node " + e.InvolvedObject.Name,
				Text:   eventText(e),
			},
		)
	}
	return out, err
}

// nodesOf names the nodes of pods.
func nodesOf(pods []corev1.Pod) []string {
	var out []string
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// troubling leaves out what nodes say when all is well. Much of what matters is not a warning: a node that is not
// ready, or that its provider takes away.
func troubling(e *corev1.Event) bool {
	reason := strings.ToLower(e.Reason)
	for _, fine := range []string{"nodehasno", "nodehassufficient", "disruptionblocked", "unconsolidatable"} {
		if strings.HasPrefix(reason, fine) {
			return false
		}
	}
	if e.Type == corev1.EventTypeWarning {
		return true
	}
	for _, word := range []string{
		"notready", "reboot", "shutdown", "pressure", "insufficient", "notschedulable", "preempt", "spot", "interrupt",
		"terminat", "evict", "drain", "cordon",
		"remov", "delet", "scaledown", "disrupt", "xid", "gpu", "oom", "kernel", "hardware",
	} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}
