package actions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The Envoy Gateway object that throttles, and Envoy's own limit when the field is absent (gateway.envoyproxy.io/v1alpha1 CircuitBreaker).
const (
	policyVersion  = "gateway.envoyproxy.io/v1alpha1"
	policyKind     = "BackendTrafficPolicy"
	envoysParallel = 1024
)

// throttle turns a limit of an Envoy Gateway BackendTrafficPolicy. The object is never created: who routes what is for people to say.
type throttle struct{}

// throttlePath is where a field of the knob stands in the object.
func throttlePath(name string) []string {
	if name == "requests" {
		return []string{"spec", "rateLimit", "local", "rules", "0", "limit", "requests"}
	}
	return []string{"spec", "circuitBreaker", "maxParallelRequests"}
}

func (throttle) find(ctx context.Context, c *client, pool incident.Pool) (field, error) {
	k := pool.Knobs.Throttle
	if k == nil {
		return field{}, notConfigured(pool, "throttle")
	}
	r, err := c.resource(policyVersion, policyKind)
	if err != nil {
		return field{}, err
	}
	o, err := c.get(ctx, r, k.Namespace, k.Name)
	if missing := (*notFoundError)(nil); errors.As(err, &missing) {
		return field{}, &incident.RefusedError{
			Reason: fmt.Sprintf("%s %s/%s does not exist, and the bot does not create it; apply one first", policyKind, k.Namespace, k.Name), Hint: policyManifest(*k),
		}
	}
	if err != nil {
		return field{}, err
	}
	path := throttlePath(k.Field)
	now, err := readLimit(o, k.Field)
	if err != nil {
		return field{}, err
	}
	return field{
		resource: r, object: o, target: targetOf(o, strings.Join(path, ".")), value: now, ownership: gitOps(o),
		set: func(to incident.Value) ([]patchOp, error) { return setLimit(o, path, now, to) },
	}, nil
}

// readLimit reads the field. An absent rate limit has no rule that could be changed; an absent maxParallelRequests means Envoy's own limit.
func readLimit(o *unstructured.Unstructured, name string) (incident.Value, error) {
	if name == "maxParallelRequests" {
		n, found, err := unstructured.NestedInt64(o.Object, "spec", "circuitBreaker", "maxParallelRequests")
		switch {
		case err != nil:
			return incident.Value{}, &incident.RefusedError{Reason: "spec.circuitBreaker cannot be read: " + err.Error()}
		case !found:
			return incident.Value{}, nil
		}
		return value(n), nil
	}
	rules, _, err := unstructured.NestedSlice(o.Object, "spec", "rateLimit", "local", "rules")
	if err != nil || len(rules) != 1 {
		return incident.Value{}, &incident.RefusedError{
			Reason: fmt.Sprintf("spec.rateLimit.local.rules must hold exactly one rule to be turned; it holds %d", len(rules)),
		}
	}
	rule, ok := rules[0].(map[string]any)
	if !ok {
		return incident.Value{}, &incident.RefusedError{Reason: "spec.rateLimit.local.rules[0] cannot be read"}
	}
	n, found, err := unstructured.NestedInt64(rule, "limit", "requests")
	if err != nil || !found {
		return incident.Value{}, &incident.RefusedError{Reason: "spec.rateLimit.local.rules[0].limit.requests is missing"}
	}
	return value(n), nil
}

// setLimit changes the one field; going back to absence also takes away a circuitBreaker that would be left empty.
func setLimit(o *unstructured.Unstructured, path []string, now, to incident.Value) ([]patchOp, error) {
	pointer := "/" + strings.Join(path, "/")
	parent := "/" + strings.Join(path[:len(path)-1], "/")
	var out []patchOp
	if now.Present {
		n, err := number(now)
		if err != nil {
			return nil, err
		}
		out = append(out, patchOp{"test", pointer, n})
	}
	if !to.Present {
		breaker, _, err := unstructured.NestedMap(o.Object, "spec", "circuitBreaker")
		if err == nil && len(breaker) == 1 {
			return append(out, patchOp{Op: "remove", Path: parent}), nil
		}
		return append(out, patchOp{Op: "remove", Path: pointer}), nil
	}
	n, err := number(to)
	if err != nil {
		return nil, err
	}
	if _, found, err := unstructured.NestedMap(o.Object, "spec", "circuitBreaker"); err == nil && !found && path[1] == "circuitBreaker" {
		return append(out, patchOp{"add", parent, map[string]int64{path[len(path)-1]: n}}), nil
	}
	return append(out, patchOp{"add", pointer, n}), nil
}

