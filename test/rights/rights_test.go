package rights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var kube = kubetest.Share(kubetest.Options{})

func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }

// pool is the one of the manifests, with every knob.
func pool() incident.Pool {
	return incident.Pool{
		Name: "llama-70b", Mode: incident.ModeApprove, Matchers: map[string]string{"model_name": "llama-70b"},
		Workload: incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama-70b", Container: "vllm"},
		Knobs: incident.Knobs{
			Replicas: &incident.IntKnob{Min: 2, Max: 8}, MaxNumBatchedTokens: &incident.IntKnob{Min: 2048, Max: 16384},
			Throttle: &incident.ThrottleKnob{Kind: "envoy-gateway", Namespace: "llm", Name: "llama-70b", Field: "maxParallelRequests", Min: 16, Max: 1024},
		},
	}
}

// TestTheManifestsGiveTheBotWhatItNeedsAndNoMore applies them and asks with the token of the bot's own account.
func TestTheManifestsGiveTheBotWhatItNeedsAndNoMore(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects)
	for _, ns := range []string{"vllm-medic", "llm"} {
		c.MakeNamespace(t, ns)
	}
	apply(t, c)
	makeWorkload(t, c)
	rc := c.ConfigWithToken(c.ServiceAccountToken(t, "vllm-medic", "vllm-medic"))

	t.Run("knobs", func(t *testing.T) {
		t.Parallel()
		registry, err := actions.New(actions.Config{}, rc, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		kubetest.Eventually(t, "the rights of the knobs", func(ctx context.Context) error {
			missing, err := registry.Missing(ctx, pool())
			if err == nil && len(missing) > 0 {
				err = fmt.Errorf("missing: %q", missing)
			}
			return err
		})
	})
	t.Run("evidence", func(t *testing.T) {
		t.Parallel()
		kubetest.Eventually(t, "the evidence", func(ctx context.Context) error { return looks(ctx, rc) })
	})
	t.Run("people", func(t *testing.T) {
		t.Parallel()
		gate, err := access.New(rc, "vllm-medic", "")
		if err != nil {
			t.Fatal(err)
		}
		person := c.ServiceAccountToken(t, "llm", "somebody", "vllm-medic")
		kubetest.Eventually(t, "the reviews", func(ctx context.Context) error {
			_, err := gate.Check(ctx, person, access.Decide)
			if errors.Is(err, access.ErrForbidden) {
				return nil // known, and without a right of their own
			}
			return fmt.Errorf("a person without rights: %w", err)
		})
	})
	t.Run("no more", func(t *testing.T) {
		t.Parallel()
		for _, r := range []authorizationv1.ResourceAttributes{
			{Verb: "delete", Resource: "pods", Namespace: "llm"},
			{Verb: "get", Resource: "secrets", Namespace: "llm"},
			{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "llm"},
			{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "vllm-medic"},
			{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "llm"},
			{Verb: "impersonate", Resource: "users"},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:vllm-medic:vllm-medic", ResourceAttributes: &r,
			}}
			got, err := c.Client(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.Allowed {
				t.Errorf("the bot may %s %s %s", r.Verb, r.Resource, r.Subresource)
			}
		}
	})
}

// looks reads what an incident reads: nothing may be refused.
func looks(ctx context.Context, rc *rest.Config) error {
	k, err := evidence.NewKube(rc)
	if err != nil {
		return err
	}
	c, err := evidence.New(evidence.Config{URL: "http://127.0.0.1:1"}, k, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	got := c.Collect(ctx, pool(), nil, evidence.CollectOptions{}).Cluster
	if got.Error != "" || got.Replicas == nil {
		return fmt.Errorf("the workload: %+v", got)
	}
	chain, _, err := c.FindOwners(ctx, map[string]string{"namespace": "llm", "pod": "llama-70b-1"})
	if err != nil || len(chain) != 2 {
		return fmt.Errorf("the owners of a pod: %v %w", chain, err)
	}
	return nil
}

// resources are where the kinds of the manifests are.
func resources() map[string]schema.GroupVersionResource {
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	return map[string]schema.GroupVersionResource{
		"ServiceAccount": {Version: "v1", Resource: "serviceaccounts"},
		"ClusterRole":    rbac.WithResource("clusterroles"), "ClusterRoleBinding": rbac.WithResource("clusterrolebindings"),
		"Role": rbac.WithResource("roles"), "RoleBinding": rbac.WithResource("rolebindings"),
	}
}

func apply(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	b, err := os.ReadFile("../../deploy/kubernetes/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096)
	for n := 0; ; n++ {
		var o unstructured.Unstructured
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			if n == 0 {
				t.Fatal("the manifest is empty")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		where, known := resources()[o.GetKind()]
		if !known {
			t.Fatalf("this test does not know %s", o.GetKind())
		}
		client := c.Dynamic(t).Resource(where)
		strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		if o.GetNamespace() == "" {
			_, err = client.Create(t.Context(), &o, strict)
		} else {
			_, err = client.Namespace(o.GetNamespace()).Create(t.Context(), &o, strict)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// makeWorkload makes a Deployment with the ReplicaSet and the pod that its controllers would make.
func makeWorkload(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	labels := map[string]string{"app": "llama-70b"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm/vllm-openai:v0.20.0", Args: []string{"--max-num-batched-tokens=8192"}}}},
	}
	two := int32(2)
	k := c.Client(t)
	d, err := k.AppsV1().Deployments("llm").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "llama-70b"},
		Spec:       appsv1.DeploymentSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	owned := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: &yes}}
	}
	rs, err := k.AppsV1().ReplicaSets("llm").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "llama-70b-7d4", Labels: labels, OwnerReferences: owned("Deployment", d.Name, d.UID)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "llama-70b-1", Labels: labels, OwnerReferences: owned("ReplicaSet", rs.Name, rs.UID)}, Spec: template.Spec}
	_, err = k.CoreV1().Pods("llm").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
