package app

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// The parts fit the interfaces of those who use them.
var (
	_ remediation.Collector = collector{}
	_ remediation.Executor  = (*actions.Registry)(nil)
)

// deciding are the parts that read and change the outside.
type deciding struct {
	collector   *evidence.Collector
	live, drill remediation.Executor
}

// newDeciding builds the collector and, when Kubernetes is configured, the executors.
func newDeciding(cfg config.Config, opts Options, rc *rest.Config) (deciding, error) {
	var d deciding
	var kube evidence.Kube
	var err error
	if rc != nil {
		if kube, err = evidence.NewKube(rc); err != nil {
			return d, err
		}
		live, err := actions.New(actions.Config{}, rc, opts.Logger.With("part", "actions"))
		if err != nil {
			return d, err
		}
		d.live, d.drill = live, live.Drill()
	}
	params := url.Values{}
	for k, v := range cfg.Prometheus.ExtraParams {
		params.Set(k, v)
	}
	ec := evidence.Config{
		URL: cfg.Prometheus.URL, HTTPConfig: cfg.Prometheus.HTTP, Headers: cfg.Prometheus.Headers, ExtraParams: params,
		QueryTimeout: cfg.Prometheus.Timeout, Deadline: cfg.Prometheus.Deadline, Concurrency: cfg.Prometheus.Concurrency, Now: opts.Now, Clock: opts.clock,
	}
	if opts.Transport != nil {
		ec.Transport = func(rt http.RoundTripper) http.RoundTripper { return opts.Transport("prometheus", rt) }
	}
	d.collector, err = evidence.New(ec, kube, opts.Logger.With("part", "evidence"))
	return d, err
}

// collector fits the evidence package to what the engine asks for.
type collector struct {
	*evidence.Collector

	// away is why a Kubernetes that is configured cannot be asked from here; nil when it can, or when there is none. "Could not be asked" must not
	// look like "there is none": rules are undecided over the one and may say no over the other.
	away error
}

// Collect reads the signals with their recent past, which the chart of the message shows.
func (c collector) Collect(ctx context.Context, pool incident.Pool, signals []incident.Signal, attention incident.Attention) incident.Evidence {
	ev := c.Collector.Collect(ctx, pool, signals, evidence.CollectOptions{History: true, Baseline: attention.Usual, Alerts: attention.Alerts})
	if c.away != nil {
		ev.Cluster = incident.Cluster{Workload: pool.Workload, Error: c.away.Error()}
	}
	return ev
}

// FindOwners translates "looked and found nothing" and "nobody answered".
func (c collector) FindOwners(ctx context.Context, labels map[string]string) ([]incident.WorkloadRef, string, error) {
	chain, how, err := c.Collector.FindOwners(ctx, labels)
	switch {
	case errors.Is(err, evidence.ErrUnanswered):
		err = translated{err, remediation.ErrUnanswered}
	case errors.Is(err, evidence.ErrNoWorkload):
		err = translated{err, remediation.ErrNoWorkload}
	}
	return chain, how, err
}

// translated is an error in its own words, which is also the one that its reader knows.
type translated struct{ err, as error }

// Error is the text of the error itself.
func (t translated) Error() string { return t.err.Error() }

// Unwrap returns the error itself and what it is to its reader.
func (t translated) Unwrap() []error { return []error{t.err, t.as} }
