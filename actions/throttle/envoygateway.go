package throttle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Envoy Gateway's policy (gateway.envoyproxy.io/v1alpha1 BackendTrafficPolicy, api/v1alpha1 circuitbreaker_types.go
// and ratelimit_types.go).
var policyResource = schema.GroupVersionResource{
	Group: "gateway.envoyproxy.io", Version: "v1alpha1",
	Resource: "backendtrafficpolicies",
}

const (
	envoyGatewayName = "envoy-gateway"
	policyKind       = "BackendTrafficPolicy"
	// parallelField and requestsField are the fields' names in the configuration.
	parallelField = "maxParallelRequests"
	requestsField = "requests"
	// parallelDefault is what an absent maxParallelRequests means. The API server fills it in for every absent field of a
	// circuitBreaker.
	parallelDefault = 1024
)

// envoyGateway limits by a BackendTrafficPolicy.
func envoyGateway() gateway {
	return gateway{
		name: envoyGatewayName, kind: policyKind, find: findPolicy, needs: policyNeeds, list: listPolicies,
		leaf: policyLeaf, fields: policyShapes,
	}
}

// listPolicies names the limits in the policies of a namespace. The API server fills an absent maxParallelRequests in,
// so one that is there may be nobody's choice.
func listPolicies(ctx context.Context, c *kube.Reader, namespace string) ([]incident.ThrottleKnob, error) {
	all, err := c.Installed(ctx, policyResource, policyKind, namespace)
	if err != nil {
		return nil, err
	}
	var out []incident.ThrottleKnob
	for i := range all {
		for _, field := range []string{parallelField, requestsField} {
			if v, err := readLimit(&all[i], field); err != nil || !v.Present {
				continue
			}
			out = append(out, incident.ThrottleKnob{
				Kind: envoyGatewayName, Namespace: all[i].GetNamespace(), Name: all[i].GetName(), Field: field,
			})
		}
	}
	return out, nil
}

// policyLimit is a limit in a BackendTrafficPolicy in front of the pool.
type policyLimit struct {
	limit

	field string
	// unit is what requests are counted by.
	unit string
	// reach is whom the policy limits, and otherRoutes why that is not the pool.
	reach       reach
	otherRoutes error
}

// findPolicy reads the limit. A policy that does not exist is refused with one to apply.
func findPolicy(
	ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target,
) (live.Setting, error) {
	ref, field, err := policyField(pool, at)
	if err != nil {
		return nil, err
	}
	_, found, err := c.Kind(ctx, ref.APIVersion, ref.Kind)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, live.Refused("this cluster has no kind %s in %s: Envoy Gateway is not installed", policyKind,
			ref.APIVersion)
	}
	o, err := c.Get(ctx, policyResource, ref)
	if errors.Is(err, kube.ErrGone) {
		no := live.Refused("%s does not exist; the bot does not create it", ref)
		no.Hint = manifest(ref, field, pool.Knobs.Throttle)
		return nil, fmt.Errorf("%w: %w", kube.ErrGone, no)
	}
	if err != nil {
		return nil, err
	}
	p := &policyLimit{field: field, unit: localUnit(o), limit: limit{
		pool: pool, base: policyBase(o, field),
		now: parallelDefault,
	}}
	p.base.Limits = p.bounds()
	if p.base.Value, err = readLimit(o, field); err != nil {
		var no *incident.RefusedError
		if !errors.As(err, &no) {
			return nil, err
		}
		p.base.Broken, p.base.Unread = no, true
		return p, nil
	}
	if p.base.Value.Present {
		if p.now, err = live.Whole(p.base.Value); err != nil {
			return nil, err
		}
	}
	if at.Name == "" { // an undo does not ask whom the policy limits
		p.reach, p.otherRoutes, err = reachIn(ctx, c, o, pool.HTTPRoute)
	}
	return p, err
}

