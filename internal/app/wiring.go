package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	promconfig "github.com/prometheus/common/config"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/drill"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// The parts fit the interfaces of those who use them.
var (
	_ remediation.Collector = collector{}
	_ remediation.Executor  = (*actions.Registry)(nil)
)

// clients are the parts that read and change external systems.
type clients struct {
	collector    *evidence.Collector
	live, dryRun remediation.Executor
	lastWrites   remediation.LastWrites
	// registry is live; nil without Kubernetes.
	registry *actions.Registry
}

// newClients builds the collector and, when Kubernetes is configured, the executors.
func newClients(cfg config.Config, opts Options, rc *rest.Config) (clients, error) {
	var out clients
	var kube evidence.Kube
	var err error
	if rc != nil {
		if kube, err = cluster.New(rc); err != nil {
			return out, err
		}
		live, err := actions.New(actions.Config{}, rc, opts.Logger.With("part", "actions"))
		if err != nil {
			return out, err
		}
		out.live, out.dryRun, out.lastWrites, out.registry = live, live.DryRun(), live, live
	}
	params := url.Values{}
	for k, v := range cfg.Prometheus.ExtraParams {
		params.Set(k, v)
	}
	hc, refs, err := prometheusFiles(cfg)
	if err != nil {
		return out, fmt.Errorf("prometheus.http_config.tls_config: %w", err)
	}
	pc := prometheus.Config{
		URL: cfg.Prometheus.URL, HTTPConfig: hc, Secrets: refs, Headers: cfg.Prometheus.Headers, ExtraParams: params,
		QueryTimeout: cfg.Prometheus.Timeout, Concurrency: cfg.Prometheus.Concurrency, Settings: opts.Settings,
		Clock: opts.clock,
	}
	if opts.Transport != nil {
		pc.Transport = func(rt http.RoundTripper) http.RoundTripper { return opts.Transport("prometheus", rt) }
	}
	out.collector, err = evidence.New(
		evidence.Config{
			Prometheus: pc, Deadline: cfg.Prometheus.Deadline, RuleWindow: cfg.Playbooks.Window, Now: opts.Now,
		},
		kube, opts.Logger.With("part", "evidence"))
	return out, err
}

// prometheusFiles puts the certificates of the client's configuration where its secrets are, so that all of them are
// read again.
func prometheusFiles(cfg config.Config) (promconfig.HTTPClientConfig, config.Refs, error) {
	const path = "prometheus.http_config.tls_config"
	hc, refs := cfg.Prometheus.HTTP, cfg.Prometheus.Refs
	t := &hc.TLSConfig
	if t.CAFile != "" {
		cas, err := reread.AuthorityFile(cfg.Files, path+".ca_file", t.CAFile)
		if err != nil {
			return hc, refs, err
		}
		t.CAFile, t.CARef = "", path+".ca"
		refs = refs.With(t.CARef, func() string { return string(cas.Value().PEM) })
	}
	if t.CertFile != "" && t.KeyFile != "" {
		pair, err := reread.KeyPairFiles(cfg.Files, path+".cert_file", t.CertFile, t.KeyFile)
		if err != nil {
			return hc, refs, err
		}
		t.CertFile, t.KeyFile, t.CertRef, t.KeyRef = "", "", path+".cert", path+".key"
		refs = refs.With(t.CertRef, func() string { return string(pair.Value().Certificate) }).
			With(t.KeyRef, func() string { return string(pair.Value().Key) })
	}
	return hc, refs, nil
}

// collector fits the evidence package to what the engine asks for.
type collector struct {
	*evidence.Collector

	// away is why a Kubernetes that is configured cannot be asked from here; nil when it can, or when there is none.
	// "Could not be asked" must not look like "there is none": rules are undecided over the one and may say no over the
	// other.
	away error
	// recordings are what drills play; nil where there are none.
	recordings *drill.Recordings
}

// Collect reads the signals with their recent past, which the chart of the message shows.
func (c collector) Collect(
	ctx context.Context, pool incident.Pool, signals []incident.Signal, scope incident.Scope,
) incident.Evidence {
	if scope.Scenario != "" && c.recordings != nil {
		return c.recordings.Collect(ctx, scope.Scenario, signals, c.Now(), c.Cluster(ctx, pool))
	}
	ev := c.Collector.Collect(ctx, pool, signals,
		evidence.CollectOptions{History: true, Baseline: scope.Usual, Alerts: scope.Alerts})
	if c.away != nil {
		ev.Cluster = incident.Cluster{Workload: pool.Workload, Error: c.away.Error()}
	}
	return ev
}
