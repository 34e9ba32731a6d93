package replicas

import "github.com/vllm-medic/vllm-medic/internal/cluster"

// kthena is an autoscaler of Kthena. Its minimum is not changed: whether the next turn of its controller follows a
// raised one was not seen on a real one, and a policy may divide one number among several workloads.
func kthena(kind cluster.AutoscalerKind) ownerKind {
	return ownerKind{AutoscalerKind: kind, list: ifInstalled(kind)}
}