// policyBase is the field of a policy, without its value.
func policyBase(o *unstructured.Unstructured, field string) live.Field {
	f := live.Field{
		Resource: policyResource, Object: o, Version: o.GetResourceVersion(),
		Target: live.TargetOf(o, incident.Target{Field: throttlePath(field), Setting: field}),
		Read:   func(o *unstructured.Unstructured) (incident.Value, error) { return readLimit(o, field) },
	}
	if field == requestsField {
		f.Path = []string{"f:spec", "f:rateLimit", "f:local", "f:rules"}
		return f
	}
	f.Path = []string{"f:spec", "f:circuitBreaker", "f:" + parallelField}
	f.WhenAbsent = live.Int(parallelDefault).Text
	return f
}

// policyField says which field of which policy is meant.
func policyField(pool incident.Pool, at incident.Target) (incident.WorkloadRef, string, error) {
	ref := incident.WorkloadRef{APIVersion: policyResource.GroupVersion().String(), Kind: policyKind}
	if at.Name != "" {
		ref.Namespace, ref.Name = at.Namespace, at.Name
		return ref, at.Setting, nil
	}
	k := pool.Knobs.Throttle
	if k.Field != parallelField && k.Field != requestsField {
		return ref, "", live.Refused("unsupported field %q (supported: %s, %s)", k.Field, parallelField, requestsField)
	}
	ref.Namespace, ref.Name = k.Namespace, k.Name
	return ref, k.Field, nil
}

// policyNeeds are the rights on the policy, and those to tell whether a policy for a whole Gateway limits the pool's
// route.
func policyNeeds(pool incident.Pool) []kube.Need {
	k := pool.Knobs.Throttle
	policy := kube.Place{Resource: policyResource, Namespace: k.Namespace, Name: k.Name}
	out := kube.Required(policy.Right("get"), policy.Right("patch"))
	if pool.HTTPRoute.IsZero() {
		return out
	}
	route := kube.Place{Resource: routeResource, Namespace: pool.HTTPRoute.Namespace, Name: pool.HTTPRoute.Name}
	others := kube.Place{Resource: policyResource, Namespace: pool.HTTPRoute.Namespace}
	return append(
		out,
		kube.Need{
			Right: route.Right("get"), Optional: true,
			Without: "whether the route of the pool is behind the Gateway of a policy isn't known",
		},
		kube.Need{
			Right: others.Right("list"), Optional: true,
			Without: "a policy for a Gateway that another one overrides for some routes can't be adjusted",
		},
	)
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
			return incident.Value{}, live.Refused("%s of %s cannot be read: %s", throttlePath(field), o.GetName(), err)
		case !found:
			return incident.Value{}, nil
		}
		return live.Int(n), nil
	}
	rule, err := localRule(o)
	if err != nil {
		return incident.Value{}, err
	}
	n, found, err := unstructured.NestedInt64(rule, "limit", "requests")
	if err != nil || !found {
		return incident.Value{}, live.Refused("%s of %s cannot be read", throttlePath(field), o.GetName())
	}
	return live.Int(n), nil
}

