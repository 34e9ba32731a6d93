package actions_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestThePodAutoscalerThatScalesADeploymentIsAdjustedInItsPlace(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"KPA", "APA", "HPA"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, nil, served())
			pa := b.create(podScalers, podAutoscaler(strategy, nil))
			if strategy == "HPA" { // AIBrix makes one and keeps it
				made := hpa(1, 6)
				made["metadata"] = map[string]any{"name": model + "-hpa", "ownerReferences": []any{map[string]any{
					"apiVersion": "autoscaling.aibrix.ai/v1alpha1", "kind": "PodAutoscaler", "name": model, "uid": string(pa.GetUID()),
					"controller": true,
				}}}
				b.create(hpas, made)
			}
			s := b.propose(addOne)
			if s.Target.Kind != "PodAutoscaler" || s.From != incident.Set("1") || s.To != incident.Set("3") {
				t.Fatalf("%s from %s to %s", s.Target, s.From, s.To)
			}
			b.do(s, incident.OpApply)
			if got := b.writes(kubetest.Bot); len(got) != 1 || got[0] != "patch podautoscalers" {
				t.Errorf("written: %v", got)
			}
			if got, _, _ := unstructured.NestedInt64(b.get(podScalers).Object, "spec", "minReplicas"); got != 3 {
				t.Errorf("minReplicas %d", got)
			}
			if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil ||
				r.State != incident.RolloutRunning || !strings.Contains(r.Note, "PodAutoscaler") {
				t.Errorf("rollout before AIBrix has acted: %+v, %v", r, err)
			}
			b.do(s, incident.OpUndo)
			checkObserved(t, b, s, incident.OpUndo, "w.undo", incident.Set("1"), true)
		})
	}
}

func TestAPodAutoscalersBoundsHold(t *testing.T) {
	t.Parallel()
	conditions := func(kind, status string) string {
		return fmt.Sprintf(
			`{"status":{"conditions":[{"type":%q,"status":%q,"reason":"Broken","message":"what AIBrix says"}]}}`, kind, status,
		)
	}
	for _, tt := range []struct {
		name   string
		more   map[string]any
		status string
		want   []string
	}{
		{
			"at its maximum",
			map[string]any{"maxReplicas": int64(2)},
			"",
			[]string{"spec.maxReplicas of PodAutoscaler llama-70b"},
		},
		{"a schedule has a lower maximum", map[string]any{"schedules": []any{map[string]any{
			"name":        "night",
			"maxReplicas": int64(2),
		}}}, "", []string{"schedule night"}},
		{"a schedule has the minimum", map[string]any{"schedules": []any{map[string]any{
			"name":        "day",
			"minReplicas": int64(4),
		}}}, "", []string{"schedule day", "minReplicas"}},
		{
			"it scales a role",
			map[string]any{"subTargetSelector": map[string]any{"roleName": "decode"}},
			"",
			[]string{"role decode"},
		},
		{"it is not in force", nil, conditions("ValidSpec", "False"), []string{"what AIBrix says"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, nil, served())
			b.create(podScalers, podAutoscaler("KPA", tt.more))
			if tt.status != "" {
				b.patch(podScalers, tt.status, "status")
			}
			b.refusedFor(addOne, tt.want...)
		})
	}
}

func TestTwoAutoscalersOfDifferentMakersAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(podScalers, podAutoscaler("KPA", nil))
	b.create(hpas, hpa(2, 6))
	b.refusedFor(addOne, "several autoscalers", "PodAutoscaler llama-70b", "HorizontalPodAutoscaler llama-70b")
}

