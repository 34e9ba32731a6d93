package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/tracing"
)

// buildTracing makes the tracer, when traces are configured, and puts it around the store and all requests.
func (a *App) buildTracing(ctx context.Context) error {
	cfg := a.opts.Config.Tracing
	if cfg == nil {
		return nil
	}
	client, err := collectorClient(*cfg)
	if err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	to := tracing.Config{Endpoint: cfg.Endpoint, Client: client, Version: cmp.Or(a.opts.Version, "unknown")}
	tracer, err := tracing.New(ctx, to, a.store.Now, a.opts.Logger.With("part", "tracing"))
	if err != nil {
		return err
	}
	a.tracer, a.store = tracer, tracedStore{a.store, tracer}
	inner := a.opts.Transport
	a.opts.Transport = func(service string, rt http.RoundTripper) http.RoundTripper {
		return tracer.Transport(service, inner(service, rt))
	}
	return nil
}

// collectorClient asks the collector, with the credentials and the authorities of now.
func collectorClient(cfg config.Tracing) (*http.Client, error) {
	hc := promconfig.DefaultHTTPClientConfig
	hc.ProxyConfig, hc.FollowRedirects = promconfig.ProxyConfig{ProxyFromEnvironment: true}, false
	const credentials, authorities = "credentials", "authorities"
	var refs config.Refs
	if cfg.Scheme != "" {
		hc.Authorization = &promconfig.Authorization{Type: cfg.Scheme, CredentialsRef: credentials}
		refs = refs.With(credentials, cfg.Credentials.Reveal)
	}
	if cfg.CAs != nil {
		hc.TLSConfig.CARef = authorities
		refs = refs.With(authorities, func() string { return string(cfg.CAs.Value().PEM) })
	}
	return promconfig.NewClientFromConfig(hc, "vllm_medic_tracing", promconfig.WithSecretManager(refs))
}

// tracedStore is the store; what is committed ends spans.
type tracedStore struct {
	Store
	tracer *tracing.Tracer
}

// Commit implements Store.
func (s tracedStore) Commit(ctx context.Context, changes ...incident.Change) error {
	err := s.Store.Commit(ctx, changes...)
	if err == nil {
		s.tracer.Committed(ctx, changes...)
	}
	return err
}

// CommitFolded implements Store.
func (s tracedStore) CommitFolded(ctx context.Context, f incident.Folded) error {
	err := s.Store.CommitFolded(ctx, f)
	if err == nil {
		s.tracer.Committed(ctx, f.Changes...)
	}
	return err
}

// SaveMessage implements Store.
func (s tracedStore) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	err := s.Store.SaveMessage(ctx, m, release)
	if err == nil {
		s.tracer.Saved(m)
	}
	return err
}

var descSpans = desc("trace_spans_total", "Spans that the collector took, or did not.", "result")

// spans counts what became of spans.
type spans struct{ *tracing.Tracer }

// Describe sends the description.
func (spans) Describe(out chan<- *prometheus.Desc) { out <- descSpans }

// Collect counts anew.
func (s spans) Collect(out chan<- prometheus.Metric) {
	sent, failed := s.Counts()
	out <- prometheus.MustNewConstMetric(descSpans, prometheus.CounterValue, float64(sent), "sent")
	out <- prometheus.MustNewConstMetric(descSpans, prometheus.CounterValue, float64(failed), "failed")
}
