package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/tracing"
)

var start = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// life brings an incident on, as the engine does, with a clock that moves ten seconds within each turn and a minute
// between them.
type life struct {
	t      *testing.T
	tracer *tracing.Tracer
	inc    incident.Incident
	now    time.Time
}

func newLife(t *testing.T, endpoint string, log io.Writer) *life {
	t.Helper()
	l := &life{t: t, now: start}
	l.tracer = l.process(endpoint, log)
	return l
}

// process is a tracer of a process of its own.
func (l *life) process(endpoint string, log io.Writer) *tracing.Tracer {
	l.t.Helper()
	client := &http.Client{Transport: bearer("otlp-s3cret")}
	out, err := tracing.New(l.t.Context(), tracing.Config{Endpoint: endpoint, Client: client},
		func() time.Time { return l.now }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { out.Close(context.Background()) })
	return out
}

func (l *life) turn(ev incident.Event, work func(context.Context)) {
	l.t.Helper()
	l.now = l.now.Add(time.Minute)
	ctx, end := l.tracer.Within(l.t.Context(), l.inc)
	if work != nil {
		work(ctx)
	}
	l.now = l.now.Add(10 * time.Second)
	if d, ok := ev.(incident.Decided); ok {
		d.Decision.Digest = l.inc.Plan.Digest
		ev = d
	}
	res, err := incident.Apply(l.inc, ev, l.now)
	if err != nil {
		l.t.Fatalf("%s in %s: %v", ev.Kind(), l.inc.State, err)
	}
	ch := incident.Change{Incident: res.Incident, Expect: l.inc.Version, Entries: res.Entries}
	l.inc = res.Incident
	l.inc.Version++
	l.tracer.Committed(ctx, ch)
	end(nil)
}

