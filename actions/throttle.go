package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Envoy Gateway's policy (gateway.envoyproxy.io/v1alpha1 BackendTrafficPolicy, api/v1alpha1 circuitbreaker_types.go and ratelimit_types.go).
var policyResource = schema.GroupVersionResource{Group: "gateway.envoyproxy.io", Version: "v1alpha1", Resource: "backendtrafficpolicies"}

const (
	policyKind = "BackendTrafficPolicy"
	// envoyGateway is the mechanism's name in the configuration.
	envoyGateway = "envoy-gateway"
	// parallelField and requestsField are the fields' names in the configuration.
	parallelField = "maxParallelRequests"
	requestsField = "requests"
	// parallelDefault is what an absent maxParallelRequests means. The API server fills it in for every absent field of a circuitBreaker.
	parallelDefault = 1024
)

// throttle lowers a limit of a BackendTrafficPolicy in front of the pool.
type throttle struct {
	pool  incident.Pool
	field string
	base  live
	// now is the limit in force, unit what requests are counted by.
	now  int64
	unit string
	// reach is whom the policy limits, and elsewhere why that is not the pool.
	reach     reach
	elsewhere error
}

// findThrottle reads the limit. A policy that is not there is refused with one to apply.
func findThrottle(ctx context.Context, c *kube, pool incident.Pool, at incident.Target) (subject, error) {
	ref, field, err := throttleAt(pool, at)
	if err != nil {
		return nil, err
	}
	_, found, err := c.kind(ctx, ref.APIVersion, ref.Kind)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, refused("this cluster has no kind %s in %s: Envoy Gateway is not installed", policyKind, ref.APIVersion)
	}
	o, err := c.get(ctx, policyResource, ref)
	if errors.Is(err, errGone) {
		no := &incident.RefusedError{Reason: fmt.Sprintf("there is no %s, and the bot makes none", ref), Hint: manifest(ref, field, pool.Knobs.Throttle)}
		return nil, fmt.Errorf("%w: %w", errGone, no)
	}
	if err != nil {
		return nil, err
	}
	t := &throttle{pool: pool, field: field, base: live{
		resource: policyResource, object: o, version: o.GetResourceVersion(), target: targetOf(o, incident.Target{Field: throttlePath(field), Setting: field}),
		path: []string{"f:spec", "f:circuitBreaker", "f:" + parallelField}, whenAbsent: intValue(parallelDefault).Text,
	}}
	if field == requestsField {
		t.base.path, t.base.whenAbsent = []string{"f:spec", "f:rateLimit", "f:local", "f:rules"}, ""
	}
	t.base.read = func(o *unstructured.Unstructured) (incident.Value, error) { return readLimit(o, field) }
	if t.base.value, err = readLimit(o, field); err != nil {
		var no *incident.RefusedError
		if !errors.As(err, &no) {
			return nil, err
		}
		t.base.broken, t.base.unread = no, true
		return t, nil
	}
	t.now, t.unit = parallelDefault, localUnit(o)
	if t.base.value.Present {
		if t.now, err = whole(t.base.value); err != nil {
			return nil, err
		}
	}
	if at.Name == "" { // an undo does not ask whom the policy limits
		t.reach, t.elsewhere, err = c.reach(ctx, o, pool.HTTPRoute)
	}
	return t, err
}

// throttleAt says which field of which policy is meant.
func throttleAt(pool incident.Pool, at incident.Target) (incident.WorkloadRef, string, error) {
	ref := incident.WorkloadRef{APIVersion: policyResource.GroupVersion().String(), Kind: policyKind}
	if at.Name != "" {
		ref.Namespace, ref.Name = at.Namespace, at.Name
		return ref, at.Setting, nil
	}
	k := pool.Knobs.Throttle
	if k == nil {
		return ref, "", configured(pool, incident.StepThrottle)
	}
	if k.Kind != envoyGateway {
		return ref, "", refused("throttles of kind %q are not known; only %s is", k.Kind, envoyGateway)
	}
	if k.Field != parallelField && k.Field != requestsField {
		return ref, "", refused("the field %q is not turned; only %s and %s are", k.Field, parallelField, requestsField)
	}
	ref.Namespace, ref.Name = k.Namespace, k.Name
	return ref, k.Field, nil
}