func (throttle) next(now field, pool incident.Pool, req incident.StepRequest) (incident.Value, []incident.Guardrail, error) {
	k := pool.Knobs.Throttle
	n := int64(envoysParallel)
	if now.value.Present {
		var err error
		if n, err = number(now.value); err != nil {
			return incident.Value{}, nil, err
		}
	}
	to, err := wanted(n, req)
	if err != nil {
		return incident.Value{}, nil, err
	}
	if to >= n {
		return incident.Value{}, nil, &incident.RefusedError{Reason: "a throttle only lowers the limit; it is raised again by undoing the step"}
	}
	return bounded(n, to, incident.IntKnob{Min: k.Min, Max: k.Max})
}

func (throttle) describe(s *incident.Step, now field, pool incident.Pool) {
	k := pool.Knobs.Throttle
	from := s.From.String()
	if !s.From.Present {
		from = fmt.Sprintf("Envoy's default of %d", envoysParallel)
	}
	s.LiftAfter = k.LiftAfter
	s.Speed = "seconds, without a restart"
	s.Risk = "low: it is a stop-gap, and the bot lifts it when the pool has recovered"
	if k.Field == "requests" {
		s.Title = fmt.Sprintf("Throttle %s from %s to %s requests per unit", pool.Name, from, s.To)
		s.Cost = "requests above the limit get 429; the limit counts in each Envoy replica by itself"
		return
	}
	s.Title = fmt.Sprintf("Throttle %s from %s to %s concurrent requests", pool.Name, from, s.To)
	s.Cost = "requests above the limit get 503; the limit counts in each Envoy replica by itself"
}

// rollout is done when no gateway refuses the policy. Without a word from a controller there is nothing to wait for.
func (throttle) rollout(ctx context.Context, c *client, pool incident.Pool, _ incident.Step, _ incident.Value) (incident.Rollout, error) {
	k := pool.Knobs.Throttle
	if k == nil {
		return incident.Rollout{}, notConfigured(pool, "throttle")
	}
	r, err := c.resource(policyVersion, policyKind)
	if err != nil {
		return incident.Rollout{}, err
	}
	o, err := c.get(ctx, r, k.Namespace, k.Name)
	if err != nil {
		return incident.Rollout{}, err
	}
	ancestors, _, err := unstructured.NestedSlice(o.Object, "status", "ancestors")
	if err != nil {
		return incident.Rollout{}, fmt.Errorf("status of %s: %w", k.Name, err)
	}
	for _, a := range ancestors {
		m, ok := a.(map[string]any)
		if !ok {
			continue
		}
		conditions, _, err := unstructured.NestedSlice(m, "conditions")
		if err != nil {
			return incident.Rollout{}, fmt.Errorf("status of %s: %w", k.Name, err)
		}
		for _, cond := range conditions {
			if x, ok := cond.(map[string]any); ok && x["type"] == "Accepted" && x["status"] == "False" {
				return incident.Rollout{State: incident.RolloutFailed, Note: fmt.Sprintf("the gateway does not accept the policy: %v", x["message"])}, nil
			}
		}
	}
	return incident.Rollout{State: incident.RolloutDone, Note: "The limit is in force."}, nil
}

// policyManifest is what a person can apply so that the throttle has something to turn.
func policyManifest(k incident.ThrottleKnob) string {
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata: {namespace: %s, name: %s}
spec:
  targetRefs:
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}
  circuitBreaker: {maxParallelRequests: %d}
`, policyVersion, policyKind, k.Namespace, k.Name, k.Name, k.Max)
}
