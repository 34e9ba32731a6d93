package rights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// freshRoles are those of an install in which no mode asks for writes.
func freshRoles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	return rolesOf(grants(t, incident.ModeDryRun))
}

// accountWith grants the roles to an account in a namespace of the test, which is that of the models, too.
func accountWith(
	t *testing.T, c *kubetest.Cluster, namespace, name string, roles map[string][]rbacv1.PolicyRule,
) *rest.Config {
	t.Helper()
	token := c.ServiceAccountToken(t, namespace, name)
	give(t, c, "system:serviceaccount:"+namespace+":"+name, namespace, roles)
	return c.ConfigWithToken(token)
}

// target makes what every knob writes to and returns the pool that has them all.
func target(t *testing.T, c *kubetest.Cluster, namespace string) incident.Pool {
	t.Helper()
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers)
	deploy(t, c, namespace, "llama-70b", "", serving)
	policies := schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1", Resource: "backendtrafficpolicies",
	}
	_, err := c.Dynamic(t).Resource(policies).Namespace(namespace).Create(t.Context(),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
			"metadata": map[string]any{"name": "llama-70b"},
			"spec": map[string]any{
				"targetRefs": []any{map[string]any{
					"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "llama-70b",
				}},
				"circuitBreaker": map[string]any{"maxParallelRequests": int64(256)},
			},
		}}, metav1.CreateOptions{})
	must(t, err)
	p := pool()
	p.HTTPRoute = incident.RouteRef{}
	p.Workload.Namespace, p.Knobs.Throttle.Namespace = namespace, namespace
	return p
}

// requests ask each knob of the pool for a step.
func requests(p incident.Pool) map[incident.StepKind]incident.StepRequest {
	out := map[incident.StepKind]incident.StepRequest{}
	for _, kind := range p.Knobs.Kinds() {
		r := incident.StepRequest{Kind: kind, Factor: 0.5}
		if kind == incident.StepReplicas {
			r = incident.StepRequest{Kind: kind, Add: 1}
		}
		out[kind] = r
	}
	return out
}

// value is what the field of a step holds now, as somebody who may read everything sees it.
func value(t *testing.T, admin *actions.Registry, p incident.Pool, r incident.StepRequest) incident.Value {
	t.Helper()
	step, err := admin.Propose(t.Context(), p, r)
	must(t, err)
	return step.From
}

// A fresh install has two locks: its account may not write, and its configuration does not. Each holds without the
// other, and only both keys together change something.
func TestAFreshInstallCannotWrite(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	quiet := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		roles map[string][]rbacv1.PolicyRule
		// mode is what the configuration says, if anything.
		mode    string
		changes bool
		says    string
	}{
		"as installed":                        {freshRoles(t), "", false, ""},
		"a mode, and the rights of before":    {freshRoles(t), "mode: approve", false, "the bot lacks permission to patch"},
		"the rights, and no mode":             {botsRoles(t), "", false, ""},
		"the rights, and a mode that says so": {botsRoles(t), "mode: approve", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := c.Namespace(t)
			p := target(t, c, ns)
			p.Mode = modeOf(t, tt.mode)
			admin, err := actions.New(actions.Config{}, c.AdminConfig(), quiet)
			must(t, err)
			bot, err := actions.New(actions.Config{}, accountWith(t, c, ns, "bot", tt.roles), quiet)
			must(t, err)
			do := bot.Do
			if p.Mode != incident.ModeApprove {
				do = bot.DryRun().Do // as the bot chooses, see internal/app/wiring.go
			}
			for kind, r := range requests(p) {
				step, err := bot.Propose(t.Context(), p, r)
				must(t, err)
				_, err = do(t.Context(), p, step, incident.OpApply, "write-"+string(kind))
				if refused, _ := errors.AsType[*incident.RefusedError](err); (err != nil) != (tt.says != "") ||
					err != nil && (refused == nil || !strings.Contains(err.Error(), tt.says)) {
					t.Errorf("%s: %v, want %q", kind, err, tt.says)
				}
				if got := value(t, admin, p, r); (got == step.To) != tt.changes || !tt.changes && got != step.From {
					t.Errorf("%s: %s became %s, changes: %v", kind, step.From, got, tt.changes)
				}
			}
		})
	}
}

// modeOf is the mode of a pool in a configuration that says this and no more than it must.
func modeOf(t *testing.T, mode string) incident.Mode {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	must(t, err)
	path := filepath.Join(t.TempDir(), "medic.yaml")
	must(t, os.WriteFile(path, []byte(fmt.Sprintf(`
listen: {api: "127.0.0.1:0"}
prometheus: {url: "http://127.0.0.1:1"}
kubernetes: {}
pools:
  - {name: llama-70b, match: {a: b}, matchers: {a: b}}
%s`, mode)), 0o600))
	cfg, err := config.Load(path, config.Options{Profiles: cat, Offline: true})
	must(t, err)
	return cfg.Pools[0].Mode
}

