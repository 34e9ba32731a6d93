package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// queue bounds the spans that wait for the collector; more are lost.
	queue = 4096
	// sendTimeout bounds one request to the collector, flushWithin what the end of the process waits for: one request.
	sendTimeout = 5 * time.Second
	flushWithin = 6 * time.Second
)

// Config is where spans go.
type Config struct {
	// Endpoint is the collector's base URL; /v1/traces is added.
	Endpoint string
	// Client carries the requests, with credentials and TLS; nil: one without credentials. Its timeout is not used.
	Client *http.Client
	// Version is that of the program.
	Version string
}

// Tracer makes spans. A nil Tracer makes none. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sent     *sender
	// posting is since when a message is being posted, by its incident and sink.
	posting sync.Map
	now     func() time.Time
}

// New returns a Tracer. Nothing is asked of the collector yet. now is the clock of the incidents.
func New(ctx context.Context, cfg Config, now func() time.Time, logger *slog.Logger) (*Tracer, error) {
	if cfg.Endpoint == "" || now == nil || logger == nil {
		return nil, errors.New("tracing: endpoint, now and logger are needed")
	}
	opts := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(strings.TrimRight(cfg.Endpoint, "/") + "/v1/traces"),
		otlptracehttp.WithTimeout(sendTimeout), otlptracehttp.WithHeaders(map[string]string{}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}),
	}
	if cfg.Client != nil {
		client := *cfg.Client
		client.Timeout = sendTimeout
		opts = append(opts, otlptracehttp.WithHTTPClient(&client))
	}
	exporter, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	sent := &sender{SpanExporter: exporter, logger: logger}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(sent, sdk.WithMaxQueueSize(queue), sdk.WithBatchTimeout(2*time.Second)),
		sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "vllm-medic"), attribute.String("service.version", cfg.Version))),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("vllm-medic"), sent: sent, now: now}, nil
}

// Close sends what waits, for a moment at most. It may be called twice.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what could not be sent is counted and logged
}

// Counts are the spans that the collector took, and that it did not.
func (t *Tracer) Counts() (sent, failed int64) {
	if t == nil {
		return 0, 0
	}
	return t.sent.sent.Load(), t.sent.failed.Load()
}

// sender counts what is sent, and logs the begin and the end of a failure, not each.
type sender struct {
	sdk.SpanExporter

	logger       *slog.Logger
	sent, failed atomic.Int64
	down         atomic.Bool
}

// ExportSpans implements sdk.SpanExporter. An error ends here: the library would print it.
func (s *sender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		s.failed.Add(int64(len(spans)))
		if !s.down.Swap(true) {
			s.logger.WarnContext(ctx, "traces are not taken by the collector, and are lost until it does", "err", err)
		}
		return nil
	}
	s.sent.Add(int64(len(spans)))
	if s.down.Swap(false) {
		s.logger.InfoContext(ctx, "the collector takes traces again")
	}
	return nil
}