// throttlePath is the field as a person reads it.
func throttlePath(field string) string {
	if field == requestsField {
		return "spec.rateLimit.local.rules[0].limit.requests"
	}
	return "spec.circuitBreaker.maxParallelRequests"
}

func readLimit(o *unstructured.Unstructured, field string) (incident.Value, error) {
	if field == parallelField {
		n, found, err := unstructured.NestedInt64(o.Object, "spec", "circuitBreaker", parallelField)
		switch {
		case err != nil:
			return incident.Value{}, refused("%s of %s cannot be read: %s", throttlePath(field), o.GetName(), err)
		case !found:
			return incident.Value{}, nil
		}
		return intValue(n), nil
	}
	rule, err := localRule(o)
	if err != nil {
		return incident.Value{}, err
	}
	n, found, err := unstructured.NestedInt64(rule, "limit", "requests")
	if err != nil || !found {
		return incident.Value{}, refused("%s of %s cannot be read", throttlePath(field), o.GetName())
	}
	return intValue(n), nil
}

// localRule is the first local rate limit. Without one there is nothing to turn: a rule needs a unit and clients, which a person has to choose.
func localRule(o *unstructured.Unstructured) (map[string]any, error) {
	if kind := cluster.Text(o, "spec", "rateLimit", "type"); kind != "" && kind != "Local" {
		return nil, refused("%s %s has a rate limit of type %s; only local ones are turned", policyKind, o.GetName(), kind)
	}
	rules, _, err := unstructured.NestedSlice(o.Object, "spec", "rateLimit", "local", "rules")
	if err != nil || len(rules) == 0 {
		return nil, &incident.RefusedError{
			Reason: fmt.Sprintf("%s %s has no local rate limit, and the bot makes none", policyKind, o.GetName()),
			Hint:   "Add spec.rateLimit.local.rules with one rule whose limit does not bite, for example {limit: {requests: 1000, unit: Second}}.",
		}
	}
	rule, ok := rules[0].(map[string]any)
	if !ok {
		return nil, refused("the first rate limit of %s %s cannot be read", policyKind, o.GetName())
	}
	return rule, nil
}

func localUnit(o *unstructured.Unstructured) string {
	rule, err := localRule(o)
	if err != nil {
		return ""
	}
	unit, _, err := unstructured.NestedString(rule, "limit", "unit")
	if err != nil {
		return ""
	}
	return strings.ToLower(unit)
}

func (t *throttle) live() live { return t.base }

func (t *throttle) propose(req incident.StepRequest) (incident.Step, error) {
	if err := t.inForce(); err != nil {
		return incident.Step{}, err
	}
	asked, err := times(t.now, req)
	if err != nil {
		return incident.Step{}, err
	}
	if asked > t.now {
		return incident.Step{}, refused("a throttle only lowers the limit; it is raised again by undoing the step")
	}
	to, bounds, err := t.limits().turn(t.now, asked)
	if err != nil {
		return incident.Step{}, err
	}
	from := ""
	if t.base.value.Present {
		from = fmt.Sprintf("%s: %d", t.field, t.now)
	}
	s := incident.Step{
		To:         intValue(to),
		Title:      fmt.Sprintf("Throttle %s from %d to %d %s", t.reach, t.now, to, t.counted()),
		Diff:       unified(t.base.target, from, fmt.Sprintf("%s: %d", t.field, to)),
		Cost:       t.cost(to),
		Speed:      "Seconds, without a restart.",
		Risk:       t.risk(),
		Guardrails: slices.Concat([]incident.Guardrail{bounds}, t.reach.guards(), []incident.Guardrail{ownership(t.base, keptNowhere)}),
	}
	if k := t.pool.Knobs.Throttle; k != nil {
		s.LiftAfter = k.LiftAfter
	}
	return s, nil
}

func (t *throttle) counted() string {
	switch {
	case t.field == parallelField:
		return "parallel requests"
	case t.unit == "":
		return "requests"
	}
	return "requests per " + t.unit
}

func (t *throttle) cost(to int64) string {
	status := "503"
	if t.field == requestsField {
		status = "429"
	}
	s := fmt.Sprintf("Requests to %s beyond the limit are answered with %s. Every Envoy replica counts for itself: with N of them up to N times %d get through.", t.reach, status, to)
	if !t.base.value.Present {
		s += fmt.Sprintf(" The field is absent now, which means Envoy's default of %d; the undo takes it away again.", parallelDefault)
	}
	return s
}

