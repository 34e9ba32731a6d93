package actions_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var (
	podScalers = schema.GroupVersionResource{
		Group: "autoscaling.aibrix.ai", Version: "v1alpha1",
		Resource: "podautoscalers",
	}
	storms = schema.GroupVersionResource{
		Group: "orchestration.aibrix.ai", Version: "v1alpha1",
		Resource: "stormservices",
	}
	models   = schema.GroupVersionResource{Group: "kubeai.org", Version: "v1", Resource: "models"}
	runtimes = schema.GroupVersionResource{
		Group: "production-stack.vllm.ai", Version: "v1alpha1",
		Resource: "vllmruntimes",
	}
	scalers = schema.GroupVersionResource{
		Group: "disaggregatedset.x-k8s.io", Version: "v1",
		Resource: "disaggregatedsetrolescalers",
	}
	adapters = schema.GroupVersionResource{
		Group: "nvidia.com", Version: "v1alpha1",
		Resource: "dynamographdeploymentscalingadapters",
	}
)

// custom makes the pool's workload of another kind.
func (b *bench) custom(crd kubetest.CRD, r schema.GroupVersionResource, kind string, spec map[string]any,
	change ...func(o map[string]any),
) {
	b.t.Helper()
	b.c.InstallCRD(b.t, crd)
	version := r.GroupVersion().String()
	b.pool.Workload.APIVersion, b.pool.Workload.Kind = version, kind
	b.pool.Knobs = b.pool.Knobs.Without(incident.StepMaxNumBatchedTokens)
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

func hasReplicas(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return n
}

// refusedNow demands that a step is refused for a reason with these words, whatever was written before.
func (b *bench) refusedNow(req incident.StepRequest, words string) {
	b.t.Helper()
	if _, err := b.bot.Propose(b.t.Context(), b.pool, req); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), words) {
		b.t.Errorf("%v, want %q", err, words)
	}
}

// fluxed makes a VLLMRuntime of a Kustomization, whose replicas are not at spec.replicas.
func fluxed(b *bench, deploymentConfig map[string]any) {
	b.t.Helper()
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime",
		map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
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

// patchAs is patch under the name of a tool.
func (b *bench) patchAs(manager string, r schema.GroupVersionResource, merge string, sub ...string) {
	b.t.Helper()
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Patch(b.t.Context(), model, types.MergePatchType,
		[]byte(merge), metav1.PatchOptions{FieldManager: manager}, sub...)
	if err != nil {
		b.t.Fatalf("patch %s: %v", r.Resource, err)
	}
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
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: labels,
		}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(b.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}