// What the account may do at all is asked of the API server, in every namespace: nothing but questions.
func TestTheAccountOfAFreshInstallMayOnlyReadAndAsk(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	rc := accountWith(t, c, ns, "bot", freshRoles(t))
	k, err := kubernetes.NewForConfig(rc)
	must(t, err)
	reads := []string{"get", "list", "watch"}
	questions := []string{
		"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews", "tokenreviews", "subjectaccessreviews",
	}
	all, err := c.Client(t).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, in := range all.Items {
		got, err := k.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: in.Name},
		}, metav1.CreateOptions{})
		must(t, err)
		if got.Status.Incomplete || len(got.Status.ResourceRules) == 0 {
			t.Fatalf("namespace %s: the API server does not know all: %+v", in.Name, got.Status)
		}
		for _, r := range got.Status.ResourceRules {
			writes := slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return slices.Contains(reads, v) })
			asks := slices.Equal(writes, []string{"create"}) &&
				!slices.ContainsFunc(r.Resources, func(name string) bool { return !slices.Contains(questions, name) })
			if len(writes) > 0 && !asks {
				t.Errorf("namespace %s: it may %v %v", in.Name, r.Verbs, r.Resources)
			}
		}
	}
}

// Every write that the bot makes in any mode is tried, past all of its own guards, and so is what somebody would who
// had stolen its token. The API server refuses each.
func TestTheAPIServerRefusesEveryWriteOfAFreshInstall(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	target(t, c, ns)
	fresh, full := flat(freshRoles(t)), flat(botsRoles(t))
	var tried []authorizationv1.ResourceAttributes
	for right := range full {
		if !fresh[right] {
			tried = append(tried, right)
		}
	}
	if len(tried) < 5 { // two workloads and their scales, and the policy of the gateway
		t.Fatalf("the bot writes more than %v", tried)
	}
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		for _, of := range []authorizationv1.ResourceAttributes{
			{Resource: "pods"},
			{Resource: "secrets"},
			{Resource: "configmaps"},
			{Resource: "events"},
			{Resource: "serviceaccounts"},
			{Group: "apps", Resource: "deployments"},
			{Group: "apps", Resource: "statefulsets"},
			{Group: "rbac.authorization.k8s.io", Resource: "roles"},
			{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
			{Group: "batch", Resource: "jobs"},
			{Group: "coordination.k8s.io", Resource: "leases"},
		} {
			of.Verb = verb
			tried = append(tried, of)
		}
	}
	// Every write is tried as whoever may do it, too: a request that is refused for another reason would show nothing.
	bot, err := dynamic.NewForConfig(accountWith(t, c, ns, "bot", freshRoles(t)))
	must(t, err)
	versions := served(t, c)
	for _, right := range tried {
		version := versions[right.Group+"/"+right.Resource]
		where := schema.GroupVersionResource{Group: right.Group, Version: version, Resource: right.Resource}
		if version == "" {
			t.Errorf("this cluster has no %s.%s", right.Resource, right.Group)
			continue
		}
		if err := try(t.Context(), bot.Resource(where).Namespace(ns), right); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", actions.RightText(right), err)
		}
		if err := try(t.Context(), c.Dynamic(t).Resource(where).Namespace(ns), right); apierrors.IsForbidden(err) ||
			apierrors.IsMethodNotSupported(err) {
			t.Errorf("%s, as the administrator: %v", actions.RightText(right), err)
		}
	}
}

// try sends the request of a right. What it would write is empty: whether it may is asked before what it says.
func try(ctx context.Context, at dynamic.ResourceInterface, right authorizationv1.ResourceAttributes) error {
	var sub []string
	if right.Subresource != "" {
		sub = []string{right.Subresource}
	}
	dry := []string{metav1.DryRunAll} // the administrator is not to harm the other tests
	none := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "none"}}}
	var err error
	switch right.Verb {
	case "create":
		_, err = at.Create(ctx, none, metav1.CreateOptions{DryRun: dry}, sub...)
	case "update":
		_, err = at.Update(ctx, none, metav1.UpdateOptions{DryRun: dry}, sub...)
	case "delete":
		err = at.Delete(ctx, "none", metav1.DeleteOptions{DryRun: dry}, sub...)
	case "patch":
		_, err = at.Patch(ctx, "llama-70b", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: dry}, sub...)
	default:
		err = fmt.Errorf("the test knows no verb %s", right.Verb)
	}
	return err
}

// served are the versions of what the API server has, by group and resource.
func served(t *testing.T, c *kubetest.Cluster) map[string]string {
	t.Helper()
	out := map[string]string{}
	lists, err := c.Client(t).Discovery().ServerPreferredResources()
	must(t, err)
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		for _, r := range list.APIResources {
			out[gv.Group+"/"+r.Name] = gv.Version
		}
	}
	return out
}
