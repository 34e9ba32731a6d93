package remediation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/postgres"
)

// kube is a real API server for the tests of this file. It has no controllers: what they would do is played.
var kube = kubetest.Share(kubetest.Options{AuditLog: true})

func TestMain(m *testing.M) {
	if url := os.Getenv(envDeadlyStore); url != "" {
		if err := sweepOnce(context.Background(), url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := kube.Main(m)
	postgres.Stop()
	os.Exit(code)
}

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	policies    = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	}
)

// onServer is a bench whose knob is one of a real API server.
type onServer struct {
	*bench
	c  *kubetest.Cluster
	ns string
	// resource is where the step's field is, git what the object is like there.
	resource schema.GroupVersionResource
	git      *unstructured.Unstructured
	// fault answers the bot's writes in place of the API server; nil lets them through.
	fault func(next http.RoundTripper, r *http.Request) (*http.Response, error)
}

// proxy stands between the bot and the API server.
type proxy struct {
	of   *onServer
	next http.RoundTripper
}

func (p proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.of.fault == nil || r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") {
		return p.next.RoundTrip(r)
	}
	return p.of.fault(p.next, r)
}

// unavailable is the answer of a proxy in front of an API server that is away.
func unavailable(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable",
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   io.NopCloser(strings.NewReader("<html>\n<p>no healthy upstream</p></html>")), Request: r,
	}
}

// lostRequest answers without asking the API server.
func lostRequest(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	return unavailable(r), r.Body.Close()
}

// lostAnswer lets the write take effect and answers as if it had not.
func lostAnswer(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return unavailable(r), errors.Join(err, resp.Body.Close())
}

// newReal is a pool in mode auto with one knob, which policy turns and undoes without asking.
func newReal(t *testing.T, kind incident.StepKind) *onServer {
	t.Helper()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies)
	r := &onServer{c: c, ns: c.Namespace(t), resource: deployments}
	pool := inMode(llama(), incident.ModeAuto)
	pool.Workload.Namespace = r.ns
	object := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
		"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "llama"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "llama"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "vllm", "image": "vllm/vllm-openai:v0.20.0"}}},
		},
	}}
	pool.Knobs.Replicas = &incident.IntKnob{Min: 1, Max: 8}
	if kind == incident.StepThrottle {
		r.resource = policies
		pool.Knobs = incident.Knobs{Throttle: &incident.ThrottleKnob{
			Kind: "envoy-gateway", Namespace: r.ns, Name: "llama",
			Field: "maxParallelRequests", Min: 16, Max: 1024,
		}}
		object = map[string]any{
			"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
			"spec": map[string]any{
				"targetRefs":     []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "llama"}},
				"circuitBreaker": map[string]any{"maxParallelRequests": int64(184)},
			},
		}
	}
	object["metadata"] = map[string]any{"name": "llama"}
	var err error
	r.git, err = r.c.Dynamic(t).Resource(r.resource).Namespace(r.ns).Create(
		t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: "platform"},
		// Argo CD itself would be a caution, and policy would ask
	)
	if err != nil {
		t.Fatal(err)
	}
	rc := rest.CopyConfig(c.ConfigFor(kubetest.Bot))
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return proxy{of: r, next: next} })
	registry, err := actions.New(actions.Config{QPS: 500}, rc, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := registry.Rules(t.Context(), []incident.Pool{pool}, incident.ModeApprove)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range rules {
		c.Grant(t, kubetest.Bot, in.Namespace, in.Rules...)
	}
	r.bench = newBench(t, []incident.Pool{pool}, auto(kind), undoing,
		func(_ *remediation.Config, d *remediation.Deps) { d.Live = registry })
	return r
}

// heal is one round of Argo CD's self-heal: what is not as in Git is made so. It says whether there was something to
// do.
func (r *onServer) heal() bool {
	r.t.Helper()
	healed := false
	kubetest.Eventually(r.t, "the self-heal", func(ctx context.Context) error {
		at := r.c.Dynamic(r.t).Resource(r.resource).Namespace(r.ns)
		o, err := at.Get(ctx, "llama", metav1.GetOptions{})
		if err != nil || cmp.Equal(o.Object["spec"], r.git.Object["spec"]) {
			return err
		}
		o.Object["spec"] = r.git.DeepCopy().Object["spec"]
		_, err = at.Update(ctx, o, metav1.UpdateOptions{FieldManager: "argocd-controller"})
		healed = err == nil
		return err
	})
	return healed
}

// accepted are the bot's writes that the API server has kept.
func (r *onServer) accepted() int {
	n := 0
	for _, e := range r.c.Writes(r.t, kubetest.Bot) {
		if e.ObjectRef != nil && e.ObjectRef.Namespace == r.ns && e.Code() < http.StatusBadRequest {
			n++
		}
	}
	return n
}

// trouble begins, and the bot goes to work, until the step of the first plan has been tried.
func (r *onServer) trouble(req incident.StepRequest) {
	r.t.Helper()
	r.sight.see(sick(5, req))
	r.deliver(alert("HighTTFT", "llama"))
	for range 3 {
		r.skip(10 * time.Second)
		r.sweep()
		if len(r.writes("llama")) > 0 {
			return
		}
	}
	r.t.Fatalf("nothing was tried:\n%s", said(r.open("llama")))
}

