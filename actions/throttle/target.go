package throttle

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const (
	targetGuard     = "target"
	gatewayAPI      = "gateway.networking.k8s.io"
	gatewayKind     = "Gateway"
	listenerSetKind = "ListenerSet"
	routeKind       = "HTTPRoute"
)

// policyTarget is one object that a traffic policy limits: a Gateway with all its routes, or a route. It is in the
// policy's own namespace.
type policyTarget struct{ group, kind, name, section string }

// String is "HTTPRoute llama-70b".
func (p policyTarget) String() string {
	if p.section != "" {
		return p.kind + " " + p.name + " (" + p.section + ")"
	}
	return p.kind + " " + p.name
}

// aboveRoutes says that the target is one on which routes hang: a Gateway, a ListenerSet, or one of their listeners.
func (p policyTarget) aboveRoutes() bool { return !strings.HasSuffix(p.kind, "Route") }

// policySelector takes objects of a kind by their labels. wide says that it may take them from other namespaces than
// the policy's; labels is nil when they cannot be read.
type policySelector struct {
	group, kind string
	labels      labels.Selector
	wide        bool
}

// policyTargets are what a policy names, and by which labels it takes further objects (Envoy Gateway api/v1alpha1
// policy_helpers.go).
func policyTargets(o *unstructured.Unstructured) (all []policyTarget, selectors []policySelector, err error) {
	refs, _, err := unstructured.NestedSlice(o.Object, "spec", "targetRefs")
	if err != nil {
		return nil, nil, live.Refused("spec.targetRefs of %s cannot be read: %s", o.GetName(), err)
	}
	if one, found, err := unstructured.NestedMap(o.Object, "spec", "targetRef"); err == nil && found {
		refs = append(refs, one)
	}
	for _, r := range refs {
		m, ok := r.(map[string]any)
		if !ok {
			return nil, nil, live.Refused("spec.targetRefs of %s cannot be read", o.GetName())
		}
		all = append(all, policyTarget{
			group: word(m, "group"), kind: word(m, "kind"), name: word(m, "name"),
			section: word(m, "sectionName"),
		})
	}
	found, _, err := unstructured.NestedSlice(o.Object, "spec", "targetSelectors")
	if err != nil {
		return nil, nil, live.Refused("spec.targetSelectors of %s cannot be read: %s", o.GetName(), err)
	}
	for _, s := range found {
		m, ok := s.(map[string]any)
		if !ok {
			return nil, nil, live.Refused("spec.targetSelectors of %s cannot be read", o.GetName())
		}
		selectors = append(selectors, policySelector{
			group: word(m, "group"), kind: word(m, "kind"), labels: selectorIn(m),
			wide: m["namespaces"] != nil,
		})
	}
	return all, selectors, nil
}

func word(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func selectorIn(m map[string]any) labels.Selector {
	var s metav1.LabelSelector
	only := map[string]any{"matchLabels": m["matchLabels"], "matchExpressions": m["matchExpressions"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(only, &s); err != nil {
		return nil
	}
	out, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil
	}
	return out
}

// reach is whom the policy of a throttle limits.
type reach struct {
	namespace string
	targets   []policyTarget
	selectors []policySelector
	// route is the pool's; zero where it names none. own says that the policy names it, met whether the policy limits
	// it, and doubt why that is not known.
	route incident.RouteRef
	own   bool
	met   incident.Truth
	doubt string
	// rest says that another policy counts for some of the routes, and not for the pool's.
	rest bool
}

// reachOf is as much as the policy itself says. Whether it limits the pool's route is undecided unless it names it,
// or nothing but other routes.
func reachOf(o *unstructured.Unstructured, route incident.RouteRef) (reach, error) {
	r := reach{namespace: o.GetNamespace(), route: route, met: incident.Undecided}
	var err error
	if r.targets, r.selectors, err = policyTargets(o); err != nil || route.IsZero() {
		return r, err
	}
	r.own = slices.ContainsFunc(r.targets, func(t policyTarget) bool {
		return t.kind == routeKind && t.group == gatewayAPI && t.name == route.Name && r.namespace == route.Namespace
	})
	switch {
	case r.own:
		r.met = incident.True
	case len(r.selectors) == 0 && !slices.ContainsFunc(r.targets, policyTarget.aboveRoutes):
		r.met = incident.False
	}
	return r, nil
}

// undecided says that the pool's route has to be read to tell whether the policy limits it.
func (r reach) undecided() bool { return !r.route.IsZero() && r.met == incident.Undecided }

// with decides by the pool's route, as it was read.
func (r reach) with(seen seenRoute) reach {
	r.met, r.doubt = incident.False, ""
	if seen.unread != "" {
		r.met, r.doubt = incident.Undecided, seen.unread
		return r
	}
	decide := func(met incident.Truth, why string) {
		switch {
		case met == incident.True || r.met == incident.True:
			r.met, r.doubt = incident.True, ""
		case met == incident.Undecided && r.met == incident.False:
			r.met, r.doubt = met, why
		}
	}
	for _, t := range r.targets {
		decide(seen.below(r.namespace, t))
	}
	for _, s := range r.selectors {
		decide(seen.taken(r.namespace, s))
	}
	return r
}

// wrong refuses a policy that is for other routes than the pool's.
func (r reach) wrong(o *unstructured.Unstructured, seen seenRoute) error {
	if r.route.IsZero() || r.met != incident.False {
		return nil
	}
	no := live.Refused("%s %s/%s is for %s and not for the pool's route HTTPRoute %s", policyKind, o.GetNamespace(),
		o.GetName(), r, r.route)
	if len(seen.parents) > 0 {
		no.Reason += ", which hangs on " + seen.String()
	}
	no.Hint = "Name a policy whose targetRefs have the pool's route in pools[].knobs.throttle, or correct " +
		"pools[].http_route."
	return no
}

// String names the targets, as the title has them.
func (r reach) String() string {
	var out []string
	for _, t := range r.targets {
		out = append(out, t.String())
	}
	if len(r.selectors) > 0 {
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
		if t.aboveRoutes() {
			return fmt.Sprintf("the policy is for every route of %s: the requests of other models behind it are turned "+
				"away too", t)
		}
	}
	if len(r.selectors) > 0 {
		return "the policy also has targetSelectors: which other routes it limits is not known"
	}
	if !r.own || len(r.targets) < 2 {
		return ""
	}
	return fmt.Sprintf("the policy is for %s: all of them are limited", r)
}

func (r reach) guards() []incident.Guardrail {
	var out []incident.Guardrail
	if r.undecided() {
		out = append(out, live.Caution(targetGuard,
			"whether %s limits the pool's route HTTPRoute %s at all is not known: %s", r, r.route, r.doubt))
	}
	switch others := r.others(); {
	case others != "":
		return append(out, live.Caution(targetGuard, "%s", others))
	case r.own:
		return append(out, live.Pass(targetGuard, "the policy is for %s, the pool's own route", r))
	}
	return append(out, live.Pass(targetGuard,
		"the policy is for %s; the pool names no route (http_route) to compare it with", r))
}
