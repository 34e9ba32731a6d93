package actions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var (
	podScalers = schema.GroupVersionResource{Group: "autoscaling.aibrix.ai", Version: "v1alpha1", Resource: "podautoscalers"}
	storms     = schema.GroupVersionResource{Group: "orchestration.aibrix.ai", Version: "v1alpha1", Resource: "stormservices"}
	models     = schema.GroupVersionResource{Group: "kubeai.org", Version: "v1", Resource: "models"}
	runtimes   = schema.GroupVersionResource{Group: "production-stack.vllm.ai", Version: "v1alpha1", Resource: "vllmruntimes"}
	scalers    = schema.GroupVersionResource{Group: "disaggregatedset.x-k8s.io", Version: "v1", Resource: "disaggregatedsetrolescalers"}
	adapters   = schema.GroupVersionResource{Group: "nvidia.com", Version: "v1alpha1", Resource: "dynamographdeploymentscalingadapters"}
)

// custom makes the pool's workload of another kind.
func (b *bench) custom(crd kubetest.CRD, r schema.GroupVersionResource, kind string, spec map[string]any, change ...func(o map[string]any)) {
	b.t.Helper()
	b.c.InstallCRD(b.t, crd)
	version := r.GroupVersion().String()
	b.pool.Workload.APIVersion, b.pool.Workload.Kind = version, kind
	b.pool.Knobs.MaxNumBatchedTokens = nil
	b.grant(kubetest.Bot, incident.ModeApprove)
	o := object(version, kind, spec)
	for _, f := range change {
		f(o)
	}
	b.create(r, o)
}

// ownedBy sets an object's owner references.
func ownedBy(refs []any) func(map[string]any) {
	return func(o map[string]any) { o["metadata"].(map[string]any)["ownerReferences"] = refs }
}

func podAutoscaler(strategy string, more map[string]any) map[string]any {
	spec := map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": model},
		"minReplicas":    int64(1), "maxReplicas": int64(6), "scalingStrategy": strategy,
	}
	maps.Copy(spec, more)
	return object("autoscaling.aibrix.ai/v1alpha1", "PodAutoscaler", spec)
}

