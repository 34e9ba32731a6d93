package tracing

import (
	"io"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxForm bounds what is read of a request for its query.
const maxForm = 16 << 10

// Transport is a transport whose requests are spans, when they belong to a turn on an incident. No header, no body but
// a query, and no parameter is in them, and nothing is added to the request.
func (t *Tracer) Transport(service string, rt http.RoundTripper) http.RoundTripper {
	if t == nil {
		return rt
	}
	return traced{t, service, rt}
}

type traced struct {
	*Tracer

	service string
	inner   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t traced) RoundTrip(req *http.Request) (*http.Response, error) {
	work := turnOf(req.Context())
	if work == nil {
		return t.inner.RoundTrip(req)
	}
	ctx, span := t.tracer.Start(req.Context(), t.service+" "+req.Method, trace.WithTimestamp(t.now()),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("http.request.method", req.Method), attribute.String("server.address", req.URL.Host)))
	work.used.Store(true)
	if t.service == "prometheus" || t.service == "kubernetes" { // the address of a receiver is a secret
		span.SetAttributes(attribute.String("url.path", redact.Shown(req.URL.Path)))
	}
	if q := query(req); q != "" {
		span.SetAttributes(attribute.String("db.query.text", q))
	}
	resp, err := t.inner.RoundTrip(req.WithContext(ctx))
	if err != nil {
		span.SetStatus(codes.Error, "no answer") // the error may name addresses
	} else {
		span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
		if resp.StatusCode >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End(trace.WithTimestamp(t.now()))
	return resp, err
}

// query is the PromQL of a request, without what looks like a secret; empty when it has none.
func query(req *http.Request) string {
	text := ""
	if req.GetBody != nil && req.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		body, err := req.GetBody()
		if err != nil {
			return ""
		}
		defer body.Close() //nolint:errcheck // a copy in memory
		b, err := io.ReadAll(io.LimitReader(body, maxForm))
		if err != nil {
			return ""
		}
		if form, err := url.ParseQuery(string(b)); err == nil {
			text = form.Get("query")
		}
	}
	return redact.Shown(text)
}
