package rights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var kube *kubetest.Shared

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run gives the API server an authority of client certificates to publish.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "rights-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	users, err := identity.NewAuthority(dir, "users")
	if err != nil {
		return 1, err
	}
	kube = kubetest.Share(kubetest.Options{ServerArgs: []string{"--client-ca-file=" + users.File}})
	return kube.Main(m), nil
}

// pool has every knob.
func pool() incident.Pool {
	return incident.Pool{
		Name: "llama-70b", Mode: incident.ModeApprove, Matchers: map[string]string{"model_name": "llama-70b"},
		Workload: incident.WorkloadRef{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama-70b",
			Container: "vllm",
		},
		HTTPRoute: incident.RouteRef{Namespace: "llm", Name: "llama-70b"},
		Knobs: incident.Knobs{
			Replicas: &incident.IntKnob{Min: 2, Max: 8}, Arguments: incident.ArgumentKnobs{
				incident.StepMaxNumBatchedTokens: {Min: 2048, Max: 16384},
			},
			Throttle: &incident.ThrottleKnob{
				Kind: "envoy-gateway", Namespace: "llm", Name: "llama-70b",
				Field: "maxParallelRequests", Min: 16, Max: 1024,
			},
		},
	}
}

// TestTheBotIsGrantedWhatItNeedsAndNoMore asks with the token of the bot's own account.
func TestTheBotIsGrantedWhatItNeedsAndNoMore(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers)
	for _, ns := range []string{"vllm-medic", "llm"} {
		c.MakeNamespace(t, ns)
	}
	all := grants(t, incident.ModeApprove)
	for _, g := range all {
		for _, r := range g.Rules {
			if len(r.Without) == 0 {
				t.Errorf("it is not said what does not work without %+v", r.PolicyRule)
			}
		}
	}
	rc := apply(t, c, all)
	makeWorkload(t, c)

	t.Run("knobs", func(t *testing.T) {
		t.Parallel()
		registry, err := actions.New(actions.Config{}, rc, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		kubetest.Eventually(t, "the rights of the knobs", func(ctx context.Context) error {
			needs, err := registry.Needs(ctx, pool())
			for _, n := range needs {
				lacks, asked := registry.Lacks(ctx, n.Attributes())
				if err = errors.Join(err, asked); lacks {
					err = errors.Join(err, fmt.Errorf("missing: %s", n))
				}
			}
			return err
		})
	})
	t.Run("where a custom kind keeps its replicas", func(t *testing.T) {
		t.Parallel()
		managedByFlux(t, c)
	})
	t.Run("evidence", func(t *testing.T) {
		t.Parallel()
		kubetest.Eventually(t, "the evidence", func(ctx context.Context) error { return readEvidence(ctx, rc) })
	})
	t.Run("routing", func(t *testing.T) {
		t.Parallel()
		routes(t, c, rc)
	})
	t.Run("each right to look at changes is needed", func(t *testing.T) {
		t.Parallel()
		eachIsNeeded(t, c)
	})
	t.Run("people", func(t *testing.T) {
		t.Parallel()
		gate, err := access.New(rc, access.Settings{Audience: "vllm-medic"})
		if err != nil {
			t.Fatal(err)
		}
		person := c.ServiceAccountToken(t, "llm", "somebody", "vllm-medic")
		kubetest.Eventually(t, "the reviews", func(ctx context.Context) error {
			_, err := gate.Check(ctx, access.Shown{Token: person}, access.Decide)
			if errors.Is(err, access.ErrForbidden) {
				return nil // known, and without a right of their own
			}
			return fmt.Errorf("a person without rights: %w", err)
		})
	})
	t.Run("the authority of certificates", func(t *testing.T) {
		t.Parallel()
		gate, err := access.New(rc, access.Settings{Audience: "vllm-medic", ClientCertificates: true})
		must(t, err)
		kubetest.Eventually(t, "the published authority", func(ctx context.Context) error {
			_, err := gate.Authorities(ctx)
			return err
		})
	})
	t.Run("no more", func(t *testing.T) {
		t.Parallel()
		for _, r := range []authorizationv1.ResourceAttributes{
			{Verb: "delete", Resource: "pods", Namespace: "llm"},
			{Verb: "get", Resource: "secrets", Namespace: "llm"},
			{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "llm"},
			{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "vllm-medic", Name: "llama-70b"},
			{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "llm", Name: "another"},
			{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "llm"},
			{Verb: "impersonate", Resource: "users"},
			{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "vllm-medic"},
			{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "default"},
			{Verb: "list", Resource: "pods", Namespace: "default"},
			{Verb: "get", Resource: "nodes"},
			{Verb: "list", Resource: "events", Namespace: "kube-system"},
			{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: "coredns"},
			{Verb: "patch", Resource: "configmaps", Namespace: "kube-system", Name: "extension-apiserver-authentication"},
			{Verb: "create", Resource: "events", Namespace: "default"},
			{Verb: "patch", Group: "apps", Resource: "replicasets", Namespace: "llm"},
			{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "llm"},
			{Verb: "create", Group: "autoscaling.aibrix.ai", Resource: "podautoscalers", Namespace: "llm"},
			{Verb: "list", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
			{Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "models.kubeai.org"},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: account, ResourceAttributes: &r,
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

// managedByFlux asks for a step on a kind whose definition alone says where it keeps its replicas. With the rights of
// the manifests, and those that the platform's page adds, the bot knows that Flux leaves them alone.
func managedByFlux(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	c.InstallCRDYAML(t, []byte(engineSets))
	engines := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "enginesets"}
	_, err := c.Dynamic(t).Resource(engines).Namespace("llm").Create(t.Context(),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "EngineSet",
			"metadata": map[string]any{
				"name":   "llama-70b",
				"labels": map[string]any{"kustomize.toolkit.fluxcd.io/name": "apps"},
			},
			"spec": map[string]any{"engines": map[string]any{"number": int64(2)}},
		}}, metav1.CreateOptions{FieldManager: "somebody"})
	must(t, err)
	p := pool()
	p.Workload = incident.WorkloadRef{APIVersion: "example.org/v1", Kind: "EngineSet", Namespace: "llm", Name: "llama-70b"}
	p.Knobs = p.Knobs.Without(incident.StepMaxNumBatchedTokens)
	// The bot's own account may read fewer Deployments, and the tests at the same time rest on that.
	rc := accountWith(t, c, "llm", "engine-sets", rolesOf(grantsFor(t, app.Options{
		Kubeconfig: c.Kubeconfig(t, kubetest.Admin),
		Config:     config.Config{Kubernetes: &config.Kubernetes{}, Pools: []incident.Pool{p}},
	})))
	registry, err := actions.New(actions.Config{}, rc, slog.New(slog.DiscardHandler))
	must(t, err)
	kubetest.Eventually(t, "the step on an EngineSet", func(ctx context.Context) error {
		step, err := registry.Propose(ctx, p, incident.StepRequest{Kind: incident.StepReplicas, Add: 1})
		if err == nil && !step.Executable() {
			err = fmt.Errorf("guardrails: %+v", step.Guardrails)
		}
		return err
	})
}

// readEvidence reads what an incident reads: nothing may be refused.
func readEvidence(ctx context.Context, rc *rest.Config) error {
	k, err := cluster.New(rc)
	if err != nil {
		return err
	}
	c, err := evidence.New(evidence.Config{Prometheus: prometheus.Config{URL: "http://127.0.0.1:1"}}, k,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	got := c.Collect(ctx, pool(), nil, evidence.CollectOptions{}).Cluster
	if got.Error != "" || got.Unread != nil || got.Replicas == nil || len(got.Changes) != 3 || len(got.Crashes) != 1 ||
		got.Crashes[0].Log == nil {
		return fmt.Errorf("the workload: %+v", got)
	}
	if got := k.Cluster(ctx, setRef(), time.Now(), nil); got.Error != "" || got.Unread != nil || len(got.Changes) != 1 {
		return fmt.Errorf("the StatefulSet: %+v", got)
	}
	chain, _, err := c.FindOwners(ctx, map[string]string{"namespace": "llm", "pod": "llama-70b-1"})
	if err != nil || len(chain) != 2 {
		return fmt.Errorf("the owners of a pod: %v %w", chain, err)
	}
	return nil
}

// eachIsNeeded takes the rights to look at changes away one by one: what cannot be read is named with the right that is
// missing, and the rest is there.
func eachIsNeeded(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	roles := single(rolesOf(grants(t, incident.ModeDryRun)))
	for name, tt := range map[string]struct {
		namespace string
		without   rbacv1.PolicyRule
		want      string
		changes   int
	}{
		"logs": {
			"llm", rule("", "pods/log", "get"),
			"the log of a crashed container: the right to get pods/log in namespace llm is missing: grant it to the bot", 4,
		},
		"sets": {
			"llm", rule("apps", "replicasets", "list"),
			"recent rollouts: the right to list replicasets.apps in namespace llm is missing: grant it to the bot", 3,
		},
		"history": {
			"llm", rule("apps", "controllerrevisions", "list"),
			"recent rollouts: the right to list controllerrevisions.apps in namespace llm is missing: grant it to the bot", 3,
		},
		"of nodes": {
			"default", rule("", "events", "list"),
			"events of the nodes: the right to list events in namespace default is missing: grant it to the bot", 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			less := maps.Clone(roles)
			less[tt.namespace] = slices.DeleteFunc(slices.Clone(less[tt.namespace]),
				func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, tt.without) })
			if taken := len(roles[tt.namespace]) - len(less[tt.namespace]); taken != 1 {
				t.Fatalf("%d rules are %+v", taken, tt.without)
			}
			rc := accountWith(t, c, "llm", "less-"+strings.ReplaceAll(name, " ", "-"), less)
			k, err := cluster.New(rc)
			must(t, err)
			kubetest.Eventually(t, "the evidence without "+name, func(ctx context.Context) error {
				deployment, set := k.Cluster(ctx, pool().Workload, time.Now(), nil), k.Cluster(ctx, setRef(), time.Now(), nil)
				unread := slices.Concat(deployment.Unread, set.Unread)
				if deployment.Error != "" || set.Error != "" || fmt.Sprint(unread) != "["+tt.want+"]" ||
					len(deployment.Changes)+len(set.Changes) != tt.changes {
					return fmt.Errorf("unread %q\n%+v\n%+v", unread, deployment, set)
				}
				return nil
			})
		})
	}
}

func rule(group, resource, verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
}
