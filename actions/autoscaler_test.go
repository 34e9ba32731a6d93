package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// settled waits until the controllers have made everything of the workload ready.
func (b *bench) settled(replicas int64) {
	b.t.Helper()
	kubetest.Eventually(b.t, fmt.Sprintf("%d ready replicas", replicas), func(ctx context.Context) error {
		o, err := b.tryGet(ctx, deployments)
		if err != nil {
			return err
		}
		ready, _, err := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		if err == nil && ready != replicas {
			err = fmt.Errorf("%d are ready", ready)
		}
		return err
	})
}

// rolledOut waits until a rollout is no longer running, and returns how it ended.
func (b *bench) rolledOut(s incident.Step, op incident.Op) incident.Rollout {
	b.t.Helper()
	var last incident.Rollout
	kubetest.Eventually(b.t, "the rollout of "+s.Title, func(ctx context.Context) error {
		var err error
		if last, err = b.bot.Rollout(ctx, b.pool, s, op); err != nil {
			return err
		}
		if last.State == incident.RolloutRunning {
			return fmt.Errorf("running: %s", last.Note)
		}
		return nil
	})
	return last
}

func (b *bench) do(s incident.Step, op incident.Op) {
	b.t.Helper()
	if err := b.bot.Do(b.t.Context(), b.pool, s, op, "w."+string(op)); err != nil {
		b.t.Fatalf("%s: %v", op, err)
	}
}

func TestTheAutoscalerFollowsTheRaisedMinimum(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(hpas, hpa(2, 6))
	b.settled(2)
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	if r := b.rolledOut(s, incident.OpApply); r.State != incident.RolloutDone {
		t.Fatalf("rollout: %+v", r)
	}
	b.settled(3)
	b.do(s, incident.OpUndo)
	if r := b.rolledOut(s, incident.OpUndo); r.State != incident.RolloutDone {
		t.Fatalf("rollout of the undo: %+v", r)
	}
	if got := b.get(hpas).Object["spec"].(map[string]any)["minReplicas"]; got != int64(2) {
		t.Errorf("minimum %v after the undo", got)
	}
}

func TestAnAutoscalersMinimumStopsAtItsMaximum(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(hpas, hpa(2, 4))
	s := b.propose(incident.StepRequest{Kind: incident.StepReplicas, Add: 5})
	if s.To != incident.Set("4") || !hasGuard(s, "bounds", incident.GuardShrink,
		"spec.maxReplicas of HorizontalPodAutoscaler llama-70b") {
		t.Errorf("to %s, guardrails %+v", s.To, s.Guardrails)
	}
	b.patch(hpas, `{"spec":{"maxReplicas":3}}`)
	if err := b.bot.Recheck(t.Context(), b.pool, s); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), "maxReplicas") {
		t.Errorf("recheck after the maximum was lowered: %v", err)
	}
	b.do(b.propose(addOne), incident.OpApply)
	b.settled(3)
	if _, err := b.bot.Propose(t.Context(), b.pool, addOne); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), "maxReplicas") {
		t.Errorf("beyond the maximum: %v", err)
	}
}

