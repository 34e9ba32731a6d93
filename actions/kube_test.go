package actions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/simkube"
)

// kube is one real API server with controllers for all tests of the package.
var kube = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true, AuditLog: true})

func TestMain(m *testing.M) {
	if onSimulated() {
		os.Exit(m.Run())
	}
	os.Exit(kube.Main(m))
}

const (
	model  = "llama-70b"
	secret = "sk-very-secret-key"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	groups      = schema.GroupVersionResource{
		Group: "leaderworkerset.x-k8s.io", Version: "v1",
		Resource: "leaderworkersets",
	}
	hpas       = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	scaledObjs = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	policies   = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	}
)

// bench is a namespace of one test, in which the bot has exactly the rights that Rules names.
type bench struct {
	t    *testing.T
	c    cluster
	ns   string
	pool incident.Pool
	bot  bot
}

// bot is a Registry, and dryRunner a DryRun, for tests to which a write's error is enough.
type (
	bot       struct{ *actions.Registry }
	dryRunner struct{ *actions.DryRun }
)

// Do is actions.Registry.Do without the versions.
func (b bot) Do(ctx context.Context, pool incident.Pool, s incident.Step, op incident.Op, id string) error {
	_, err := b.Registry.Do(ctx, pool, s, op, id)
	return err
}

// DryRun is actions.Registry.DryRun.
func (b bot) DryRun() dryRunner { return dryRunner{b.Registry.DryRun()} }

// Do is actions.DryRun.Do without the versions.
func (d dryRunner) Do(ctx context.Context, pool incident.Pool, s incident.Step, op incident.Op, id string) error {
	_, err := d.DryRun.Do(ctx, pool, s, op, id)
	return err
}

// cluster is what the tests need of a cluster: a real one, or the sandbox's.
type cluster interface {
	InstallCRD(t testing.TB, crds ...kubetest.CRD)
	Namespace(t testing.TB) string
	Grant(t testing.TB, user, namespace string, rules ...rbacv1.PolicyRule)
	GrantAll(t testing.TB, user string, rules ...rbacv1.PolicyRule)
	AdminConfig() *rest.Config
	ConfigFor(user string) *rest.Config
	ConfigAs(user string) *rest.Config
	ConfigWithToken(token string) *rest.Config
	ServiceAccountToken(t testing.TB, namespace, name string, audiences ...string) string
	Client(t testing.TB) *kubernetes.Clientset
	Dynamic(t testing.TB) *dynamic.DynamicClient
	Audit(t testing.TB, user string) []kubetest.AuditEntry
	Writes(t testing.TB, user string) []kubetest.AuditEntry
}

// underTest is the cluster of this run of the tests.
func underTest(t *testing.T) cluster {
	t.Helper()
	if onSimulated() {
		return simkube.Start(t)
	}
	c := kube.Cluster(t)
	enforce(t, c)
	return c
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := underTest(t)
	c.InstallCRD(t, kubetest.ScaledObjects, kubetest.BackendTrafficPolicies, kubetest.PodAutoscalers,
		kubetest.LeaderWorkerSets)
	b := &bench{t: t, c: c, ns: c.Namespace(t)}
	b.pool = incident.Pool{
		Name: model, Mode: incident.ModeApprove,
		Workload: incident.WorkloadRef{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: b.ns, Name: model,
			Container: "vllm",
		},
		Knobs: incident.Knobs{
			Replicas: &incident.IntKnob{Min: 1, Max: 8}, Arguments: incident.ArgumentKnobs{},
			Throttle: &incident.ThrottleKnob{
				Kind: "envoy-gateway", Namespace: b.ns, Name: model, Field: "maxParallelRequests",
				Min: 16, Max: 1024, RevertAfter: 15 * time.Minute,
			},
		},
	}
	for _, a := range incident.EngineArguments() {
		b.pool.Knobs.Arguments[a.Kind] = &incident.ArgumentKnob{Min: 2048, Max: 16384}
	}
	b.bot = b.as(kubetest.Bot, nil)
	b.grant(kubetest.Bot, incident.ModeApprove)
	return b
}

// tokens is the pool's setting of max_num_batched_tokens.
func (b *bench) tokens() *incident.ArgumentKnob {
	return b.pool.Knobs.Argument(incident.StepMaxNumBatchedTokens)
}

// as is the bot with another identity, and with something between it and the API server.
func (b *bench) as(user string, wrap func(http.RoundTripper) http.RoundTripper) bot {
	b.t.Helper()
	rc := rest.CopyConfig(b.c.ConfigFor(user))
	if wrap != nil {
		rc.Wrap(wrap)
	}
	return b.registry(rc)
}

func (b *bench) registry(rc *rest.Config) bot {
	b.t.Helper()
	r, err := actions.New(actions.Config{QPS: 500}, rc, slog.New(slog.DiscardHandler))
	if err != nil {
		b.t.Fatal(err)
	}
	return bot{r}
}