func (t *throttle) risk() string {
	s := "Low: it is a stop-gap that is lifted again. Clients that retry at once make more load."
	if rule, err := localRule(t.base.object); t.field == requestsField && err == nil && rule["clientSelectors"] != nil {
		s += " The rule has client selectors: only the clients that they name are limited."
	}
	return s
}

// inForce refuses a policy that would limit nothing, or others than the pool.
func (t *throttle) inForce() error {
	if t.elsewhere != nil {
		return t.elsewhere
	}
	if rule, err := localRule(t.base.object); t.field == requestsField && err == nil && rule["shadowMode"] == true {
		return refused("the rate limit of %s %s is in shadow mode and limits nobody", policyKind, t.base.target.Name)
	}
	for _, v := range verdicts(t.base.object) {
		if v.against() && (v.kind != overridden || !t.reach.rest) {
			return refused("%s %s is not in force: the gateway says %s: %s", policyKind, t.base.target.Name, v.Reason, v.Message)
		}
	}
	return nil
}

func (t *throttle) limits() limits {
	k := t.pool.Knobs.Throttle
	if k == nil {
		return limits{}
	}
	return limits{min: max(k.Min, 1), max: k.Max}
}

func (t *throttle) admit(to incident.Value) error {
	n, err := whole(to)
	if err != nil {
		return err
	}
	if err := t.inForce(); err != nil {
		return err
	}
	if g := ownership(t.base, keptNowhere); g.Verdict == incident.GuardRefuse {
		return refused("%s", g.Reason)
	}
	return t.limits().within(n)
}

func (t *throttle) change(to incident.Value) ([]operation, error) {
	if t.field == requestsField {
		n, err := whole(to)
		if err != nil {
			return nil, err
		}
		rule, err := localRule(t.base.object)
		if err != nil {
			return nil, err
		}
		at := "/spec/rateLimit/local/rules/0"
		return []operation{{"test", at, rule}, {"replace", at + "/limit/requests", n}}, nil
	}
	breaker, found, err := unstructured.NestedMap(t.base.object.Object, "spec", "circuitBreaker")
	if err != nil {
		return nil, refused("spec.circuitBreaker of %s cannot be read: %s", t.base.target.Name, err)
	}
	at := "/spec/circuitBreaker/" + parallelField
	var out []operation
	if t.base.value.Present {
		out = append(out, operation{"test", at, t.now})
	}
	if !to.Present {
		if onlyOurs(breaker) {
			const all = "/spec/circuitBreaker"
			return append(out, operation{"test", all, breaker}, operation{Op: "remove", Path: all}), nil
		}
		return append(out, operation{Op: "remove", Path: at}), nil
	}
	n, err := whole(to)
	if err != nil {
		return nil, err
	}
	if !found {
		return append(out, operation{"add", "/spec/circuitBreaker", map[string]int64{parallelField: n}}), nil
	}
	return append(out, operation{"add", at, n}), nil
}

// onlyOurs says that a circuitBreaker holds nothing but our field and what the API server filled in beside it. It came with our field and goes with it.
func onlyOurs(breaker map[string]any) bool {
	for name, v := range breaker {
		if name != parallelField && v != int64(parallelDefault) {
			return false
		}
	}
	return true
}

// manifest is a policy to apply: a person has to say which route it is for.
func manifest(ref incident.WorkloadRef, field string, k *incident.ThrottleKnob) string {
	most := int64(parallelDefault)
	if k != nil {
		most = k.Max
	}
	limit := fmt.Sprintf("  circuitBreaker:\n    maxParallelRequests: %d\n", most)
	if field == requestsField {
		limit = fmt.Sprintf("  rateLimit:\n    type: Local\n    local:\n      rules:\n        - limit:\n            requests: %d\n            unit: Second\n", most)
	}
	return fmt.Sprintf(`Apply one like this, with the name of the pool's own route:

apiVersion: %s
kind: %s
metadata:
  namespace: %s
  name: %s
spec:
  targetRefs:
    - group: gateway.networking.k8s.io
      kind: HTTPRoute
      name: %s
%s`, ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, ref.Name, limit)
}