func TestReplicasAreRefusedWhereSomebodyHoldsThemOnPurpose(t *testing.T) {
	t.Parallel()
	withNote := func(o map[string]any, key, value string) map[string]any {
		o["metadata"].(map[string]any)["annotations"] = map[string]any{key: value}
		return o
	}
	for _, tt := range []struct {
		name string
		make func(b *bench)
		want string
	}{
		{"scaled to nothing", func(b *bench) { b.serve(0, nil, served()) }, "0 replicas"},
		{"scaled to nothing by KEDA", func(b *bench) {
			b.serve(0, nil, served())
			b.create(scaledObjs, scaledObject(nil))
		}, "0 replicas"},
		{"KEDA is paused", func(b *bench) {
			b.serve(2, nil, served())
			b.create(scaledObjs, withNote(scaledObject(nil), "autoscaling.keda.sh/paused-replicas", "2"))
		}, "paused"},
		{"two autoscalers", func(b *bench) {
			b.serve(2, nil, served())
			b.create(hpas, hpa(2, 6))
			b.create(scaledObjs, scaledObject(nil))
		}, "several autoscalers"},
		{"nobody made it", func(*bench) {}, "does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			_, err := b.bot.Propose(t.Context(), b.pool, addOne)
			if outcome(err) != "refused" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheAutoscalerThatKEDAMadeIsNotTurned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	keda := b.create(scaledObjs, scaledObject(map[string]any{"minReplicaCount": int64(1), "maxReplicaCount": int64(6)}))
	made := hpa(1, 6)
	made["metadata"] = map[string]any{
		"name": "keda-hpa-llama-70b", "labels": map[string]any{"scaledobject.keda.sh/name": model},
		"ownerReferences": []any{map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": model, "uid": string(keda.GetUID()),
			"controller": true,
		}},
	}
	b.create(hpas, made)
	s := b.propose(addOne)
	if s.Target.Kind != "ScaledObject" || s.From != incident.Set("1") || s.To != incident.Set("3") {
		t.Errorf("%s from %s to %s", s.Target, s.From, s.To)
	}
	if !strings.Contains(s.Title, "ScaledObject") || !strings.Contains(s.Cost, "controls the replica count") {
		t.Errorf("title %q, cost %q", s.Title, s.Cost)
	}
}

// The permission to raise a minimum is for the autoscaler that the pool names. Of any other the line to add is said,
// and nothing is written.
func TestAnAutoscalerThatThePoolDoesNotNameIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		named incident.AutoscalerRef
		want  string
	}{
		{"none", incident.AutoscalerRef{}, "pool llama-70b doesn't name it"},
		{
			"another",
			incident.AutoscalerRef{Kind: "HorizontalPodAutoscaler", Name: "other"},
			"pool llama-70b names HorizontalPodAutoscaler other",
		},
		{
			"another kind",
			incident.AutoscalerRef{Kind: "ScaledObject", Name: model},
			"pool llama-70b names ScaledObject llama-70b",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, nil, served())
			b.create(hpas, hpa(2, 6))
			s := b.propose(addOne)
			b.pool.Autoscaler = tt.named
			_, err := b.bot.Propose(t.Context(), b.pool, addOne)
			var no *incident.RefusedError
			if !errors.As(err, &no) || !strings.Contains(no.Reason, tt.want) ||
				!strings.HasSuffix(no.Hint, "\nautoscaler: {kind: HorizontalPodAutoscaler, name: llama-70b}") {
				t.Errorf("%+v", err)
			}
			if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w"); outcome(err) != "refused" {
				t.Errorf("it is written: %v", err)
			}
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
			found, err := b.bot.Autoscaler(t.Context(), b.pool)
			if want := (incident.AutoscalerRef{Kind: "HorizontalPodAutoscaler", Name: model}); found != want || err != nil {
				t.Errorf("found: %v, %v", found, err)
			}
		})
	}
}

func TestAStepIsUndoneEvenWhenItsKnobIsNoLongerConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			b.pool.Knobs = incident.Knobs{}
			if err := b.bot.Recheck(t.Context(), b.pool, s); outcome(err) != "refused" {
				t.Errorf("recheck: %v", err)
			}
			if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w.other"); outcome(err) != "refused" {
				t.Errorf("apply: %v", err)
			}
			b.do(s, incident.OpUndo)
			checkObserved(t, b, s, incident.OpUndo, "w.undo", tt.from, true)
		})
	}
}

func TestAnUnsetKnobIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(policies, policy(parallel(184)))
	b.pool.Knobs = incident.Knobs{}
	for _, req := range []incident.StepRequest{addOne, halve, shed} {
		if _, err := b.bot.Propose(t.Context(), b.pool, req); outcome(err) != "refused" ||
			!strings.Contains(err.Error(), "not configured") {
			t.Errorf("%s: %v", req.Kind, err)
		}
	}
	if _, err := b.bot.Propose(t.Context(), b.pool, incident.StepRequest{
		Kind:   incident.StepManual,
		Advice: "call somebody",
	}); outcome(err) != "refused" {
		t.Errorf("advice: %v", err)
	}
	if err := b.bot.Do(t.Context(), b.pool, incident.Step{Kind: incident.StepReplicas}, incident.OpApply,
		""); outcome(err) != "refused" {
		t.Errorf("a write without an id: %v", err)
	}
}

// owner is a reference to an object that exists: the garbage collector removes what belongs to nobody.
func (b *bench) owner() map[string]any {
	b.t.Helper()
	o := b.create(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "owner"},
	})
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": string(o.GetUID()),
		"controller": true,
	}
}

// createAs is create under the name of a tool.
func (b *bench) createAs(r schema.GroupVersionResource, o map[string]any, manager string) {
	b.t.Helper()
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Create(b.t.Context(), &unstructured.Unstructured{Object: o},
		metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		b.t.Fatalf("create %s: %v", r.Resource, err)
	}
}

// hasGuard says whether a step has a guardrail with this verdict and these words.
func hasGuard(s incident.Step, name string, v incident.GuardVerdict, words string) bool {
	for _, g := range s.Guardrails {
		if g.Name == name && g.Verdict == v && strings.Contains(g.Reason, words) {
			return true
		}
	}
	return false
}

