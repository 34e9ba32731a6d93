package messages

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

const (
	pool      = "llama-70b"
	namespace = "llm"
)

// settings are those of a pool that may be changed in every way.
const settings = `
listen: {api: "127.0.0.1:0"}
prometheus: {url: "http://prometheus.invalid:9090"}
kubernetes: {}
mode: approve
approvers: {default: {users: [U0ALICE], groups: [S0ONCALL], count: 1}}
pools:
  - name: llama-70b
    match: {namespace: llm, model_name: llama-70b}
    matchers: {namespace: llm, model_name: llama-70b}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama-70b, container: vllm}
    knobs:
      replicas: {min: 1, max: 16}
      max_num_batched_tokens: {min: 2048, max: 16384, default: 8192, chunked_prefill: true}
      throttle: {kind: envoy-gateway, namespace: llm, name: llama-70b, field: maxParallelRequests, min: 16, max: 1024,
        revert_after: 10m}
`

// found is what an investigation came to, at the time of its incident.
type found struct {
	diagnosis string
	at        time.Time
	alerts    []incident.Alert
	remediation.Investigation
}

// builtin are the built-in playbooks and the names of their diagnoses.
func builtin(t *testing.T) (*playbooks.Catalog, []string) {
	t.Helper()
	c, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.Playbooks() {
		names = append(names, p.Diagnoses...)
	}
	slices.Sort(names)
	return c, slices.Compact(names)
}

// replay is a labeled incident and what the bot knew of it.
type replay struct {
	labeled diagnosis.Incident
	full    incident.Incident
}

// replayed is, for each diagnosis, the first labeled incident that the bot recognizes.
func replayed(t *testing.T, names []string) map[string]replay {
	t.Helper()
	all, err := diagnosis.Read("../diagnosis/corpus")
	if err != nil {
		t.Fatal(err)
	}
	replayer, err := diagnosis.NewReplayer()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]replay{}
	slots := make(chan struct{}, 2)
	for _, name := range names {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			a, err := firstOf(t.Context(), replayer, all, name, t.TempDir())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[name] = a
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
}

func firstOf(
	ctx context.Context, r *diagnosis.Replayer, all []diagnosis.Incident, name, folder string,
) (replay, error) {
	for _, inc := range all {
		if inc.Truth != name || inc.Workload != "Deployment" || inc.Cluster.Away {
			continue
		}
		a, err := r.Replay(ctx, inc, folder)
		if err != nil {
			return replay{}, err
		}
		if a.Got == name {
			return replay{inc, a.Full}, nil
		}
	}
	return replay{}, fmt.Errorf("no labeled incident is recognized as %s", name)
}

// recorded is a Collector that has read already.
type recorded struct{ evidence incident.Evidence }

func (r recorded) Collect(context.Context, incident.Pool, []incident.Signal, incident.Scope) incident.Evidence {
	return r.evidence
}

func (recorded) FindOwners(context.Context, map[string]string) ([]incident.WorkloadRef, incident.Trail, error) {
	return nil, incident.Trail{}, nil
}

// lab is what investigations need: the playbooks, and a cluster that can be changed.
type lab struct {
	playbook *playbooks.Catalog
	cluster  *kubetest.Cluster
	knobs    *actions.Registry
	names    []string
	replays  map[string]replay
}

// newLab is for the diagnoses with these names, or for all. It has a cluster of its own: what it puts there and scales
// would be in the way of another one.
func newLab(t *testing.T, only ...string) *lab {
	t.Helper()
	playbook, names := builtin(t)
	if len(only) > 0 {
		names = only
	}
	c := kubetest.Start(t, kubetest.Options{})
	c.InstallCRD(t, kubetest.BackendTrafficPolicies)
	c.MakeNamespace(t, namespace)
	create(t, c, "apps/v1", "deployments", deployment())
	create(t, c, "gateway.envoyproxy.io/v1alpha1", "backendtrafficpolicies", traffic())
	knobs, err := actions.New(actions.Config{}, c.AdminConfig(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &lab{playbook, c, knobs, names, replayed(t, append(names, diagnosis.None))}
}

// investigate has the playbooks and the knobs look again at what was read of each diagnosis.
func (l *lab) investigate(t *testing.T) []found {
	t.Helper()
	var out []found
	for _, name := range l.names {
		f := l.look(t, name, l.replays[name].full, nil)
		if got := f.Result.Diagnosis; got == nil || got.Name != name {
			t.Fatalf("%s: looked at again it is %v", name, got)
		}
		out = append(out, f)
	}
	return out
}

// look investigates what was read in a replay, or what is given in its place, with what a ledger knows; nil: nothing.
func (l *lab) look(t *testing.T, name string, full incident.Incident, ledger remediation.Ledger) found {
	t.Helper()
	cfg := configured(t, l.playbook, l.replays[name].labeled.SLO)
	read := incident.Evidence{
		At: full.ReadAt, Readings: full.Readings, Dialect: full.Dialect, Cluster: full.Cluster,
		DeadAlerts: full.DeadAlerts, Unexamined: full.Unexamined, Versions: full.Versions,
		PodRoles: full.PodRoles,
	}
	scale(t, l.cluster, read.Cluster)
	i, err := remediation.NewInvestigator(cfg.Pools, cfg.Policy, remediation.InvestigatorDeps{
		Collector: recorded{read}, Playbooks: l.playbook, Live: l.knobs, DryRun: l.knobs.DryRun(), Ledger: ledger,
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return read.At },
	})
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.New("inc-7kq2mz4a", pool, incident.ModeApprove, false, read.At)
	inc.Alerts = full.Alerts
	return found{
		diagnosis: name, at: read.At, alerts: full.Alerts,
		Investigation: i.Investigate(t.Context(), cfg.Pools[0], inc),
	}
}

// configured is the configuration for a pool with these targets.
func configured(t *testing.T, profiles *playbooks.Catalog, slo string) config.Config {
	t.Helper()
	nothing := func(string) (string, bool) { return "", false }
	cfg, err := config.Parse("medic.yaml", []byte(settings+"    slo: "+slo+"\n"), config.Options{
		Getenv: nothing, Profiles: profiles, AllowUnauthenticated: true, PrometheusOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func create(t *testing.T, c *kubetest.Cluster, version, resource string, body map[string]any) {
	t.Helper()
	at, err := schema.ParseGroupVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Dynamic(t).Resource(at.WithResource(resource)).Namespace(namespace).
		Create(t.Context(), &unstructured.Unstructured{Object: body}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func deployment() map[string]any {
	labels := map[string]any{"app": pool}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": pool},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "vllm", "image": "vllm/vllm-openai:v0.24.0",
					"args": []any{"--model=meta-llama/Llama-3.3-70B-Instruct", "--max-num-batched-tokens=8192"},
				}}},
			},
		},
	}
}

func traffic() map[string]any {
	return map[string]any{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"name": pool},
		"spec": map[string]any{
			"targetRefs": []any{
				map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": pool},
			},
			"circuitBreaker": map[string]any{"maxParallelRequests": int64(160)},
		},
	}
}

// scale sets the Deployment to the replicas that the incident has.
func scale(t *testing.T, c *kubetest.Cluster, seen incident.Cluster) {
	t.Helper()
	if seen.Replicas == nil {
		return
	}
	deployments := c.Client(t).AppsV1().Deployments(namespace)
	d, err := deployments.Get(t.Context(), pool, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := int32(*seen.Replicas)
	d.Spec.Replicas = &n
	if d, err = deployments.Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas, d.Status.UpdatedReplicas = n, n, n, n
	d.Status.ObservedGeneration = d.Generation
	if _, err := deployments.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
