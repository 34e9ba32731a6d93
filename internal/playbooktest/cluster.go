package playbooktest

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// kube is a Kubernetes that says what the test says.
type kube struct{ cluster incident.Cluster }

// Cluster implements evidence.Kube.
func (k kube) Cluster(
	_ context.Context, ref incident.WorkloadRef, _ time.Time, _ incident.ArgumentKnobs,
) incident.Cluster {
	out := k.cluster
	if out.Workload.IsZero() {
		out.Workload = ref
	}
	return out
}

// Owners implements evidence.Kube. Tests name their pool; nothing is looked for.
func (kube) Owners(context.Context, string, string) ([]incident.WorkloadRef, error) {
	return nil, incident.ErrNoWorkload
}

// Named implements evidence.Kube: a test's pods are all in its cluster.
func (kube) Named(context.Context, string, []string) ([]incident.Pod, error) { return nil, nil }

// PodsAt implements evidence.Kube.
func (kube) PodsAt(context.Context, string, string) ([]cluster.PodAddress, error) { return nil, nil }
