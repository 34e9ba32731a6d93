package chart

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// withRights applies the permissions that the chart renders with these values, and returns what the bot connects with.
func withRights(t *testing.T, c *kubetest.Cluster, namespace, values string) *rest.Config {
	t.Helper()
	kinds := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	account := ""
	for _, o := range rendered(t, namespace, values) {
		if o.GetKind() == "ServiceAccount" {
			account = o.GetName()
		}
		if o.GroupVersionKind().Group != kinds.Group {
			continue
		}
		where := kinds.WithResource(strings.ToLower(o.GetKind()) + "s")
		_, err := c.Dynamic(t).Resource(where).Namespace(o.GetNamespace()).Create(t.Context(), &o, metav1.CreateOptions{})
		must(t, err)
	}
	if account == "" {
		t.Fatal("the chart makes no service account")
	}
	return c.ConfigWithToken(c.ServiceAccountToken(t, namespace, account))
}

// writing are the verbs of the bot's account that change something, with what they change, as the API server says. To
// ask it questions changes nothing.
func writing(t *testing.T, c *kubetest.Cluster, rc *rest.Config) []string {
	t.Helper()
	k, err := kubernetes.NewForConfig(rc)
	must(t, err)
	all, err := c.Client(t).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	var out []string
	for _, in := range all.Items {
		got, err := k.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: in.Name},
		}, metav1.CreateOptions{})
		must(t, err)
		if got.Status.Incomplete || len(got.Status.ResourceRules) == 0 {
			t.Fatalf("namespace %s: the API server does not know all: %+v", in.Name, got.Status)
		}
		for _, r := range got.Status.ResourceRules {
			for _, verb := range r.Verbs {
				asks := verb == "create" && !slices.ContainsFunc(r.Resources, func(name string) bool {
					return !strings.HasSuffix(name, "reviews")
				})
				if !slices.Contains([]string{"get", "list", "watch"}, verb) && !asks {
					out = append(out, verb+" "+strings.Join(r.Resources, ",")+" in "+in.Name)
				}
			}
		}
	}
	return out
}

// What a release may do is asked of a real API server, with the account and the permissions that the chart makes: no
// write is let through until a pool and a mode say so, and then only to what the pool names.
func TestAFreshInstallCannotWriteUntilAPoolAndAModeSaySo(t *testing.T) {
	t.Parallel()
	c := cluster.Cluster(t)
	const pool = `
  pools:
    - name: llama
      match: {a: b}
      matchers: {a: b}
      workload: {apiVersion: apps/v1, kind: Deployment, namespace: MODELS, name: llama, container: vllm}
      knobs: {replicas: {min: 1, max: 8}, max_num_batched_tokens: {min: 2048, max: 16384}}
`
	for name, tt := range map[string]struct {
		values string
		writes bool
	}{
		"as it comes":               {"", false},
		"a mode and no pool":        {"config: {mode: approve}", false},
		"a pool and no mode":        {"config:" + pool, false},
		"a pool and a mode":         {"config:\n  mode: approve" + pool, true},
		"both and a held dry run":   {"dryRun: true\nconfig:\n  mode: approve" + pool, false},
		"a pool that only observes": {"config:\n  mode: observe" + pool, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models := c.Namespace(t)
			rc := withRights(t, c, c.Namespace(t), strings.ReplaceAll(tt.values, "MODELS", models))
			if got := writing(t, c, rc); (len(got) > 0) != tt.writes ||
				slices.ContainsFunc(got, func(s string) bool { return !strings.HasSuffix(s, " in "+models) }) {
				t.Errorf("it may %q", got)
			}
			bot, err := dynamic.NewForConfig(rc)
			must(t, err)
			deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
			for _, d := range []string{"llama", "another"} {
				_, err := c.Dynamic(t).Resource(deployments).Namespace(models).Create(t.Context(), deploymentOf(d),
					metav1.CreateOptions{})
				must(t, err)
				for _, sub := range [][]string{nil, {"scale"}} {
					_, err := bot.Resource(deployments).Namespace(models).Patch(t.Context(), d, types.MergePatchType,
						[]byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{}, sub...)
					if let := tt.writes && d == "llama"; let != (err == nil) || !let && !apierrors.IsForbidden(err) {
						t.Errorf("%s %v: %v, want it let through: %v", d, sub, err, let)
					}
				}
			}
		})
	}
}

// deploymentOf is a Deployment without pods.
func deploymentOf(name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "vllm", "image": "x"}}},
			},
		},
	}}
}
