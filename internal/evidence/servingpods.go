package evidence

import (
	"context"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// podsServing are the names of the pods whose engines are scraped, as the readings have them.
func podsServing(ev incident.Evidence) []string {
	var out []string
	for _, p := range ev.Readings[incident.SignalRunning].Pods {
		out = append(out, p.Pod)
	}
	return out
}

// podsKnown are the pods of which Kubernetes tells: the workload's, and those that serve beside it (a canary, the other
// side of a disaggregated pool).
func (c *Collector) podsKnown(
	ctx context.Context, pool incident.Pool, serving []string, cl incident.Cluster,
) []incident.Pod {
	strangers := slices.DeleteFunc(slices.Clone(serving), func(name string) bool {
		return slices.ContainsFunc(cl.Pods, func(p incident.Pod) bool { return p.Name == name })
	})
	if len(strangers) == 0 || len(strangers) == len(serving) || c.kube == nil {
		return cl.Pods
	}
	others, err := c.kube.Named(ctx, pool.Workload.Namespace, strangers)
	if err != nil {
		c.logger.DebugContext(ctx, "pods beside the workload are not known", "pool", pool.Name, "err", err)
	}
	return slices.Concat(cl.Pods, others)
}

// rolesOf are the roles of pods that serve.
func rolesOf(known []incident.Pod, serving []string) []incident.PodRole {
	var out []incident.PodRole
	for _, p := range known {
		if p.Role != "" && slices.Contains(serving, p.Name) {
			out = append(out, incident.PodRole{Pod: p.Name, Role: p.Role})
		}
	}
	return out
}
