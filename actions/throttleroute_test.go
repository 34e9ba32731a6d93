package actions_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var routes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// routed makes the pool's route, which hangs on these parents, and a policy for these targets. The bot may read routes.
func (b *bench) routed(parents []any, spec map[string]any) {
	b.t.Helper()
	b.c.InstallCRD(b.t, kubetest.HTTPRoutes)
	b.pool.HTTPRoute = incident.RouteRef{Namespace: b.ns, Name: model}
	b.c.Grant(b.t, kubetest.Bot, b.ns, rbacv1.PolicyRule{
		APIGroups: []string{routes.Group},
		Resources: []string{routes.Resource}, Verbs: []string{"get"},
	})
	o := object("gateway.networking.k8s.io/v1", "HTTPRoute", map[string]any{"parentRefs": parents})
	o["metadata"].(map[string]any)["labels"] = map[string]any{"model": model}
	b.create(routes, o)
	b.create(policies, policy(spec))
}

func gateway(more ...string) map[string]any {
	ref := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "eg"}
	for i := 0; i < len(more); i += 2 {
		ref[more[i]] = more[i+1]
	}
	return ref
}

func limiting(what map[string]any) map[string]any {
	spec := parallel(184)
	maps.Copy(spec, what)
	return spec
}

// A limit on a Gateway that does not serve the pool takes nothing off the pool and turns the requests of other models
// away.
func TestAThrottleOfAGatewayIsForTheRoutesThatHangOnIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		parents []any
		policy  map[string]any
		verdict incident.GuardVerdict
		want    string
	}{
		{
			"the route hangs on it",
			[]any{map[string]any{"name": "eg"}},
			gateway(), incident.GuardPass,
			"every route of Gateway eg",
		},
		{
			"on another one too",
			[]any{map[string]any{"name": "other"}, gateway()},
			gateway(), incident.GuardPass,
			"every route of Gateway eg",
		},
		{
			"on its listener",
			[]any{gateway("sectionName", "https")},
			gateway("sectionName", "https"), incident.GuardPass,
			"every route of Gateway eg (https)",
		},
		{
			"on one listener of the whole",
			[]any{gateway("sectionName", "https")},
			gateway(), incident.GuardPass,
			"every route of Gateway eg",
		},
		{"on another one", []any{gateway("name", "other")}, gateway(), incident.GuardRefuse, "/other"},
		{
			"on one of that name elsewhere",
			[]any{gateway("namespace", "elsewhere")},
			gateway(), incident.GuardRefuse,
			"Gateway elsewhere/eg",
		},
		{
			"on another listener",
			[]any{gateway("sectionName", "http")},
			gateway("sectionName", "https"),
			incident.GuardRefuse, "eg (http)",
		},
		{"on nothing", []any{}, gateway(), incident.GuardRefuse, "is for Gateway eg and not for the pool's route"},
		{
			"on listeners that it does not name",
			[]any{gateway()},
			gateway("sectionName", "https"), incident.GuardCaution,
			"on which listeners of Gateway",
		},
		{
			"on a ListenerSet",
			[]any{gateway("kind", "ListenerSet", "name", "more")},
			gateway(), incident.GuardCaution,
			"ListenerSet",
		},
		{
			"on the Gateway, not on the ListenerSet",
			[]any{gateway()},
			gateway("kind", "ListenerSet", "name", "more"),
			incident.GuardRefuse, "for ListenerSet more and not for",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.routed(tt.parents, limiting(map[string]any{"targetRefs": []any{tt.policy}}))
			if tt.verdict == incident.GuardRefuse {
				b.refusedFor(shed, tt.want, "HTTPRoute "+b.ns+"/"+model)
				return
			}
			s := b.propose(shed)
			if !hasGuard(s, "target", incident.GuardCaution, tt.want) ||
				hasGuard(s, "target", incident.GuardCaution, "is not known") != (tt.verdict == incident.GuardCaution) {
				t.Errorf("%+v", s.Guardrails)
			}
			b.do(s, incident.OpApply)
			b.do(s, incident.OpUndo)
		})
	}
}

// The route may be moved to another Gateway between the proposal and the click; the undo does not ask.
func TestTheRouteOfAThrottleIsReadAgainAtTheClick(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.routed([]any{gateway()}, limiting(map[string]any{"targetRefs": []any{gateway()}}))
	s := b.propose(shed)
	b.patch(routes, `{"spec":{"parentRefs":[{"name":"other"}]}}`)
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "/other") {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.patch(routes, `{"spec":{"parentRefs":[{"name":"eg"}]}}`)
	b.do(s, incident.OpApply)
	b.remove(routes)
	b.do(s, incident.OpUndo)
	b.refusedNow(shed, "HTTPRoute "+b.ns+"/"+model+" does not exist")
}

func TestARouteThatMayNotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.c.InstallCRD(t, kubetest.HTTPRoutes)
	b.pool.HTTPRoute = incident.RouteRef{Namespace: b.ns, Name: model}
	b.create(policies, policy(limiting(map[string]any{"targetRefs": []any{gateway()}})))
	want := fmt.Sprintf("the bot lacks permission to get httproutes.gateway.networking.k8s.io %q in namespace %s", model,
		b.ns)
	if s := b.propose(shed); !hasGuard(s, "target", incident.GuardCaution, want) {
		t.Errorf("%+v", s.Guardrails)
	}
}

// A policy may take the pool's route by its labels.
func TestAThrottleByLabelsIsForTheRoutesThatHaveThem(t *testing.T) {
	t.Parallel()
	selects := func(kind, label string, more ...any) map[string]any {
		s := map[string]any{"kind": kind, "matchLabels": map[string]any{"model": label}}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return map[string]any{"targetRefs": nil, "targetSelectors": []any{s}}
	}
	for name, tt := range map[string]struct {
		policy map[string]any
		want   string
		unsure bool
	}{
		"its labels":           {selects("HTTPRoute", model), "", false},
		"other labels":         {selects("HTTPRoute", "other"), "and not for the pool's route", false},
		"routes of other APIs": {selects("GRPCRoute", model), "and not for the pool's route", false},
		"Gateways":             {selects("Gateway", model), "", true},
		"by expressions": {selects("HTTPRoute", model, "matchLabels", nil, "matchExpressions",
			[]any{map[string]any{"key": "model", "operator": "DoesNotExist"}}), "and not for the pool's route", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.routed([]any{gateway()}, limiting(tt.policy))
			if tt.want != "" {
				b.refusedFor(shed, tt.want)
				return
			}
			s := b.propose(shed)
			if !hasGuard(s, "target", incident.GuardCaution, "which other routes it limits is not known") ||
				hasGuard(s, "target", incident.GuardCaution, "at all is not known") != tt.unsure {
				t.Errorf("%+v", s.Guardrails)
			}
		})
	}
}

// Envoy Gateway calls the policy of a Gateway overridden as soon as one of its routes has a policy of its own. It
// limits the others as before.
func TestAPolicyThatAnotherOverridesForAnotherRouteIsInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.routed([]any{gateway()}, limiting(map[string]any{"targetRefs": []any{gateway()}}))
	b.patch(policies,
		`{"status":{"ancestors":[{"ancestorRef":{"name":"eg"},
			"controllerName":"gateway.envoyproxy.io/gatewayclass-controller","conditions":[
		{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-11-21T00:00:00Z",
			"observedGeneration":9},
		{"type":"Overridden","status":"True","reason":"Overridden","message":"for these routes",
			"lastTransitionTime":"2026-11-21T00:00:00Z","observedGeneration":9}]}]}}`, "status")
	b.refusedFor(shed, "for these routes") // which routes that are is not known without the right to look
	b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{
		APIGroups: []string{policies.Group},
		Resources: []string{policies.Resource}, Verbs: []string{"list"},
	})
	other := func(name string, targets ...any) {
		t.Helper()
		o := policy(limiting(map[string]any{"targetRefs": targets}))
		o["metadata"].(map[string]any)["name"] = name
		if _, err := b.c.Dynamic(t).Resource(policies).Namespace(b.ns).Create(t.Context(),
			&unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	end := func(name string) {
		t.Helper()
		if err := b.c.Dynamic(t).Resource(policies).Namespace(b.ns).Delete(t.Context(), name,
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	other("others", map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "other"})
	s := b.propose(shed)
	b.do(s, incident.OpApply)
	if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != incident.RolloutDone {
		t.Errorf("rollout: %+v, %v", r, err)
	}
	b.do(s, incident.OpUndo)
	other("own", map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": model})
	b.refusedNow(shed, "BackendTrafficPolicy "+b.ns+"/own counts for the pool's route")
	end("own")
	other("listener", gateway("sectionName", "https"))
	b.refusedNow(shed,
		"BackendTrafficPolicy "+b.ns+"/listener counts for the pool's route HTTPRoute "+b.ns+"/"+model+
			", or may, in place of")
}