func (b *bench) grant(user string, mode incident.Mode) {
	b.t.Helper()
	rules, err := b.bot.Rules(b.t.Context(), []incident.Pool{b.pool}, mode)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rules {
		b.c.Grant(b.t, user, r.Namespace, r.Rules...)
	}
}

func (b *bench) create(r schema.GroupVersionResource, o map[string]any) *unstructured.Unstructured {
	b.t.Helper()
	got, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Create(b.t.Context(), &unstructured.Unstructured{Object: o},
		metav1.CreateOptions{})
	if err != nil {
		b.t.Fatalf("create %s: %v", r.Resource, err)
	}
	if slices.Contains(incident.AutoscalerKinds(), got.GetKind()) && len(got.GetOwnerReferences()) == 0 {
		b.named(incident.AutoscalerRef{Kind: got.GetKind(), Name: got.GetName()})
	}
	return got
}

// named makes an autoscaler the pool's, which gives the bot the right to change it.
func (b *bench) named(a incident.AutoscalerRef) {
	b.t.Helper()
	b.pool.Autoscaler = a
	b.grant(kubetest.Bot, incident.ModeApprove)
}

// serve makes the workload and waits until its controller is done with it.
func (b *bench) serve(replicas int64, command, args []string) {
	b.t.Helper()
	b.create(deployments, deployment(replicas, command, args))
	kubetest.Eventually(b.t, "the workload", func(ctx context.Context) error {
		o, err := b.tryGet(ctx, deployments)
		if err != nil {
			return err
		}
		status, _, err := unstructured.NestedMap(o.Object, "status")
		if err != nil {
			return err
		}
		if status["observedGeneration"] != o.GetGeneration() || replicas > 0 && status["availableReplicas"] != replicas {
			return fmt.Errorf("status %v", status)
		}
		return nil
	})
}

func (b *bench) get(r schema.GroupVersionResource) *unstructured.Unstructured {
	b.t.Helper()
	got, err := b.tryGet(b.t.Context(), r)
	if err != nil {
		b.t.Fatalf("get %s: %v", r.Resource, err)
	}
	return got
}

func (b *bench) tryGet(ctx context.Context, r schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	b.t.Helper()
	return b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Get(ctx, model, metav1.GetOptions{})
}

// at is the object in one of its versions, which it must have had.
func (b *bench) at(r schema.GroupVersionResource, version string) *unstructured.Unstructured {
	b.t.Helper()
	got, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).List(b.t.Context(), metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		FieldSelector: "metadata.name=" + model,
	})
	if err != nil || len(got.Items) != 1 || got.Items[0].GetResourceVersion() != version {
		b.t.Fatalf("%s in version %q: %v %+v", r.Resource, version, err, got)
	}
	return &got.Items[0]
}

// patch is somebody else's change.
func (b *bench) patch(r schema.GroupVersionResource, merge string, sub ...string) {
	b.t.Helper()
	if err := b.tryPatch(b.t.Context(), r, merge, sub...); err != nil {
		b.t.Fatalf("patch %s: %v", r.Resource, err)
	}
}

func (b *bench) tryPatch(ctx context.Context, r schema.GroupVersionResource, merge string, sub ...string) error {
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Patch(ctx, model, types.MergePatchType, []byte(merge),
		metav1.PatchOptions{}, sub...)
	return err
}

func (b *bench) remove(r schema.GroupVersionResource) {
	b.t.Helper()
	if err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Delete(b.t.Context(), model,
		metav1.DeleteOptions{}); err != nil {
		b.t.Fatalf("delete %s: %v", r.Resource, err)
	}
	kubetest.Eventually(b.t, "the end of "+r.Resource, func(ctx context.Context) error {
		_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Get(ctx, model, metav1.GetOptions{})
		if err == nil {
			return errors.New("it is still there")
		}
		return nil
	})
}