// lines is a log that is still written while it is read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ask sends a request of a turn, with secrets where requests have them.
func (l *life) ask(ctx context.Context, service, address, query string, code int) {
	l.t.Helper()
	rt := l.tracer.Transport(service, answering(func(*http.Request) (*http.Response, error) {
		if code == 0 {
			return nil, errors.New("dial s3cret-error")
		}
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}))
	body := url.Values{"query": {query}, "token": {"s3cret-form"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer s3cret-header")
	resp, err := rt.RoundTrip(req)
	if (err != nil) != (code == 0) {
		l.t.Fatal(err)
	}
	if err == nil {
		err = resp.Body.Close()
	}
	if err != nil && code != 0 {
		l.t.Fatal(err)
	}
}

func (l *life) open() {
	l.inc = incident.New("inc-1", "llama", incident.ModeApprove, false, l.now.Add(2*time.Second))
	l.inc.ReceivedAt = l.now
	res, err := incident.Apply(l.inc, incident.AlertsReceived{Alerts: []incident.Alert{{
		Fingerprint: "f", Firing: true, StartsAt: l.now, SeenAt: l.now,
		Labels:      map[string]string{"alertname": "vLLMHighTTFT", "token": "s3cret-label"},
		Annotations: map[string]string{"description": "s3cret-annotation"},
	}}}, l.inc.OpenedAt)
	if err != nil {
		l.t.Fatal(err)
	}
	l.tracer.Committed(l.t.Context(), incident.Change{Incident: res.Incident, Entries: res.Entries})
	l.inc = res.Incident
	l.inc.Version = 1
}

func found() incident.Investigated {
	return incident.Investigated{
		Evidence:  incident.Evidence{Readings: map[string]incident.Reading{}},
		Diagnosis: &incident.Diagnosis{Name: "queueing"}, Healthy: incident.False,
		Steps: []incident.Step{{
			Kind: incident.StepReplicas, Title: "Scale", From: incident.Set("2"), To: incident.Set("3"), Undo: incident.Set("2"),
			Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"},
			Needs:  incident.Needs{Approvals: 1}, Digest: "d",
			Diff: "--hf-token=s3cret-diff",
		}},
	}
}

// play plays a whole life. Another process goes on with it after the request.
func (l *life) play(other *tracing.Tracer) {
	l.open()
	l.turn(incident.InvestigationStarted{}, nil)
	l.turn(found(), func(ctx context.Context) {
		l.ask(ctx, "prometheus", "http://prometheus:9090/api/v1/query?key=s3cret-parameter",
			`vllm:num_requests_waiting{model_name="llama",api_key="s3cret-matcher"}`, 200)
		l.ask(ctx, "kubernetes", "https://kubernetes/apis/apps/v1/namespaces/llm/deployments/llama", "", 0)
	})
	l.turn(incident.Asked{ExpiresAt: l.now.Add(time.Hour)}, nil)
	l.tracer = other
	alice := incident.Actor{Kind: "slack", ID: "U1"}
	l.turn(incident.Decided{Decision: incident.Decision{
		Step: "p1-s1", Verb: incident.Approve, By: alice, Reason: "s3cret-reason",
	}}, nil)
	step, op := l.inc.Active.Step, l.inc.Active.Op
	l.turn(incident.WriteClaimed{Step: step, Op: op, WriteID: "w"}, nil)
	l.turn(incident.Written{Result: incident.ResultApplied}, nil)
	l.turn(incident.RolledOut{SettleUntil: l.now}, nil)
	l.turn(incident.Settled{}, nil)
	l.turn(incident.Verified{Final: true, Verification: incident.Verification{Verdict: incident.VerdictRecovered}}, nil)
	l.turn(incident.Closed{By: alice, Reason: "s3cret-close"}, nil)
}

func TestAnIncidentIsOneTraceAcrossProcesses(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	var log lines
	l := newLife(t, r.URL, &log)
	first, second := l.tracer, l.process(r.URL, &log)
	l.play(second)
	l.tracer.Saved(incident.Message{Incident: "inc-1", Sink: "slack", IntentAt: l.now})
	l.now = l.now.Add(4 * time.Second)
	l.tracer.Saved(incident.Message{Incident: "inc-1", Sink: "slack", TS: "1.000001"})
	first.Close(t.Context())
	second.Close(t.Context())
	want := map[string]string{
		"incident": "below nothing, 700s", "webhook": "below incident, 2s", "gather alerts": "below incident, 68s",
		"wait for related alerts": "below incident, 10s", "investigate": "below incident, 10s",
		"prometheus POST": "below investigate, 0s", "kubernetes POST": "below investigate, 0s",
		"ask": "below incident, 10s", "wait for a decision": "below incident, 70s", "look again": "below incident, 10s",
		"re-check before the write": "below incident, 70s", "write": "below incident, 70s", "rollout": "below incident, 70s",
		"settle": "below incident, 70s", "verification": "below incident, 70s", "apply": "below incident, 10s",
		"follow the rollout": "below incident, 10s", "verify": "below incident, 10s", "watch": "below incident, 10s",
		"notify slack": "below incident, 4s",
	}
	if d := cmp.Diff(want, r.tree()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	traces := map[string]bool{}
	for _, s := range r.spans {
		traces[string(s.GetTraceId())] = true
	}
	if len(traces) != 1 {
		t.Errorf("%d traces", len(traces))
	}
	if raw := string(r.raw); strings.Contains(raw, "s3cret") {
		t.Errorf("a secret is in the spans: …%s", raw[max(0, strings.Index(raw, "s3cret")-80):][:160])
	}
	if !strings.Contains(string(r.raw), `vllm:num_requests_waiting{model_name="llama"`) {
		t.Error("the query is not in the spans")
	}
	for _, a := range r.auth {
		if a != "Bearer otlp-s3cret" {
			t.Errorf("the collector is asked with %q", a)
		}
	}
	a, _ := first.Counts()
	b, failed := second.Counts()
	if int(a+b) != len(r.spans) || failed != 0 || log.String() != "" {
		t.Errorf("%d sent and %d failed of %d: %s", a+b, failed, len(r.spans), &log)
	}
}

func TestDrillsAndTurnsInWhichNothingHappensLeaveNoSpan(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	l := newLife(t, r.URL, io.Discard)
	_, end := l.tracer.Within(t.Context(), incident.New("inc-1", "llama", incident.ModeApprove, false, start))
	end(nil)
	drill := incident.New("inc-2", "llama", incident.ModeApprove, true, start)
	drill.Drill = &incident.Drill{}
	ctx, end := l.tracer.Within(t.Context(), drill)
	l.ask(ctx, "prometheus", "http://prometheus/api/v1/query", "up", 200)
	l.tracer.Committed(ctx, incident.Change{Incident: drill})
	end(nil)
	l.ask(t.Context(), "prometheus", "http://prometheus/api/v1/query", "up", 200) // a page asks
	l.tracer.Close(t.Context())
	if got := r.tree(); len(got) > 0 {
		t.Errorf("spans: %v", got)
	}
}

// A collector that takes connections and never answers holds nothing up: whatever happens goes on, is counted as lost,
// and is logged once.
func TestACollectorThatNeverAnswersHoldsNothingUp(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	hole, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0") // the kernel takes the connections; nobody reads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hole.Close(); err != nil {
			t.Error(err)
		}
	})
	var log lines
	l := newLife(t, "http://"+hole.Addr().String(), &log)
	for range 500 { // more spans than wait for the collector
		l.now = l.now.Add(time.Hour)
		l.play(l.tracer)
	}
	l.tracer.Close(t.Context())
	sent, failed := l.tracer.Counts()
	if sent != 0 || failed == 0 {
		t.Errorf("%d sent, %d failed", sent, failed)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Contains(log.String(), "s3cret") {
		t.Errorf("%d warnings: %s", n, &log)
	}
}

func TestWithoutATracerNothingIsDone(t *testing.T) {
	t.Parallel()
	var none *tracing.Tracer
	ctx, end := none.Within(t.Context(), incident.Incident{})
	end(nil)
	none.Committed(ctx, incident.Change{})
	none.Saved(incident.Message{})
	none.Close(ctx)
	if none.Transport("prometheus", http.DefaultTransport) != http.DefaultTransport || ctx != t.Context() {
		t.Error("something is changed")
	}
}

// bearer sends requests with a token.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
