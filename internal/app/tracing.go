package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/tracing"
)

// buildTracing makes the tracer, when traces are configured, and puts it around the store and all requests.
func (a *App) buildTracing(ctx context.Context) error {
	cfg := a.opts.Config.Tracing
	if cfg == nil {
		return nil
	}
	to := tracing.Config{
		Endpoint: cfg.Endpoint, Authorization: cfg.Authorization.Reveal(), Version: cmp.Or(a.opts.Version, "unknown"),
	}
	if cfg.CAs != nil {
		to.TLS = &tls.Config{RootCAs: cfg.CAs, MinVersion: tls.VersionTLS12}
	}
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