func TestWhoElseKeepsAnObjectIsSaidOrRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		meta    map[string]any
		manager string
		verdict incident.GuardVerdict
		words   string
	}{
		{
			"Argo CD",
			map[string]any{"annotations": map[string]any{
				"argocd.argoproj.io/tracking-id": "chat:gateway/BackendTrafficPolicy:llm/x",
			}},
			"argocd-controller", incident.GuardCaution, "Argo CD application chat",
		},
		{
			"Flux sets the field",
			map[string]any{"labels": map[string]any{"kustomize.toolkit.fluxcd.io/name": "apps"}},
			"kustomize-controller", incident.GuardRefuse, "Flux Kustomization apps",
		},
		{
			"Flux does not set the field",
			map[string]any{"labels": map[string]any{"kustomize.toolkit.fluxcd.io/name": "apps"}},
			"somebody", incident.GuardPass, "has not set this field",
		},
		{"Flux is told to keep away", map[string]any{
			"labels":      map[string]any{"kustomize.toolkit.fluxcd.io/name": "apps"},
			"annotations": map[string]any{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"},
		}, "kustomize-controller", incident.GuardPass, "disabled"},
		{
			"a Helm release",
			map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": "chat"}},
			"helm",
			incident.GuardCaution, "Helm release chat made it; its next upgrade may revert it",
		},
		{
			"an operator",
			map[string]any{"ownerReferences": []any{}},
			"operator", incident.GuardRefuse,
			"belongs to ConfigMap owner",
		},
		{"nobody", map[string]any{}, "kubectl", incident.GuardPass, "no operator or GitOps tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := policy(parallel(184))
			tt.meta["name"] = model
			if _, owned := tt.meta["ownerReferences"]; owned {
				tt.meta["ownerReferences"] = []any{b.owner()}
			}
			o["metadata"] = tt.meta
			b.createAs(policies, o, tt.manager)
			s, err := b.bot.Propose(t.Context(), b.pool, shed)
			if err != nil {
				t.Fatal(err)
			}
			if !hasGuard(s, "ownership", tt.verdict, tt.words) {
				t.Errorf("guardrails: %+v", s.Guardrails)
			}
			err = b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if refuse := tt.verdict == incident.GuardRefuse; refuse != (outcome(err) == "refused") || !refuse && err != nil {
				t.Errorf("apply: %v", err)
			}
			if !s.Checked.OK {
				t.Errorf("checked: %+v", s.Checked)
			}
		})
	}
}

// appliesAs makes an object by server-side apply.
func (b *bench) appliesAs(manager string, r schema.GroupVersionResource, o map[string]any) {
	b.t.Helper()
	o["metadata"].(map[string]any)["namespace"] = b.ns
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Apply(b.t.Context(), model,
		&unstructured.Unstructured{Object: o}, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		b.t.Fatalf("apply %s: %v", r.Resource, err)
	}
}

// Helm 4 and kubectl apply --server-side meet a conflict after the bot's change; kubectl apply compares with its last
// manifest and sets back.
func TestWhatTheNextApplyDoesIsSaid(t *testing.T) {
	t.Parallel()
	release := map[string]any{"name": model, "annotations": map[string]any{"meta.helm.sh/release-name": "chat"}}
	applied := func(manifest string) map[string]any {
		return map[string]any{
			"name":        model,
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": manifest},
		}
	}
	for _, tt := range []struct {
		name    string
		make    func(b *bench)
		verdict incident.GuardVerdict
		words   string
	}{
		{"Helm 4", func(b *bench) {
			o := policy(parallel(184))
			o["metadata"] = release
			b.appliesAs("helm", policies, o)
		}, incident.GuardCaution, "its next upgrade fails with a conflict"},
		{"Helm 4, not this field", func(b *bench) {
			o := policy(nil)
			o["metadata"] = release
			b.appliesAs("helm", policies, o)
		}, incident.GuardPass, "has not set this field"},
		{
			"kubectl apply --server-side", func(b *bench) { b.appliesAs("kubectl", policies, policy(parallel(184))) },
			incident.GuardCaution, "server-side apply by kubectl sets this field",
		},
		{"kubectl apply", func(b *bench) {
			o := policy(parallel(184))
			o["metadata"] = applied(`{"spec":{"circuitBreaker":{"maxParallelRequests":184}}}`)
			b.create(policies, o)
		}, incident.GuardCaution, "a manifest applied with kubectl sets this field; its next apply reverts it"},
		{"kubectl apply, not this field", func(b *bench) {
			o := policy(parallel(184))
			o["metadata"] = applied(`{"spec":{"circuitBreaker":{}}}`)
			b.create(policies, o)
		}, incident.GuardPass, "no operator or GitOps tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(shed)
			if !hasGuard(s, "ownership", tt.verdict, tt.words) {
				t.Errorf("guardrails: %+v", s.Guardrails)
			}
			b.do(s, incident.OpApply)
			if tt.name == "Helm 4" { // what the words say is what happens
				o := policy(parallel(184))
				o["metadata"] = map[string]any{"name": model, "namespace": b.ns}
				_, err := b.c.Dynamic(t).Resource(policies).Namespace(b.ns).Apply(t.Context(), model,
					&unstructured.Unstructured{Object: o}, metav1.ApplyOptions{FieldManager: "helm"})
				if !apierrors.IsConflict(err) {
					t.Errorf("the next upgrade: %v", err)
				}
			}
		})
	}
}
