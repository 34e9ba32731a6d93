package actions_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

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
		{
			"in a script",
			[]string{"sh", "-c"},
			[]string{"vllm serve m --data-parallel-size 2 --data-parallel-rank $POD_INDEX"},
		},
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
		b.custom(kubetest.LeaderWorkerSets, groups, "LeaderWorkerSet",
			map[string]any{"replicas": int64(2), "leaderWorkerTemplate": map[string]any{
				"workerTemplate": map[string]any{"spec": map[string]any{"containers": []any{
					map[string]any{"args": []any{"--data-parallel-start-rank=2"}},
				}}},
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
			if hasGuard(s, "other writers", incident.GuardCaution, "") {
				t.Errorf("whoever made it is taken for one that scales it: %+v", s.Guardrails)
			}
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

func TestARefusedChildIsToldWhichScalerItsPodsHave(t *testing.T) {
	t.Parallel()
	const graph, component = "nvidia.com/dynamo-graph-deployment-name", "nvidia.com/dynamo-component"
	worker := map[string]string{"app": model, graph: "qwen", component: "worker"}
	leader := map[string]string{
		"leaderworkerset.sigs.k8s.io/name": model, "leaderworkerset.sigs.k8s.io/worker-index": "0",
		"disaggregatedset.x-k8s.io/name": "qwen", "disaggregatedset.x-k8s.io/role": "decode",
	}
	for name, tt := range map[string]struct {
		groups bool
		// scalers are the scalers' selectors by their names; pods are what the workload runs.
		scalers map[string]string
		pods    []map[string]string
		named   string
	}{
		"that of its component, of several in a graph": {
			scalers: map[string]string{
				"qwen-frontend": graph + "=qwen," + component + "=Frontend",
				"qwen-worker":   graph + "=qwen," + component + "=worker",
				"gemma-worker":  graph + "=gemma," + component + "=worker",
			},
			pods: []map[string]string{worker}, named: "DynamoGraphDeploymentScalingAdapter qwen-worker",
		},
		"none of another component": {
			scalers: map[string]string{"qwen-frontend": graph + "=qwen," + component + "=Frontend"},
			pods:    []map[string]string{worker},
		},
		"none that scales some of its pods only": {
			scalers: map[string]string{"qwen-worker": graph + "=qwen," + component + "=worker"},
			pods:    []map[string]string{worker, {"app": model, graph: "qwen", component: "Frontend"}},
		},
		"none of two": {
			scalers: map[string]string{
				"qwen-a": graph + "=qwen," + component + "=worker", "qwen-b": graph + "=qwen," + component + "=worker",
			},
			pods: []map[string]string{worker},
		},
		"none that has not said what it scales": {
			scalers: map[string]string{"qwen-worker": ""}, pods: []map[string]string{worker},
		},
		"none without a pod": {scalers: map[string]string{"qwen-worker": graph + "=qwen," + component + "=worker"}},
		"that of its role": {
			groups: true,
			scalers: map[string]string{
				"qwen-decode": "disaggregatedset.x-k8s.io/name=qwen,disaggregatedset.x-k8s.io/role=decode," +
					"leaderworkerset.sigs.k8s.io/worker-index=0",
				"qwen-prefill": "disaggregatedset.x-k8s.io/name=qwen,disaggregatedset.x-k8s.io/role=prefill," +
					"leaderworkerset.sigs.k8s.io/worker-index=0",
			},
			pods: []map[string]string{leader}, named: "DisaggregatedSetRoleScaler qwen-decode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			owner := b.owner()
			b.scaledChild(owner, tt.groups)
			for i, labels := range tt.pods {
				b.readyPod(fmt.Sprintf("%s-%d", model, i), labels)
			}
			b.refusedFor(addOne, "belongs to ConfigMap owner") // its right to list scalers is missing, which takes nothing away
			kind, crd, in := "DynamoGraphDeploymentScalingAdapter", kubetest.GraphScaleAdapter, adapters
			if tt.groups {
				kind, crd, in = "DisaggregatedSetRoleScaler", kubetest.RoleScalers, scalers
			}
			b.c.InstallCRD(t, crd)
			for name, selector := range tt.scalers {
				b.scaler(kind, in, name, selector, owner)
			}
			b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{
				APIGroups: []string{in.Group}, Resources: []string{in.Resource}, Verbs: []string{"list"},
			}, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
			if tt.named != "" {
				b.refusedFor(addOne, "let the pool's workload be "+tt.named+",")
				return
			}
			s, err := b.bot.Propose(t.Context(), b.pool, addOne)
			if why := refusals(s); err != nil || !strings.Contains(why, "belongs to ConfigMap owner") ||
				strings.Contains(why, "workload be") {
				t.Errorf("%v: %s", err, why)
			}
		})
	}
}

// scaledChild makes a workload that something owns, by Deployment or in groups of pods.
func (b *bench) scaledChild(owner map[string]any, groupsOfPods bool) {
	b.t.Helper()
	if !groupsOfPods {
		o := deployment(0, nil, served())
		o["spec"].(map[string]any)["paused"] = true // its pods are the test's
		ownedBy([]any{owner})(o)
		o["spec"].(map[string]any)["replicas"] = int64(2)
		b.create(deployments, o)
		return
	}
	b.custom(kubetest.LeaderWorkerSets, groups, "LeaderWorkerSet", map[string]any{"replicas": int64(2)},
		ownedBy([]any{owner}))
	b.patch(groups, `{"status": {"replicas": 2, "hpaPodSelector": "leaderworkerset.sigs.k8s.io/name=`+model+
		`,leaderworkerset.sigs.k8s.io/worker-index=0"}}`, "status")
}

// scaler makes an object that is made to be scaled, as its operator does: with what it selects in its status.
func (b *bench) scaler(kind string, in schema.GroupVersionResource, name, selector string, owner map[string]any) {
	b.t.Helper()
	o := object(in.GroupVersion().String(), kind, map[string]any{"replicas": int64(2)})
	ownedBy([]any{owner})(o)
	o["metadata"].(map[string]any)["name"] = name
	made := b.create(in, o)
	made.Object["status"] = map[string]any{"replicas": int64(2), "selector": selector}
	if _, err := b.c.Dynamic(b.t).Resource(in).Namespace(b.ns).UpdateStatus(b.t.Context(), made,
		metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
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
		`{"conditions":[{"type":"Ready","status":"True"},{"type":"Fallback","status":"True","reason":"FallbackExists",` +
			`"message":"no such trigger"}]}`,
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

func TestAForeignWriterIsACaution(t *testing.T) {
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
	later, err := actions.New(actions.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }},
		b.c.ConfigFor(kubetest.Bot), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if old, err := later.Propose(t.Context(), b.pool, addOne); err != nil ||
		!hasGuard(old, "other writers", incident.GuardCaution, "keeper, a program, set spec.replicas (scale) on ") {
		t.Errorf("a program, an hour later: %+v, %v", old.Guardrails, err)
	}
	for _, person := range []string{"kubectl-edit", "kubectl", "argocd-application-controller", "helm"} {
		b.patchAs("restorer", deployments, `{"spec":{"replicas":2}}`)
		b.patchAs(person, deployments, `{"spec":{"replicas":3}}`)
		s = wants("just now, "+person, addOne, incident.GuardCaution, person+" set spec.replicas")
		if old, err := later.Propose(t.Context(), b.pool, addOne); err != nil ||
			hasGuard(old, "other writers", incident.GuardCaution, "") {
			t.Errorf("an hour later, %s: %+v, %v", person, old.Guardrails, err)
		}
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
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime",
		map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
	b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"pods"},
		Verbs: []string{"list"},
	})
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	expect := func(want incident.RolloutState, words string) {
		t.Helper()
		if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != want ||
			!strings.Contains(r.Note, words) {
			t.Errorf("%+v, %v; want %s, %q", r, err, want, words)
		}
	}
	b.patch(runtimes, `{"status":{"replicas":3,"selector":"app=runtime"}}`, "status")
	expect(incident.RolloutRunning, "0 of 3")
	for i := range 3 {
		b.readyPod(fmt.Sprintf("runtime-%d", i), map[string]string{"app": "runtime"})
	}
	expect(incident.RolloutDone, "3 of 3")
}
