package evidence

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Kube reads a cluster; *cluster.Reader does, and says what each method promises.
type Kube interface {
	Cluster(
		ctx context.Context, ref incident.WorkloadRef, now time.Time, knobs incident.ArgumentKnobs,
	) incident.Cluster
	Owners(ctx context.Context, namespace, pod string) ([]incident.WorkloadRef, error)
	Named(ctx context.Context, namespace string, pods []string) ([]incident.Pod, error)
	PodsAt(ctx context.Context, namespace, ip string) ([]cluster.PodAddress, error)
}
