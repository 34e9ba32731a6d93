package playbooks

import (
	"fmt"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// unscheduledFor is how long a pod may wait for a node before the pool counts as smaller than it should be: a node that
// an autoscaler adds takes some minutes. It is our starting value.
const unscheduledFor = 5 * time.Minute

func waitsForNode(p incident.Pod) bool {
	return !p.Ready && !p.Unscheduled.IsZero() && p.Started.IsZero() && !p.Terminating
}

// unscheduled says which pods wait for a node and why, each reason once. It is said at once: without a free GPU more
// replicas help nobody.
func unscheduled(ev incident.Evidence) []string {
	var out, reasons []string
	for _, p := range ev.Cluster.Pods {
		if !waitsForNode(p) || slices.Contains(reasons, p.Unschedulable) {
			continue
		}
		reasons = append(reasons, p.Unschedulable)
		names, since := []string{}, p.Unscheduled
		for _, o := range ev.Cluster.Pods {
			if !waitsForNode(o) || o.Unschedulable != p.Unschedulable {
				continue
			}
			names = append(names, o.Name)
			if o.Unscheduled.Before(since) {
				since = o.Unscheduled
			}
		}
		what := "Pod " + names[0] + " has waited"
		if len(names) > 1 {
			what = fmt.Sprintf("%d pods have waited", len(names))
		}
		waited := incident.FormatDuration(ev.At.Sub(since))
		text := fmt.Sprintf("%s for a node since %s (%s)", what, since.UTC().Format("15:04 UTC"), waited)
		if p.Unschedulable != "" {
			text += ": " + p.Unschedulable
		}
		out = append(out, sentence(text))
	}
	return out
}
