package actions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAThrottleSaysWhomItMeetsAndMeetsNoOther(t *testing.T) {
	t.Parallel()
	at := func(refs ...any) map[string]any {
		spec := parallel(184)
		spec["targetRefs"] = refs
		return spec
	}
	ref := func(kind, name string) map[string]any {
		return map[string]any{"group": "gateway.networking.k8s.io", "kind": kind, "name": name}
	}
	for _, tt := range []struct {
		name    string
		spec    map[string]any
		route   string
		title   string
		verdict incident.GuardVerdict
		want    string
	}{
		{
			"its own route", at(ref("HTTPRoute", model)), model, "Throttle HTTPRoute llama-70b from 184", incident.GuardPass,
			"HTTPRoute llama-70b",
		},
		{
			"no route is configured", at(ref("HTTPRoute", "other")), "", "Throttle HTTPRoute other from 184",
			incident.GuardPass, "HTTPRoute other",
		},
		{"a Gateway", at(ref("Gateway", "eg")), "", "Throttle Gateway eg from 184", incident.GuardCaution, "every route"},
		{
			"a Gateway above the route", at(ref("Gateway", "eg")), model, "Throttle Gateway eg from 184",
			incident.GuardCaution, "every route",
		},
		{
			"another route beside", at(ref("HTTPRoute", model), ref("HTTPRoute", "other")), model,
			"Throttle HTTPRoute llama-70b and HTTPRoute other from 184", incident.GuardCaution, "HTTPRoute other",
		},
		{"another route", at(ref("HTTPRoute", "other")), model, "", incident.GuardRefuse, "HTTPRoute other"},
		{
			"a route of that name of another kind", at(ref("GRPCRoute", model)), model, "", incident.GuardRefuse,
			"GRPCRoute llama-70b",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.route != "" {
				b.pool.HTTPRoute = incident.RouteRef{Namespace: b.ns, Name: tt.route}
			}
			b.create(policies, policy(tt.spec))
			if tt.verdict == incident.GuardRefuse {
				b.refusedFor(shed, tt.want, "HTTPRoute "+b.ns+"/"+model)
				return
			}
			s := b.propose(shed)
			if !strings.HasPrefix(s.Title, tt.title) || !hasGuard(s, "target", tt.verdict, tt.want) {
				t.Errorf("title %q, guardrails %+v", s.Title, s.Guardrails)
			}
			// What was proposed for one target is not written once the policy has another, and is undone all the same.
			elsewhere := `{"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"elsewhere"}]}}`
			if tt.route != "" {
				b.patch(policies, elsewhere)
				if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w0"); outcome(err) != "refused" {
					t.Errorf("apply to another route: %v", err)
				}
				b.patch(policies, fmt.Sprintf(`{"spec":{"targetRefs":%s}}`, inJSON(t, tt.spec["targetRefs"])))
			}
			b.do(s, incident.OpApply)
			b.patch(policies, elsewhere)
			b.do(s, incident.OpUndo)
		})
	}
}

func TestAPolicyThatAnotherOverridesIsNotInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(parallel(184)))
	say := func(overridden string) {
		t.Helper()
		b.patch(policies,
			fmt.Sprintf(`{"status":{"ancestors":[{"ancestorRef":{"name":"gw"},
				"controllerName":"gateway.envoyproxy.io/gatewayclass-controller","conditions":[
			{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-11-21T00:00:00Z",
				"observedGeneration":9},
			{"type":"Overridden","status":%q,"reason":"Overridden","message":"by a policy of the route",
				"lastTransitionTime":"2026-11-21T00:00:00Z","observedGeneration":9}]}]}}`, overridden), "status")
	}
	say("True")
	b.refusedFor(shed, "by a policy of the route")
	say("False")
	s := b.propose(shed)
	say("True")
	if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w0"); outcome(err) != "refused" {
		t.Errorf("apply: %v", err)
	}
	say("False")
	b.do(s, incident.OpApply)
	say("True")
	if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil ||
		r.State != incident.RolloutFailed || !strings.Contains(r.Note, "by a policy of the route") {
		t.Errorf("rollout: %+v, %v", r, err)
	}
	b.do(s, incident.OpUndo)
}
