package replicas

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// rollout says how far the workload has followed the wanted number of replicas.
func (w workload) rollout(ctx context.Context, c *kube.Reader, want int64) (incident.Rollout, error) {
	pods, err := countPods(ctx, c, w)
	if err != nil {
		return incident.Rollout{}, err
	}
	return cluster.Followed(w.object, want, w.scale, pods), nil
}

// countPods counts the pods of a kind that does not say itself how many are ready, by the selector of its scale. That
// it has none, or that the bot may not list pods, which it needs for nothing else here, leaves them uncounted.
func countPods(ctx context.Context, c *kube.Reader, w workload) (cluster.PodCount, error) {
	selector := cluster.Text(w.scale, "status", "selector")
	if cluster.ReadyReplicas(w.object) != nil || selector == "" {
		return cluster.PodCount{}, nil
	}
	list, err := c.Select(ctx, podResource, w.ref.Namespace, selector)
	if no, is := errors.AsType[*incident.RefusedError](err); is && no.Cause == incident.CauseRight {
		return cluster.PodCount{}, nil
	}
	if err != nil {
		return cluster.PodCount{}, err
	}
	pods, err := typedPods(list)
	if err != nil {
		return cluster.PodCount{}, fmt.Errorf("the pods of %s: %w", w.ref, err)
	}
	return cluster.CountPods(pods), nil
}

func typedPods(list []unstructured.Unstructured) ([]corev1.Pod, error) {
	out := make([]corev1.Pod, len(list))
	for i := range list {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