func knobs() map[incident.StepKind]incident.StepRequest {
	return map[incident.StepKind]incident.StepRequest{
		incident.StepReplicas: addReplica(),
		incident.StepThrottle: throttle(),
	}
}

// Argo CD with self-heal on sets every change back within seconds. In mode auto nobody stands between the two: there is
// one write and one heal.
func TestModeAutoDoesNotFightASelfHeal(t *testing.T) {
	t.Parallel()
	for kind, req := range knobs() {
		for _, after := range []time.Duration{5 * time.Second, 2 * time.Minute} {
			t.Run(fmt.Sprintf("%s after %s", kind, after), func(t *testing.T) {
				t.Parallel()
				r := newReal(t, kind)
				r.trouble(req)
				// The bot sweeps every few seconds; long after the heal a fight would show in rarer sweeps as well.
				heals, step := 0, 5*time.Second
				for at := time.Duration(0); at < time.Hour; at += step {
					if at >= after && r.heal() {
						heals++
					}
					if at >= 10*time.Minute {
						step = 30 * time.Second
					}
					r.skip(step)
					r.sweep()
				}
				if n := r.accepted(); n != 1 || heals != 1 {
					t.Errorf("%d writes and %d heals, want one each", n, heals)
				}
				inc := r.open("llama")
				if said := threaded(inc); !strings.Contains(said, "Reverted: argocd-controller set it back to ") ||
					!strings.Contains(said, "change it in Git") || strings.Contains(said, "Verified") {
					t.Errorf("the thread says:\n%s", said)
				}
				if len(inc.Attempts) != 1 || len(inc.Applied()) != 0 || inc.UndoOffered != "" {
					t.Errorf("trials %+v, applied %v, undo offered for %q", inc.Attempts, inc.Applied(), inc.UndoOffered)
				}
				if w := r.writes("llama"); len(w) != 1 || w[0].Result != incident.ResultApplied {
					t.Errorf("the ledger has %+v", w)
				}
				r.unlocked()
			})
		}
	}
}

// The answers of the API server come through a proxy that fails: each write happens once or not at all, and its outcome
// is told.
func TestWritesThroughAFaultyProxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault func(next http.RoundTripper, r *http.Request) (*http.Response, error)
		// heals: Argo CD sets the value back before the bot looks. passes: the proxy is well again after two minutes.
		heals, passes bool
		writes        int
		result        map[incident.StepKind]incident.WriteResult
		said          map[incident.StepKind]string
	}{
		{
			name: "the request is lost, then the proxy is well again", fault: lostRequest, passes: true, writes: 1,
			result: both(incident.ResultApplied), said: bothSay("Applied: "),
		},
		{
			name: "the request is lost for good", fault: lostRequest, writes: 0, result: both(incident.ResultFailed),
			said: bothSay("gave up after 6 tries without a clear answer"),
		},
		{
			name: "the answer is lost", fault: lostAnswer, writes: 1, result: both(incident.ResultApplied),
			said: bothSay("Found applied after an interruption"),
		},
		{
			name: "the answer is lost and the value is set back", fault: lostAnswer, heals: true, writes: 1,
			result: map[incident.StepKind]incident.WriteResult{
				incident.StepThrottle: incident.ResultApplied,
				incident.StepReplicas: incident.ResultUnknown,
			},
			said: map[incident.StepKind]string{
				incident.StepThrottle: "Reverted: argocd-controller set it back to 184",
				incident.StepReplicas: "argocd-controller was the last to set the value",
			},
		},
	} {
		for kind, req := range knobs() {
			t.Run(tt.name+", "+string(kind), func(t *testing.T) {
				t.Parallel()
				r := newReal(t, kind)
				r.fault = tt.fault
				r.trouble(req)
				if tt.heals && !r.heal() {
					t.Fatal("there was nothing to heal")
				}
				for at := time.Duration(0); at < 10*time.Minute && r.writes("llama")[0].Result == ""; at += 5 * time.Second {
					if tt.passes && at >= 30*time.Second {
						r.fault = nil
					}
					r.skip(5 * time.Second)
					r.sweep()
				}
				if n := r.accepted(); n != tt.writes {
					t.Errorf("%d writes, want %d", n, tt.writes)
				}
				if w := r.writes("llama"); len(w) != 1 || w[0].Result != tt.result[kind] {
					t.Errorf("the ledger has %+v, want %s", w, tt.result[kind])
				}
				said := threaded(r.open("llama"))
				if !strings.Contains(said, tt.said[kind]) || strings.Count(said, "No clear answer") != 1 ||
					!strings.Contains(said, "unable to handle the request") {
					t.Errorf("the thread lacks %q:\n%s", tt.said[kind], said)
				}
				if tt.heals || tt.writes == 0 {
					r.unlocked()
					r.pass(30 * time.Minute)
					if n := r.accepted(); n != tt.writes {
						t.Errorf("%d writes half an hour later, want %d", n, tt.writes)
					}
				}
			})
		}
	}
}

func both(w incident.WriteResult) map[incident.StepKind]incident.WriteResult {
	return map[incident.StepKind]incident.WriteResult{incident.StepReplicas: w, incident.StepThrottle: w}
}

func bothSay(text string) map[incident.StepKind]string {
	return map[incident.StepKind]string{incident.StepReplicas: text, incident.StepThrottle: text}
}