// refusedFor demands that no step is proposed, for a reason with these words, and that nothing was written.
func (b *bench) refusedFor(req incident.StepRequest, words ...string) {
	b.t.Helper()
	s, err := b.bot.Propose(b.t.Context(), b.pool, req)
	why := refusals(s)
	if err != nil {
		why = err.Error() + " " + hintOf(err)
		if outcome(err) != "refused" {
			b.t.Fatalf("propose: %v", err)
		}
	}
	if why == "" {
		b.t.Fatalf("proposed: %s", s.Title)
	}
	for _, w := range words {
		if !strings.Contains(why, w) {
			b.t.Errorf("refused for %q, want %q", why, w)
		}
	}
	if err == nil {
		if err := b.bot.Do(b.t.Context(), b.pool, s, incident.OpApply, "w1"); outcome(err) != "refused" {
			b.t.Errorf("apply: %v", err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		b.t.Errorf("written: %v", got)
	}
}

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
					"apiVersion": "autoscaling.aibrix.ai/v1alpha1", "kind": "PodAutoscaler", "name": model, "uid": string(pa.GetUID()), "controller": true,
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
			if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != incident.RolloutRunning || !strings.Contains(r.Note, "PodAutoscaler") {
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
		return fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"reason":"Broken","message":"what AIBrix says"}]}}`, kind, status)
	}
	for _, tt := range []struct {
		name   string
		more   map[string]any
		status string
		want   []string
	}{
		{"at its maximum", map[string]any{"maxReplicas": int64(2)}, "", []string{"spec.maxReplicas of PodAutoscaler llama-70b"}},
		{"a schedule has a lower maximum", map[string]any{"schedules": []any{map[string]any{"name": "night", "maxReplicas": int64(2)}}}, "", []string{"schedule night"}},
		{"a schedule has the minimum", map[string]any{"schedules": []any{map[string]any{"name": "day", "minReplicas": int64(4)}}}, "", []string{"schedule day", "minReplicas"}},
		{"it scales a role", map[string]any{"subTargetSelector": map[string]any{"roleName": "decode"}}, "", []string{"role decode"}},
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
		if _, err := b.c.Dynamic(t).Resource(podScalers).Namespace(far).Create(t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
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
	if s := b.propose(addOne); !hasGuard(s, "other autoscalers", incident.GuardCaution, "list podautoscalers.autoscaling.aibrix.ai in all namespaces") {
		t.Errorf("without the right to look: %+v", s.Guardrails)
	}
	account := "system:serviceaccount:" + b.ns + ":bot" // the cluster is shared, and nobody else may gain this right
	b.grant(account, incident.ModeApprove)
	b.c.GrantAll(t, account, rbacv1.PolicyRule{APIGroups: []string{podScalers.Group}, Resources: []string{podScalers.Resource}, Verbs: []string{"list"}})
	bot, err := actions.New(actions.Config{QPS: 500}, b.c.ConfigWithToken(b.c.ServiceAccountToken(t, b.ns, "bot")), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.bot = bot
	plant("its-own", "KPA", target("Deployment", ""))
	plant("another-kind", "KPA", target("StatefulSet", b.ns))
	plant("an-hpa", "HPA", target("Deployment", b.ns)) // the autoscaler that AIBrix makes of it scales in its own namespace
	var s incident.Step
	kubetest.Eventually(t, "the right to look", func(ctx context.Context) (err error) {
		if s, err = b.bot.Propose(ctx, b.pool, addOne); err == nil && hasGuard(s, "other autoscalers", incident.GuardCaution, "") {
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

func hasReplicas(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return n
}

func TestAStormServiceUnderAPodAutoscalerIsNotScaledItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.StormServices, storms, "StormService", map[string]any{"replicas": int64(3), "mode": "Replica"})
	b.create(podScalers, podAutoscaler("KPA", map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "orchestration.aibrix.ai/v1alpha1", "kind": "StormService", "name": model},
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

func TestAModelThatKubeAIScalesHasItsMinimumRaised(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2), "minReplicas": int64(1), "maxReplicas": int64(3)})
	s := b.propose(addOne)
	if s.Target.Field != "spec.minReplicas" || s.From != incident.Set("1") || s.To != incident.Set("3") || !strings.Contains(s.Cost, "maximum of 3") {
		t.Fatalf("%s from %s to %s, cost %q", s.Target, s.From, s.To, s.Cost)
	}
	b.do(s, incident.OpApply)
	spec := b.get(models).Object["spec"].(map[string]any)
	if spec["replicas"] != int64(2) || spec["minReplicas"] != int64(3) {
		t.Errorf("spec %v", spec)
	}
	// KubeAI follows within seconds; then its own maximum is the bound.
	b.patch(models, `{"spec":{"replicas":3}}`)
	b.refusedNow(addOne, "spec.maxReplicas of Model llama-70b")
	b.do(s, incident.OpUndo)
	checkObserved(t, b, s, incident.OpUndo, "w.undo", incident.Set("1"), true)
}

// refusedNow demands that a step is refused for a reason with these words, whatever was written before.
func (b *bench) refusedNow(req incident.StepRequest, words string) {
	b.t.Helper()
	if _, err := b.bot.Propose(b.t.Context(), b.pool, req); outcome(err) != "refused" || !strings.Contains(err.Error(), words) {
		b.t.Errorf("%v, want %q", err, words)
	}
}

func TestAModelWithoutAMaximumIsBoundByThePool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Knobs.Replicas.Max = 3
	b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2)})
	s := b.propose(incident.StepRequest{Kind: incident.StepReplicas, Add: 4})
	if s.To != incident.Set("3") || s.From.Present || strings.Contains(s.Cost, "9007199254740992") {
		t.Errorf("from %s to %s, cost %q", s.From, s.To, s.Cost)
	}
}

func TestAModelThatKubeAIHasNotStartedIsLeftAsleep(t *testing.T) {
	t.Parallel()
	for _, spec := range []map[string]any{{"minReplicas": int64(0)}, {"minReplicas": int64(0), "replicas": int64(0)}} {
		b := newBench(t)
		b.custom(kubetest.Models, models, "Model", spec)
		b.refusedFor(addOne, "sleeps on purpose")
	}
}

func TestAModelThatKubeAILeavesAloneIsScaled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2), "autoscalingDisabled": true})
	s := b.propose(addOne)
	if s.Target.Field != "spec.replicas (scale)" {
		t.Errorf("%s", s.Target)
	}
	b.do(s, incident.OpApply)
	for _, tt := range []struct {
		status string
		want   incident.RolloutState
	}{
		{`{"replicas":{"all":3,"ready":2}}`, incident.RolloutRunning}, {`{"replicas":{"all":3,"ready":3}}`, incident.RolloutDone},
	} {
		b.patch(models, `{"status":`+tt.status+`}`, "status")
		if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != tt.want {
			t.Errorf("%s: %+v, %v", tt.status, r, err)
		}
	}
}

// fluxed makes a VLLMRuntime of a Kustomization, whose replicas are not at spec.replicas.
func fluxed(b *bench, deploymentConfig map[string]any) {
	b.t.Helper()
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime", map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
	b.remove(runtimes)
	o := object("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", map[string]any{"deploymentConfig": deploymentConfig})
	o["metadata"].(map[string]any)["labels"] = map[string]any{"kustomize.toolkit.fluxcd.io/name": "apps"}
	b.createAs(runtimes, o, "kustomize-controller")
}

// readsDefinitions is the bot with the right to read where a kind keeps its replicas.
func (b *bench) readsDefinitions() {
	b.t.Helper()
	b.grant(kubetest.Viewer, incident.ModeApprove)
	b.c.GrantAll(b.t, kubetest.Viewer, rbacv1.PolicyRule{
		APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"},
	})
	b.bot = b.as(kubetest.Viewer, nil)
}

func TestFluxIsAskedAboutTheRealPathOfTheReplicas(t *testing.T) {
	t.Parallel()
	given := map[string]any{"replicas": int64(2), "image": "vllm"}
	t.Run("the definition says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, given)
		b.readsDefinitions()
		b.refusedFor(addOne, "Flux Kustomization apps sets this field")
	})
	t.Run("nobody says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, given)
		b.refusedFor(addOne, "not known", "get customresourcedefinitions.apiextensions.k8s.io", "vllmruntimes.production-stack.vllm.ai")
	})
	t.Run("an earlier scale says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, map[string]any{"image": "vllm"})
		b.patch(runtimes, `{"spec":{"deploymentConfig":{"replicas":2}}}`)
		b.patch(runtimes, `{"spec":{"replicas":3}}`, "scale")
		s := b.propose(addOne)
		if !hasGuard(s, "ownership", incident.GuardPass, "has not set this field") {
			t.Errorf("%+v", s.Guardrails)
		}
		b.do(s, incident.OpApply)
	})
}

func TestWhoHasSetBackTheReplicasOfAnyKindIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime", map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
	b.readsDefinitions()
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	b.patchAs("argocd-controller", runtimes, `{"spec":{"deploymentConfig":{"replicas":2}}}`)
	r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply)
	if err != nil || r.State != incident.RolloutFailed || !strings.Contains(r.Note, "It was set by argocd-controller") {
		t.Errorf("%+v, %v", r, err)
	}
}

// patchAs is patch under the name of a tool.
func (b *bench) patchAs(manager string, r schema.GroupVersionResource, merge string, sub ...string) {
	b.t.Helper()
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Patch(b.t.Context(), model, types.MergePatchType, []byte(merge), metav1.PatchOptions{FieldManager: manager}, sub...)
	if err != nil {
		b.t.Fatalf("patch %s: %v", r.Resource, err)
	}
}

func TestReplicasThatAreNotSetAreNotScaled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime", map[string]any{"deploymentConfig": map[string]any{"image": "vllm"}})
	b.readsDefinitions()
	b.refusedFor(addOne, "spec.deploymentConfig.replicas", "not set")
}

func TestARankOfDataParallelEnginesIsNotScaled(t *testing.T) {
	t.Parallel()
	dp := func(more ...string) []string { return append(served(), more...) }
	for _, tt := range []struct {
		name          string
		command, args []string
	}{
		{"the flag", nil, dp("--data-parallel-size", "2", "--data-parallel-rank", "$(POD_INDEX)")},
		{"joined and underlined", nil, dp("--data_parallel_rank=1")},
		{"short", nil, dp("-dpn", "1")},
		{"the first of several ranks", nil, dp("--data-parallel-start-rank=2")},
		{"its short form", nil, dp("-dpr=2")},
		{"a node of several", nil, dp("--nnodes=2", "--node-rank=1")},
		{"in a script", []string{"sh", "-c"}, []string{"vllm serve m --data-parallel-size 2 --data-parallel-rank $POD_INDEX"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, tt.command, tt.args)
			b.refusedFor(addOne, "rank")
			b.create(hpas, hpa(2, 6)) // an autoscaler does not make it better
			b.refusedFor(addOne, "rank")
		})
	}
	t.Run("all ranks in one pod", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.serve(2, nil, dp("--data-parallel-size=2", "--data-parallel-size-local=2"))
		b.propose(addOne)
	})
	t.Run("a group of pods has all ranks", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.custom(kubetest.LeaderWorkerSets, groups, "LeaderWorkerSet", map[string]any{"replicas": int64(2), "leaderWorkerTemplate": map[string]any{
			"workerTemplate": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"args": []any{"--data-parallel-start-rank=2"}}}}},
		}})
		b.propose(addOne)
	})
}

func TestKindsThatExistToBeScaledAreScaledUnderTheirOwner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind string
		crd  kubetest.CRD
		in   schema.GroupVersionResource
	}{
		{"DisaggregatedSetRoleScaler", kubetest.RoleScalers, scalers},
		{"DynamoGraphDeploymentScalingAdapter", kubetest.GraphScaleAdapter, adapters},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.custom(tt.crd, tt.in, tt.kind, map[string]any{"replicas": int64(2)}, ownedBy([]any{b.owner()}))
			s := b.propose(addOne)
			b.do(s, incident.OpApply)
			if got, _, _ := unstructured.NestedInt64(b.get(tt.in).Object, "spec", "replicas"); got != 3 {
				t.Errorf("%d replicas", got)
			}
			b.do(s, incident.OpUndo)
		})
	}
	t.Run("not by its name alone", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		o := deployment(2, nil, served())
		ownedBy([]any{b.owner()})(o)
		b.create(deployments, o)
		b.refusedFor(addOne, "belongs to ConfigMap owner")
	})
}

func TestARefusedChildIsToldWhichScalerItsOwnerHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	b.custom(kubetest.LeaderWorkerSets, groups, "LeaderWorkerSet", map[string]any{"replicas": int64(2)}, ownedBy([]any{owner}))
	b.refusedFor(addOne, "belongs to ConfigMap owner") // its right to list scalers is missing, which takes nothing away
	b.c.InstallCRD(t, kubetest.RoleScalers)
	o := object("disaggregatedset.x-k8s.io/v1", "DisaggregatedSetRoleScaler", map[string]any{"replicas": int64(2)})
	ownedBy([]any{owner})(o)
	b.create(scalers, o)
	b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{APIGroups: []string{scalers.Group}, Resources: []string{scalers.Resource}, Verbs: []string{"list"}})
	b.refusedFor(addOne, "DisaggregatedSetRoleScaler llama-70b")
}

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
		{"its own route", at(ref("HTTPRoute", model)), model, "Throttle HTTPRoute llama-70b from 184", incident.GuardPass, "HTTPRoute llama-70b"},
		{"no route is configured", at(ref("HTTPRoute", "other")), "", "Throttle HTTPRoute other from 184", incident.GuardPass, "HTTPRoute other"},
		{"a Gateway", at(ref("Gateway", "eg")), "", "Throttle Gateway eg from 184", incident.GuardCaution, "every route"},
		{"a Gateway above the route", at(ref("Gateway", "eg")), model, "Throttle Gateway eg from 184", incident.GuardCaution, "every route"},
		{"another route beside", at(ref("HTTPRoute", model), ref("HTTPRoute", "other")), model, "Throttle HTTPRoute llama-70b and HTTPRoute other from 184", incident.GuardCaution, "HTTPRoute other"},
		{"another route", at(ref("HTTPRoute", "other")), model, "", incident.GuardRefuse, "HTTPRoute other"},
		{"a route of that name of another kind", at(ref("GRPCRoute", model)), model, "", incident.GuardRefuse, "GRPCRoute llama-70b"},
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
		b.patch(policies, fmt.Sprintf(`{"status":{"ancestors":[{"ancestorRef":{"name":"gw"},"controllerName":"gateway.envoyproxy.io/gatewayclass-controller","conditions":[
			{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-11-21T00:00:00Z","observedGeneration":9},
			{"type":"Overridden","status":%q,"reason":"Overridden","message":"by a policy of the route","lastTransitionTime":"2026-11-21T00:00:00Z","observedGeneration":9}]}]}}`, overridden), "status")
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
	if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != incident.RolloutFailed || !strings.Contains(r.Note, "by a policy of the route") {
		t.Errorf("rollout: %+v, %v", r, err)
	}
	b.do(s, incident.OpUndo)
}

func TestAMinimumThatIsNotReachedIsNotRaisedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(scaledObjs, scaledObject(map[string]any{"minReplicaCount": int64(3)}))
	b.refusedFor(addOne, "minReplicaCount", "3", "2 replicas")
	b.patch(deployments, `{"spec":{"replicas":3}}`)
	if s := b.propose(addOne); s.To != incident.Set("4") {
		t.Errorf("to %s", s.To)
	}
}

func TestAnAutoscalerThatFailsIsACaution(t *testing.T) {
	t.Parallel()
	for _, status := range []string{
		`{"conditions":[{"type":"Ready","status":"False","reason":"ScaledObjectCheckFailed","message":"no such trigger"}]}`,
		`{"conditions":[{"type":"Ready","status":"True"},{"type":"Fallback","status":"True","reason":"FallbackExists","message":"no such trigger"}]}`,
	} {
		b := newBench(t)
		b.serve(2, nil, served())
		b.create(scaledObjs, scaledObject(nil))
		if s := b.propose(addOne); hasGuard(s, "autoscaler", incident.GuardCaution, "") {
			t.Errorf("a caution without a status: %+v", s.Guardrails)
		}
		b.patch(scaledObjs, `{"status":`+status+`}`, "status")
		if s := b.propose(addOne); !hasGuard(s, "autoscaler", incident.GuardCaution, "no such trigger") {
			t.Errorf("%s: %+v", status, s.Guardrails)
		}
	}
}

func TestAFreshForeignWriterIsACaution(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(policies, policy(parallel(400)))
	wants := func(name string, req incident.StepRequest, verdict incident.GuardVerdict, words string) incident.Step {
		t.Helper()
		s := b.propose(req)
		if hasGuard(s, "other writers", incident.GuardCaution, words) != (verdict == incident.GuardCaution) {
			t.Errorf("%s: %+v", name, s.Guardrails)
		}
		return s
	}
	wants("who made the object does not scale it", addOne, incident.GuardPass, "")
	b.patchAs("keeper", deployments, `{"spec":{"replicas":3}}`)
	s := wants("somebody scales it", addOne, incident.GuardCaution, "keeper set spec.replicas")
	later, err := actions.New(actions.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }}, b.c.ConfigFor(kubetest.Bot), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if old, err := later.Propose(t.Context(), b.pool, addOne); err != nil || hasGuard(old, "other writers", incident.GuardCaution, "") {
		t.Errorf("an hour later: %+v, %v", old.Guardrails, err)
	}
	b.do(s, incident.OpApply)
	wants("its own write", addOne, incident.GuardPass, "")
	for manager, verdict := range map[string]incident.GuardVerdict{
		"cron-hpa": incident.GuardCaution, "kubectl": incident.GuardPass, "kube-controller-manager": incident.GuardPass,
	} {
		b.patchAs("restorer", deployments, `{"spec":{"replicas":2}}`)
		b.patchAs(manager, deployments, `{"spec":{"replicas":3}}`, "scale")
		wants("through the scale, by "+manager, addOne, verdict, manager+" set spec.replicas (scale) last")
	}
	wants("the other knob", shed, incident.GuardPass, "")
	b.patchAs("tuner", policies, `{"spec":{"circuitBreaker":{"maxParallelRequests":300}}}`)
	wants("somebody changes the limit", shed, incident.GuardCaution, "tuner set spec.circuitBreaker.maxParallelRequests")
}

// Readiness is counted where a kind does not say it.
func TestPodsAreCountedWhereAKindDoesNotSayHowManyAreReady(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime", map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
	b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	look := func(want incident.RolloutState, words string) {
		t.Helper()
		if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != want || !strings.Contains(r.Note, words) {
			t.Errorf("%+v, %v; want %s, %q", r, err, want, words)
		}
	}
	b.patch(runtimes, `{"status":{"replicas":3,"selector":"app=runtime"}}`, "status")
	look(incident.RolloutRunning, "0 of 3")
	for i := range 3 {
		b.readyPod(fmt.Sprintf("runtime-%d", i), map[string]string{"app": "runtime"})
	}
	look(incident.RolloutDone, "3 of 3")
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// readyPod makes a pod that is ready.
func (b *bench) readyPod(name string, labels map[string]string) {
	b.t.Helper()
	pods := b.c.Client(b.t).CoreV1().Pods(b.ns)
	pod, err := pods.Create(b.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(b.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}
