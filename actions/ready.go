package actions

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// podCount is how many pods of a workload are ready, and how many are not, where they could be counted.
type podCount struct {
	known          bool
	ready, unready int64
}

// rollout says how far the workload has followed the wanted number of replicas.
func (w scaled) rollout(ctx context.Context, c *cluster, want int64) (incident.Rollout, error) {
	pods, err := c.countPods(ctx, w)
	if err != nil {
		return incident.Rollout{}, err
	}
	return follows(w.object, want, w.scale, pods), nil
}

// countPods counts the pods of a kind that does not say itself how many are ready, by the selector of its scale. That it has none, or that the bot may not
// list pods, which it needs for nothing else here, leaves them uncounted.
func (c *cluster) countPods(ctx context.Context, w scaled) (podCount, error) {
	selector := text(w.scale, "status", "selector")
	if _, says := readyReplicas(w.object); says || selector == "" {
		return podCount{}, nil
	}
	list, err := c.dynamic.Resource(podResource).Namespace(w.ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		return podCount{}, nil
	}
	if err != nil {
		return podCount{}, readError(err, right{verb: "list", resource: podResource.Resource, namespace: w.ref.Namespace})
	}
	out := podCount{known: true}
	for i := range list.Items {
		pod := &list.Items[i]
		phase := text(pod, "status", "phase")
		switch {
		case pod.GetDeletionTimestamp() != nil, phase == "Succeeded", phase == "Failed":
			continue
		case condition(pod, "Ready").status == "True":
			out.ready++
		default:
			out.unready++
		}
	}
	return out, nil
}

// readyReplicas is how many replicas a kind says are ready. Deployments and StatefulSets leave the field out while it is zero; of any other kind an absent
// one says nothing.
func readyReplicas(o *unstructured.Unstructured) (n int64, says bool) {
	if group(o.GetAPIVersion()) == "apps" {
		return number(o, "status", "readyReplicas"), true
	}
	for _, path := range [][]string{{"status", "readyReplicas"}, {"status", "availableReplicas"}, {"status", "replicas", "ready"}} {
		if n, found, err := unstructured.NestedInt64(o.Object, path...); err == nil && found {
			return n, true
		}
	}
	return 0, false
}