// localRule is the first local rate limit. Without one there is nothing to turn: a rule needs a unit and clients,
// which a person has to choose.
func localRule(o *unstructured.Unstructured) (map[string]any, error) {
	if kind := cluster.Text(o, "spec", "rateLimit", "type"); kind != "" && kind != "Local" {
		return nil, live.Refused("%s %s has a rate limit of type %s; only local ones are supported", policyKind, o.GetName(),
			kind)
	}
	rules, _, err := unstructured.NestedSlice(o.Object, "spec", "rateLimit", "local", "rules")
	if err != nil || len(rules) == 0 {
		return nil, &incident.RefusedError{
			Reason: fmt.Sprintf("%s %s has no local rate limit; the bot does not create one", policyKind, o.GetName()),
			Hint: "Add spec.rateLimit.local.rules with one rule whose limit is high enough to have no effect, for " +
				"example {limit: {requests: 1000, unit: Second}}.",
		}
	}
	rule, ok := rules[0].(map[string]any)
	if !ok {
		return nil, live.Refused("the first rate limit of %s %s cannot be read", policyKind, o.GetName())
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

// Propose implements live.Setting.
func (p *policyLimit) Propose(req incident.StepRequest) (incident.Step, error) {
	if err := p.inForce(); err != nil {
		return incident.Step{}, err
	}
	to, bounds, err := p.lowered(req.Limiting(p.field))
	if err != nil {
		return incident.Step{}, err
	}
	guards := append([]incident.Guardrail{bounds}, p.reach.guards()...)
	s := p.step(to, p.reach.String(), p.counted(), p.field, guards...)
	s.Cost, s.Risk = p.cost(), p.risk()
	return s, nil
}

func (p *policyLimit) counted() string {
	switch {
	case p.field == parallelField:
		return "parallel requests"
	case p.unit == "":
		return "requests"
	}
	return "requests per " + p.unit
}

func (p *policyLimit) cost() string {
	status := "503"
	if p.field == requestsField {
		status = "429"
	}
	s := fmt.Sprintf("Requests over the limit (per Envoy replica) get a %s.", status)
	if !p.base.Value.Present {
		s += fmt.Sprintf(" It isn't set now, which means Envoy's default of %d; the rollback removes it again.",
			parallelDefault)
	}
	return s
}

func (p *policyLimit) risk() string {
	s := "Client retries add load."
	if rule, err := localRule(p.base.Object); p.field == requestsField && err == nil && rule["clientSelectors"] != nil {
		s += " The rule has client selectors: only the clients that they name are limited."
	}
	return s
}

// inForce refuses a policy that would limit nothing, or others than the pool.
func (p *policyLimit) inForce() error {
	if p.otherRoutes != nil {
		return p.otherRoutes
	}
	if rule, err := localRule(p.base.Object); p.field == requestsField && err == nil && rule["shadowMode"] == true {
		return live.Refused("the rate limit of %s %s is in shadow mode and limits nobody", policyKind, p.base.Target.Name)
	}
	for _, v := range verdicts(p.base.Object) {
		if v.against() && (v.kind != overridden || !p.reach.rest) {
			return live.Refused("%s %s is not in force: the gateway says %s: %s", policyKind, p.base.Target.Name, v.Reason,
				v.Message)
		}
	}
	return nil
}

// Admit implements live.Setting.
func (p *policyLimit) Admit(to incident.Value) error {
	if err := p.inForce(); err != nil {
		return err
	}
	return p.checkValue(to)
}

// Change implements live.Setting.
func (p *policyLimit) Change(to incident.Value) ([]live.Operation, error) {
	if p.field == requestsField {
		n, err := live.Whole(to)
		if err != nil {
			return nil, err
		}
		rule, err := localRule(p.base.Object)
		if err != nil {
			return nil, err
		}
		at := "/spec/rateLimit/local/rules/0"
		return []live.Operation{live.Test(at, rule), live.Replace(at+"/limit/requests", n)}, nil
	}
	breaker, found, err := unstructured.NestedMap(p.base.Object.Object, "spec", "circuitBreaker")
	if err != nil {
		return nil, live.Refused("spec.circuitBreaker of %s cannot be read: %s", p.base.Target.Name, err)
	}
	at := "/spec/circuitBreaker/" + parallelField
	var out []live.Operation
	if p.base.Value.Present {
		out = append(out, live.Test(at, p.now))
	}
	if !to.Present {
		if onlyOurs(breaker) {
			const all = "/spec/circuitBreaker"
			return append(out, live.Test(all, breaker), live.Remove(all)), nil
		}
		return append(out, live.Remove(at)), nil
	}
	n, err := live.Whole(to)
	if err != nil {
		return nil, err
	}
	if !found {
		return append(out, live.Add("/spec/circuitBreaker", map[string]int64{parallelField: n})), nil
	}
	return append(out, live.Add(at, n)), nil
}

// onlyOurs says that a circuitBreaker holds nothing but our field and what the API server filled in beside it. It
// came with our field and goes with it.
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
		limit = fmt.Sprintf("  rateLimit:\n    type: Local\n    local:\n      rules:\n        - limit:\n            "+
			"requests: %d\n            unit: Second\n", most)
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
