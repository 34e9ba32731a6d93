package throttle

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Rollout asks what the gateways say of the policy (Gateway API, PolicyStatus). Without a word from them there is
// nothing to wait for.
func (p *policyLimit) Rollout(_ context.Context, _ incident.Op, _ incident.Value) (incident.Rollout, error) {
	all := verdicts(p.base.Object)
	for _, v := range all {
		switch {
		case v.seen < p.base.Object.GetGeneration() && v.kind == accepted:
			return live.RolloutRunning("The gateway has not seen the change yet."), nil
		case v.against() && (v.kind != overridden || !p.aboveRoutes()):
			return live.RolloutFailed("The gateway does not take the policy: %s: %s", v.Reason, v.Message), nil
		}
	}
	if len(all) == 0 {
		return live.RolloutDone("The policy is written. No gateway reports on it."), nil
	}
	return live.RolloutDone("The gateway has accepted the policy."), nil
}

// aboveRoutes says that the policy is for a Gateway. That another policy overrides it for some of its routes was
// looked at before the write.
func (p *policyLimit) aboveRoutes() bool {
	r, err := reachOf(p.base.Object, incident.RouteRef{})
	return err == nil && slices.ContainsFunc(r.targets, policyTarget.aboveRoutes)
}

// The conditions that say whether a policy is in force. Envoy Gateway sets Overridden beside Accepted when a policy
// of a route or a listener counts in place of this one, be it for some of its routes only; for which it says in no
// field.
const (
	accepted   = "Accepted"
	overridden = "Overridden"
)

// verdict is one of these conditions at one gateway, for the generation that it has seen.
type verdict struct {
	cluster.Condition
	kind string
	seen int64
}

// against says that the policy, or a part of it, is not in force.
func (v verdict) against() bool {
	return v.kind == accepted && v.Status == "False" || v.kind == overridden && v.Status == "True"
}

func verdicts(o *unstructured.Unstructured) []verdict {
	ancestors, _, err := unstructured.NestedSlice(o.Object, "status", "ancestors")
	if err != nil {
		return nil
	}
	var out []verdict
	for _, a := range ancestors {
		m, ok := a.(map[string]any)
		if !ok {
			continue
		}
		conditions, _, err := unstructured.NestedSlice(m, "conditions")
		if err != nil {
			continue
		}
		for _, c := range conditions {
			one, ok := c.(map[string]any)
			if !ok || one["type"] != accepted && one["type"] != overridden {
				continue
			}
			kind, _ := one["type"].(string)
			seen, _ := one["observedGeneration"].(int64)
			out = append(out, verdict{Condition: cluster.ConditionAmong([]any{c}, kind), kind: kind, seen: seen})
		}
	}
	return out
}
