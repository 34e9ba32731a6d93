package actions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const targetGuard = "target"

// policyTarget is one object that a traffic policy limits: a Gateway with all its routes, or a route. It is in the policy's own namespace.
type policyTarget struct{ group, kind, name, section string }

// String is "HTTPRoute llama-70b".
func (p policyTarget) String() string {
	if p.section != "" {
		return p.kind + " " + p.name + " (" + p.section + ")"
	}
	return p.kind + " " + p.name
}

func (p policyTarget) is(route incident.RouteRef) bool {
	return p.kind == "HTTPRoute" && p.group == "gateway.networking.k8s.io" && p.name == route.Name
}

// policyTargets are what a policy names; selectors says that it takes further objects by their labels (Envoy Gateway api/v1alpha1 policy_helpers.go).
func policyTargets(o *unstructured.Unstructured) (all []policyTarget, selectors bool, err error) {
	refs, _, err := unstructured.NestedSlice(o.Object, "spec", "targetRefs")
	if err != nil {
		return nil, false, refused("spec.targetRefs of %s cannot be read: %s", o.GetName(), err)
	}
	if one, found, err := unstructured.NestedMap(o.Object, "spec", "targetRef"); err == nil && found {
		refs = append(refs, one)
	}
	for _, r := range refs {
		m, ok := r.(map[string]any)
		if !ok {
			return nil, false, refused("spec.targetRefs of %s cannot be read", o.GetName())
		}
		get := func(key string) string {
			s, _ := m[key].(string)
			return s
		}
		all = append(all, policyTarget{group: get("group"), kind: get("kind"), name: get("name"), section: get("sectionName")})
	}
	_, selectors, _ = unstructured.NestedFieldNoCopy(o.Object, "spec", "targetSelectors")
	return all, selectors, nil
}

// reach is whom the policy of a throttle limits.
type reach struct {
	targets   []policyTarget
	selectors bool
	// own says that the pool's route is named among the targets; asked, that the pool names a route at all.
	own, asked bool
}

// reachOf refuses a policy that is for other routes than the pool's.
func reachOf(o *unstructured.Unstructured, route incident.RouteRef) (reach, error) {
	var r reach
	var err error
	if r.targets, r.selectors, err = policyTargets(o); err != nil {
		return r, err
	}
	r.asked = !route.IsZero()
	gateway := false
	for _, t := range r.targets {
		gateway = gateway || t.kind == "Gateway"
		r.own = r.own || t.is(route) && route.Namespace == o.GetNamespace()
	}
	if !r.asked || r.own || gateway {
		return r, nil
	}
	no := refused("%s %s/%s is for %s and not for the pool's route HTTPRoute %s", policyKind, o.GetNamespace(), o.GetName(), r, route)
	no.Hint = "Name a policy whose targetRefs have the pool's route in pools[].knobs.throttle, or correct pools[].http_route."
	return r, no
}

// String names the targets, as the title has them.
func (r reach) String() string {
	var out []string
	for _, t := range r.targets {
		out = append(out, t.String())
	}
	if r.selectors {
		out = append(out, "what its targetSelectors select")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " and ")
}

// others says who is limited beside the pool's route; empty when nobody is known to be.
func (r reach) others() string {
	for _, t := range r.targets {
		if t.kind == "Gateway" {
			return fmt.Sprintf("the policy is for every route of %s: the requests of other models behind it are turned away too", t)
		}
	}
	if r.selectors {
		return "the policy also has targetSelectors: which other routes it limits is not known"
	}
	if !r.own || len(r.targets) < 2 {
		return ""
	}
	return fmt.Sprintf("the policy is for %s: all of them are limited", r)
}

func (r reach) guard() incident.Guardrail {
	switch others := r.others(); {
	case others != "":
		return caution(targetGuard, "%s", others)
	case r.own:
		return pass(targetGuard, "the policy is for %s, the pool's own route", r)
	}
	return pass(targetGuard, "the policy is for %s; the pool names no route (http_route) to compare it with", r)
}