// A PodAutoscaler of another workload, or of one in another namespace, is nobody's business here.
func TestAPodAutoscalerOfAnotherWorkloadIsNotAdjusted(t *testing.T) {
	t.Parallel()
	for _, ref := range []map[string]any{
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"},
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": model, "namespace": "elsewhere"},
		{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": model},
	} {
		b := newBench(t)
		b.serve(2, nil, served())
		b.create(podScalers, podAutoscaler("KPA", map[string]any{"scaleTargetRef": ref}))
		if s := b.propose(addOne); s.Target.Kind != "Deployment" {
			t.Errorf("%v: %s", ref, s.Target)
		}
	}
}

// AIBrix writes into the namespace that a PodAutoscaler's target names.
func TestAPodAutoscalerOfAnotherNamespaceIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	far := b.c.Namespace(t)
	plant := func(name, strategy string, ref map[string]any) {
		t.Helper()
		o := podAutoscaler(strategy, map[string]any{"scaleTargetRef": ref})
		o["metadata"] = map[string]any{"name": name}
		if _, err := b.c.Dynamic(t).Resource(podScalers).Namespace(far).Create(t.Context(),
			&unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	target := func(kind, namespace string) map[string]any {
		ref := map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": model}
		if namespace != "" {
			ref["namespace"] = namespace
		}
		return ref
	}
	if s := b.propose(addOne); !hasGuard(s, "other autoscalers", incident.GuardCaution,
		"list podautoscalers.autoscaling.aibrix.ai in all namespaces") {
		t.Errorf("without the right to look: %+v", s.Guardrails)
	}
	account := "system:serviceaccount:" + b.ns + ":bot" // the cluster is shared, and nobody else may gain this right
	b.grant(account, incident.ModeApprove)
	b.c.GrantAll(t, account, rbacv1.PolicyRule{
		APIGroups: []string{podScalers.Group},
		Resources: []string{podScalers.Resource}, Verbs: []string{"list"},
	})
	registry, err := actions.New(actions.Config{QPS: 500}, b.c.ConfigWithToken(b.c.ServiceAccountToken(t, b.ns, "bot")),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.bot = bot{registry}
	plant("its-own", "KPA", target("Deployment", ""))
	plant("another-kind", "KPA", target("StatefulSet", b.ns))
	plant("an-hpa", "HPA", target("Deployment",
		b.ns)) // the autoscaler that AIBrix makes of it scales in its own namespace
	var s incident.Step
	kubetest.Eventually(t, "the right to look", func(ctx context.Context) (err error) {
		if s, err = b.bot.Propose(ctx, b.pool, addOne); err == nil &&
			hasGuard(s, "other autoscalers", incident.GuardCaution, "") {
			return fmt.Errorf("%+v", s.Guardrails)
		}
		return err
	})
	if s.Target.Kind != "Deployment" {
		t.Errorf("%s", s.Target)
	}
	plant("far", "KPA", target("Deployment", b.ns))
	b.refusedFor(addOne, "PodAutoscaler "+far+"/far sets the replicas of Deployment")
	if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); outcome(err) != "refused" {
		t.Errorf("apply: %v", err)
	}
	if o := b.get(deployments); hasReplicas(o) != 2 {
		t.Errorf("%d replicas", hasReplicas(o))
	}
}

func TestAStormServiceUnderAPodAutoscalerIsNotScaledItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.StormServices, storms, "StormService", map[string]any{"replicas": int64(3), "mode": "Replica"})
	b.create(podScalers, podAutoscaler("KPA", map[string]any{
		"scaleTargetRef": map[string]any{
			"apiVersion": "orchestration.aibrix.ai/v1alpha1", "kind": "StormService",
			"name": model,
		},
	}))
	s := b.propose(addOne)
	if s.Target.Kind != "PodAutoscaler" || s.To != incident.Set("4") {
		t.Errorf("%s to %s", s.Target, s.To)
	}
	b.do(s, incident.OpApply)
	if got, _, _ := unstructured.NestedInt64(b.get(storms).Object, "spec", "replicas"); got != 3 {
		t.Errorf("spec.replicas %d", got)
	}
}

// AIBrix keeps one RoleSet in Pooled mode, and takes an unset mode with one replica, or none given, for Pooled.
func TestAPooledStormServiceIsNotGivenMoreRoleSets(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]map[string]any{
		"Pooled":           {"replicas": int64(1), "mode": "Pooled"},
		"Pooled with more": {"replicas": int64(2), "mode": "Pooled"},
		"unset":            {"replicas": int64(1)},
		"nothing given":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.custom(kubetest.StormServices, storms, "StormService", spec)
			b.refusedFor(addOne, "Pooled", "spec.template.spec.roles[].replicas")
		})
	}
	t.Run("Replica", func(t *testing.T) {
		t.Parallel()
		for _, spec := range []map[string]any{{"replicas": int64(1), "mode": "Replica"}, {"replicas": int64(2)}} {
			b := newBench(t)
			b.custom(kubetest.StormServices, storms, "StormService", spec)
			b.do(b.propose(addOne), incident.OpApply)
		}
	})
}
