package actions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// rollout says how far the workload has followed the wanted number of replicas.
func (w scaled) rollout(ctx context.Context, c *kube, want int64) (incident.Rollout, error) {
	pods, err := c.countPods(ctx, w)
	if err != nil {
		return incident.Rollout{}, err
	}
	return cluster.Followed(w.object, want, w.scale, pods), nil
}

// countPods counts the pods of a kind that does not say itself how many are ready, by the selector of its scale. That it has none, or that the bot may not
// list pods, which it needs for nothing else here, leaves them uncounted.
func (c *kube) countPods(ctx context.Context, w scaled) (cluster.PodCount, error) {
	selector := cluster.Text(w.scale, "status", "selector")
	if cluster.ReadyReplicas(w.object) != nil || selector == "" {
		return cluster.PodCount{}, nil
	}
	list, err := c.dynamic.Resource(podResource).Namespace(w.ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		return cluster.PodCount{}, nil
	}
	if err != nil {
		return cluster.PodCount{}, readError(err, right{verb: "list", resource: podResource.Resource, namespace: w.ref.Namespace})
	}
	pods := make([]corev1.Pod, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pods[i]); err != nil {
			return cluster.PodCount{}, fmt.Errorf("the pods of %s: %w", w.ref, err)
		}
	}
	return cluster.CountPods(pods), nil
}
