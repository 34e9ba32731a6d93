package tracing

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// turn is one turn of work on an incident.
type turn struct {
	inc  incident.Incident
	span trace.Span
	// used says that something was asked or committed.
	used atomic.Bool
}

type turnKey struct{}

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// Within returns the context of a turn on an incident, and what to call at its end. A turn in which nothing is asked
// and nothing committed leaves no span; neither does one whose end is not called.
func (t *Tracer) Within(ctx context.Context, inc incident.Incident) (context.Context, func(error)) {
	if t == nil || inc.Drill != nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(below(ctx, inc.ID), turnName(inc), trace.WithTimestamp(t.now()),
		trace.WithAttributes(attribute.String("vllm_medic.pool", inc.Pool),
			attribute.String("vllm_medic.state", string(inc.State))))
	work := &turn{inc: inc, span: span}
	return context.WithValue(ctx, turnKey{}, work), func(err error) {
		if !work.used.Load() {
			return
		}
		if err != nil {
			span.SetStatus(codes.Error, "the turn failed; the log says why")
		}
		span.End(trace.WithTimestamp(t.now()))
	}
}

func turnName(inc incident.Incident) string {
	switch inc.State {
	case incident.StateReceived:
		return "wait for related alerts"
	case incident.StateInvestigating:
		return "investigate"
	case incident.StateProposed:
		return "ask"
	case incident.StateDeciding:
		return "look again"
	case incident.StateApplying:
		return "apply"
	case incident.StateUndoing:
		return "undo"
	case incident.StateSettling:
		return "follow the rollout"
	case incident.StateVerifying:
		return "verify"
	case incident.StateWatching:
		return "watch"
	case incident.StateClosed:
	}
	return "act"
}

// Committed sends what has ended with changes: a delivery that opened an incident, a wait, a phase of a step, the
// incident itself.
func (t *Tracer) Committed(ctx context.Context, changes ...incident.Change) {
	if t == nil {
		return
	}
	for _, ch := range changes {
		inc := ch.Incident
		if inc.Drill != nil {
			continue
		}
		if ch.Expect == 0 {
			t.past(inc, "webhook", inc.Began(), inc.OpenedAt)
		}
		if work := turnOf(ctx); work != nil && work.inc.ID == inc.ID {
			t.ended(work.inc, inc, ch.Entries)
			work.inc = inc
			work.used.Store(true)
		}
		if inc.State == incident.StateClosed && len(ch.Entries) > 0 {
			t.whole(inc)
		}
	}
}

// ended sends the waits and phases that a change has ended.
func (t *Tracer) ended(before, after incident.Incident, entries []incident.Entry) {
	now := after.UpdatedAt
	if before.State == incident.StateReceived && after.State != incident.StateReceived {
		t.past(after, "gather alerts", before.OpenedAt, now)
	}
	if before.Request.Open() && !after.Request.Open() {
		answer := "withdrawn"
		for _, c := range (incident.Change{Incident: after, Expect: 1, Entries: entries}).Tallies() {
			if c.Family == incident.TallyDecisions {
				answer = c.Labels[0]
			}
		}
		t.past(after, "wait for a decision", before.Request.At, now, attribute.String("vllm_medic.decision", answer))
	}
	was, is := before.Active, after.Active
	if was == nil || is != nil && is.Phase == was.Phase && is.Step == was.Step && is.Op == was.Op {
		return
	}
	s, _ := after.Step(was.Step)
	more := []attribute.KeyValue{
		attribute.String("vllm_medic.knob", string(s.Kind)), attribute.String("vllm_medic.op", string(was.Op)),
	}
	if was.Phase == incident.PhaseVerify && s.Verification != nil {
		more = append(more, attribute.String("vllm_medic.verdict", string(s.Verification.Verdict)))
	}
	t.past(after, phaseName(was.Phase), was.Since, now, more...)
}

func phaseName(p incident.Phase) string {
	switch p {
	case incident.PhaseRecheck:
		return "re-check before the write"
	case incident.PhaseClaimed:
		return "write"
	case incident.PhaseRollout:
		return "rollout"
	case incident.PhaseSettle:
		return "settle"
	case incident.PhaseVerify:
	}
	return "verification"
}

// past sends a span that is over.
func (t *Tracer) past(inc incident.Incident, name string, from, to time.Time, more ...attribute.KeyValue) {
	if from.IsZero() || to.Before(from) {
		from = to
	}
	_, span := t.tracer.Start(below(context.Background(), inc.ID), name, trace.WithTimestamp(from),
		trace.WithAttributes(append(more, attribute.String("vllm_medic.pool", inc.Pool))...))
	span.End(trace.WithTimestamp(to))
}

// whole sends the span of an incident that is over. One that is opened again sends it again, with its new end.
func (t *Tracer) whole(inc incident.Incident) {
	cause := incident.TallyNone
	if inc.Diagnosis != nil {
		cause = inc.Diagnosis.Name
	}
	_, span := t.tracer.Start(context.WithValue(context.Background(), rootKey{}, inc.ID), "incident",
		trace.WithNewRoot(), trace.WithTimestamp(inc.Began()), trace.WithAttributes(
			attribute.String("vllm_medic.incident", inc.ID),
			attribute.String("vllm_medic.pool", cmp.Or(inc.Pool, incident.TallyNone)),
			attribute.String("vllm_medic.diagnosis", cause), attribute.String("vllm_medic.mode", string(inc.Mode)),
			attribute.Bool("vllm_medic.dry_run", inc.DryRun), attribute.Int("vllm_medic.reopened", inc.Reopened)))
	span.End(trace.WithTimestamp(inc.ClosedAt))
}

// Saved follows a message: the time from the intent to post until the answer is a span.
func (t *Tracer) Saved(m incident.Message) {
	if t == nil || m.Kind != "" {
		return
	}
	key := m.Incident + "\x00" + m.Sink
	if !m.IntentAt.IsZero() {
		if !m.GaveUp {
			t.posting.Store(key, m.IntentAt)
		}
		return
	}
	if since, ok := t.posting.LoadAndDelete(key); ok && m.LastError == "" {
		from, _ := since.(time.Time)
		t.past(incident.Incident{ID: m.Incident}, "notify "+m.Sink, from, t.now())
	}
}
