package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// traceOf is the trace of an incident, in every process.
func traceOf(incident string) trace.TraceID {
	sum := sha256.Sum256([]byte("trace of " + incident))
	return trace.TraceID(sum[:16])
}

// rootOf is the span of the whole incident, which all others are below.
func rootOf(incident string) trace.SpanID {
	sum := sha256.Sum256([]byte("root of " + incident))
	return trace.SpanID(sum[:8])
}

// below is a context whose spans are below the incident's own, which is sent when it closes.
func below(ctx context.Context, incident string) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceOf(incident), SpanID: rootOf(incident), TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

// rootKey marks the context in which the span of an incident itself is made.
type rootKey struct{}

// ids makes random ids, except of the span of an incident.
type ids struct{}

// NewIDs implements trace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if incident, ok := ctx.Value(rootKey{}).(string); ok {
		return traceOf(incident), rootOf(incident)
	}
	var t trace.TraceID
	_, _ = rand.Read(t[:]) // it never fails
	return t, g.NewSpanID(ctx, t)
}

// NewSpanID implements trace.IDGenerator.
func (ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var s trace.SpanID
	_, _ = rand.Read(s[:]) // it never fails
	return s
}
