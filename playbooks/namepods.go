package playbooks

import (
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// namePods says at a condition which pods the value is of.
func (c *Catalog) namePods(list []incident.Condition, readings map[string]incident.Reading) []incident.Condition {
	for i, cond := range list {
		if names := c.podsMeant(cond.Signal, readings[cond.Signal]); len(names) > 0 {
			list[i].Seen += " (" + few(names) + ")"
		}
	}
	return list
}

// podsMeant names the pods that a value is of. Nobody is named where there is no other pod, and where the value is that
// of the whole pool.
func (c *Catalog) podsMeant(signal string, r incident.Reading) []string {
	_, apart := c.peers[signal]
	_, side := c.versions[signal]
	_, last := c.last[signal]
	if len(r.Pods) < 2 && !apart && !side && !last {
		return nil
	}
	var names []string
	for _, p := range c.valuesMeant(signal, r) {
		names = append(names, p.Name())
	}
	return names
}

// valuesMeant are the values of the pods that a value is of: all outliers, those that were counted, or the one that was
// picked as the worst.
func (c *Catalog) valuesMeant(signal string, r incident.Reading) []incident.PodValue {
	_, apart := c.peers[signal]
	_, last := c.last[signal]
	meant := slices.Clone(r.Pods)
	switch {
	case !r.HasValue():
		return nil
	case apart, last:
	case counts(r):
		meant = slices.DeleteFunc(meant, func(p incident.PodValue) bool { return p.Value == 0 })
	case c.picks[signal]:
		at := slices.IndexFunc(meant, func(p incident.PodValue) bool { return p.Value == *r.Value })
		meant = meant[max(at, 0) : at+1]
	default:
		return nil
	}
	return meant
}

// counts says that a reading is the number of pods that are 1, the others being 0.
func counts(r incident.Reading) bool {
	sum := 0.0
	for _, p := range r.Pods {
		if p.Value != 0 && p.Value != 1 {
			return false
		}
		sum += p.Value
	}
	return r.Unit == incident.UnitCount && sum == *r.Value
}
