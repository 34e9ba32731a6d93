package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var routeResource = schema.GroupVersionResource{Group: gatewayAPI, Version: "v1", Resource: "httproutes"}

// seenRoute is the pool's HTTPRoute, as far as it says which policies limit it.
type seenRoute struct {
	incident.RouteRef

	labels  labels.Set
	parents []parent
	// unread says why it could not be read; empty when it was.
	unread string
}

// parent is a Gateway, a ListenerSet or one of their listeners on which a route hangs.
type parent struct {
	policyTarget

	namespace string
}

// String is "Gateway llm/eg".
func (p parent) String() string {
	p.name = p.namespace + "/" + p.name
	return p.policyTarget.String()
}

// String names the parents.
func (s seenRoute) String() string {
	out := make([]string, len(s.parents))
	for i, p := range s.parents {
		out[i] = p.String()
	}
	return strings.Join(out, " and ")
}

// below says whether the route hangs on the target of a policy in a namespace, and why that is not known.
func (s seenRoute) below(namespace string, t policyTarget) (met incident.Truth, why string) {
	if !t.aboveRoutes() {
		return incident.False, ""
	}
	met = incident.False
	for _, p := range s.parents {
		switch same := p.group == t.group && p.kind == t.kind && p.name == t.name && p.namespace == namespace; {
		case same && (t.section == "" || t.section == p.section):
			return incident.True, ""
		case same && p.section == "":
			met, why = incident.Undecided, fmt.Sprintf("the route does not say on which listeners of %s it hangs", p)
		case t.kind == gatewayKind && p.kind != gatewayKind:
			met, why = incident.Undecided, fmt.Sprintf("it hangs on %s, and of which Gateway that is is not looked at", p)
		}
	}
	return met, why
}

// taken says whether a policy in a namespace takes the route by its labels, or what it hangs on, and why that is not
// known.
func (s seenRoute) taken(namespace string, by policySelector) (met incident.Truth, why string) {
	switch {
	case by.labels == nil:
		return incident.Undecided, "its targetSelectors cannot be read"
	case by.kind != routeKind && strings.HasSuffix(by.kind, "Route"):
		return incident.False, ""
	case by.kind != routeKind:
		return incident.Undecided, fmt.Sprintf("its targetSelectors select objects of kind %s, whose labels are not "+
			"looked at", by.kind)
	case !by.labels.Matches(s.labels):
		return incident.False, ""
	case s.Namespace == namespace:
		return incident.True, ""
	case by.wide:
		return incident.Undecided, "its targetSelectors select routes of other namespaces, which those have to allow"
	}
	return incident.False, ""
}

// readRoute reads the pool's route. Without the right to read it, what it says is not known.
func readRoute(ctx context.Context, c *kube.Reader, at incident.RouteRef) (seenRoute, error) {
	ref := incident.WorkloadRef{
		APIVersion: routeResource.GroupVersion().String(), Kind: routeKind,
		Namespace: at.Namespace, Name: at.Name,
	}
	o, err := c.Get(ctx, routeResource, ref)
	var no *incident.RefusedError
	switch {
	case errors.Is(err, kube.ErrGone):
		return seenRoute{}, &incident.RefusedError{
			Reason: fmt.Sprintf("the pool's route %s does not exist", ref),
			Hint:   "Correct pools[].http_route.",
		}
	case errors.As(err, &no) && no.Cause == incident.CauseRight:
		return seenRoute{RouteRef: at, unread: no.Reason}, nil
	case err != nil:
		return seenRoute{}, err
	}
	refs, _, err := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	if err != nil {
		return seenRoute{}, live.Refused("spec.parentRefs of %s cannot be read: %s", ref, err)
	}
	out := seenRoute{RouteRef: at, labels: o.GetLabels()}
	for _, r := range refs {
		m, ok := r.(map[string]any)
		if !ok {
			return seenRoute{}, live.Refused("spec.parentRefs of %s cannot be read", ref)
		}
		p := parent{
			policyTarget{gatewayAPI, gatewayKind, word(m, "name"), word(m, "sectionName")},
			at.Namespace,
		} // the Gateway API's defaults
		if group, ok := m["group"].(string); ok {
			p.group = group
		}
		if kind, ok := m["kind"].(string); ok {
			p.kind = kind
		}
		if namespace, ok := m["namespace"].(string); ok {
			p.namespace = namespace
		}
		out.parents = append(out.parents, p)
	}
	return out, nil
}

// reachIn finds out whom a policy limits. wrong refuses one that does not limit the pool's route.
func reachIn(
	ctx context.Context, c *kube.Reader, o *unstructured.Unstructured, route incident.RouteRef,
) (r reach, wrong, err error) {
	if r, wrong = reachOf(o, route); wrong != nil {
		return r, wrong, nil
	}
	seen := seenRoute{RouteRef: route}
	if r.undecided() {
		var no *incident.RefusedError
		if seen, err = readRoute(ctx, c, route); errors.As(err, &no) {
			return r, no, nil
		}
		if err != nil {
			return r, nil, err
		}
		r = r.with(seen)
	}
	if wrong = r.wrong(o, seen); wrong != nil || r.met != incident.True || r.own {
		return r, wrong, nil
	}
	if slices.ContainsFunc(verdicts(o), func(v verdict) bool { return v.kind == overridden && v.against() }) {
		r.rest, wrong, err = leavesRoute(ctx, c, o, seen)
	}
	return r, wrong, err
}

// leavesRoute says whether the policies that count in place of this one for some of its routes leave it the pool's.
// Envoy Gateway says of which routes only in a sentence, so the policies themselves are looked at.
func leavesRoute(
	ctx context.Context, c *kube.Reader, o *unstructured.Unstructured, seen seenRoute,
) (rest bool, wrong, err error) {
	places := []string{seen.Namespace, o.GetNamespace()}
	slices.Sort(places)
	for _, namespace := range slices.Compact(places) {
		all, err := c.List(ctx, policyResource, namespace)
		if _, no := errors.AsType[*incident.RefusedError](err); no {
			return false, nil, nil // the condition stands
		}
		if err != nil {
			return false, nil, err
		}
		for i := range all {
			if all[i].GetUID() == o.GetUID() {
				continue
			}
			if wrong := narrower(&all[i], o, seen); wrong != nil {
				return false, wrong, nil
			}
		}
	}
	return true, nil, nil
}

// narrower refuses when another policy counts for the pool's route in place of this one, or may.
func narrower(other, o *unstructured.Unstructured, seen seenRoute) error {
	r, err := reachOf(other, seen.RouteRef)
	if err != nil {
		return err
	}
	// One for the same whole Gateway is no narrower one: Envoy Gateway takes the older of the two and says of the other
	// that it conflicts.
	r.targets = slices.DeleteFunc(r.targets, func(t policyTarget) bool { return t.kind == gatewayKind && t.section == "" })
	if !r.own {
		r = r.with(seen)
	}
	if r.met == incident.False {
		return nil
	}
	return live.Refused("%s %s/%s counts for the pool's route HTTPRoute %s, or may, in place of %s/%s: name it in "+
		"pools[].knobs.throttle",
		policyKind, other.GetNamespace(), other.GetName(), seen.RouteRef, o.GetNamespace(), o.GetName())
}