// writes are the accepted writes of a user in the test's namespace that were meant to be kept, as the API server saw
// them.
func (b *bench) writes(user string) []string {
	b.t.Helper()
	var out []string
	for _, e := range b.c.Writes(b.t, user) {
		if e.ObjectRef != nil && e.ObjectRef.Namespace == b.ns && e.Code() < http.StatusBadRequest {
			out = append(out, e.Verb+" "+strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/"))
		}
	}
	return out
}

func (b *bench) propose(req incident.StepRequest) incident.Step {
	b.t.Helper()
	s, err := b.bot.Propose(b.t.Context(), b.pool, req)
	if err != nil {
		b.t.Fatalf("propose: %v", err)
	}
	for _, g := range s.Guardrails {
		if g.Verdict == incident.GuardRefuse {
			b.t.Fatalf("propose: refused by %s: %s", g.Name, g.Reason)
		}
	}
	return s
}

// The requests of the playbooks.
var (
	addOne = incident.StepRequest{Kind: incident.StepReplicas, Add: 1, Why: "the queue grows"}
	halve  = incident.StepRequest{Kind: incident.StepMaxNumBatchedTokens, Factor: 0.5}
	double = incident.StepRequest{Kind: incident.StepMaxNumBatchedTokens, Factor: 2}
	shed   = incident.StepRequest{Kind: incident.StepThrottle, Factor: 0.5}
)

// shedding is shed where so many requests are in flight.
func shedding(inFlight float64) incident.StepRequest {
	r := shed
	r.Of = inFlight
	return r
}

func object(apiVersion, kind string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": model}, "spec": spec}
}

// deployment has the given arguments; its pods become ready on the node.
func deployment(replicas int64, command, args []string) map[string]any {
	box := map[string]any{"name": "vllm", "image": "vllm/vllm-openai:v0.29.0"}
	if command != nil {
		box["command"] = anys(command)
	}
	if args != nil {
		box["args"] = anys(args)
	}
	labels := map[string]any{"app": model}
	return object("apps/v1", "Deployment", map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"nodeName": kubetest.Node, "terminationGracePeriodSeconds": int64(1), "containers": []any{
				map[string]any{"name": "proxy", "image": "envoy:v1", "args": []any{"--max-num-batched-tokens=1"}}, box,
			},
		}},
	})
}

// leaderWorkerSet makes a pool of groups of pods.
func leaderWorkerSet(b *bench) {
	b.t.Helper()
	b.pool.Workload.APIVersion, b.pool.Workload.Kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
	b.pool.Knobs = b.pool.Knobs.Without(incident.StepMaxNumBatchedTokens)
	b.grant(kubetest.Bot, incident.ModeApprove)
	b.create(groups, object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
		map[string]any{"replicas": int64(2), "size": int64(4)}))
}

// served is the command line of a pool whose max_num_batched_tokens may be lowered.
func served() []string {
	return []string{
		"--model=meta-llama/Llama-70B", "--api-key=" + secret, "--max_num_seqs=256",
		"--enable-chunked-prefill", "--max-num-batched-tokens=8192", "--port", "8000",
	}
}

// ungiven is served without the flag.
func ungiven() []string { return slices.Delete(served(), 4, 5) }

func anys(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// policy is a traffic policy with more in its spec.
func policy(more map[string]any) map[string]any {
	spec := map[string]any{"targetRefs": []any{map[string]any{
		"group": "gateway.networking.k8s.io", "kind": "HTTPRoute",
		"name": model,
	}}}
	maps.Copy(spec, more)
	return object("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", spec)
}

func parallel(n int64) map[string]any {
	return map[string]any{"circuitBreaker": map[string]any{"maxParallelRequests": n}}
}

func localLimit(n int64) map[string]any {
	return map[string]any{"rateLimit": map[string]any{"type": "Local", "local": map[string]any{
		"rules": []any{map[string]any{"limit": map[string]any{"requests": n, "unit": "Second"}}},
	}}}
}

func hpa(least, most int64) map[string]any {
	spec := map[string]any{
		"maxReplicas": most, "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": model},
		"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)},
		}}},
	}
	if least > 0 {
		spec["minReplicas"] = least
	}
	return object("autoscaling/v2", "HorizontalPodAutoscaler", spec)
}

func scaledObject(more map[string]any) map[string]any {
	spec := map[string]any{
		"scaleTargetRef": map[string]any{"name": model},
		"triggers": []any{map[string]any{
			"type":     "prometheus",
			"metadata": map[string]any{"serverAddress": "http://p", "query": "up", "threshold": "5"},
		}},
	}
	maps.Copy(spec, more)
	return object("keda.sh/v1alpha1", "ScaledObject", spec)
}

// outcome says what the engine makes of an error of Do.
func outcome(err error) string {
	var drift *incident.DriftError
	var no *incident.RefusedError
	switch {
	case err == nil:
		return "applied"
	case errors.As(err, &drift):
		return "drift"
	case errors.As(err, &no):
		return "refused"
	}
	return "unknown"
}

// wire is a RoundTripper of a test that treats the writes that are meant to be kept in its own way.
type wire struct {
	next  http.RoundTripper
	write func(next http.RoundTripper, r *http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "" {
		return w.write(w.next, r)
	}
	return w.next.RoundTrip(r)
}

var errCut = errors.New("connection reset by peer")

// cutAfter sends the request and loses its answer.
func cutAfter(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return nil, err
	}
	return nil, errors.Join(errCut, resp.Body.Close())
}

// cutBefore loses the request.
func cutBefore(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	return nil, errors.Join(errCut, r.Body.Close())
}

func through(
	write func(http.RoundTripper, *http.Request) (*http.Response, error)) func(http.RoundTripper,
) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return wire{next: next, write: write} }
}
