package web_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/test/openapi"
)

var (
	now = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	ada = incident.Actor{Kind: "kubernetes", ID: "ada"}
)

// expected is one call that a test expects, with its answer.
type expected struct {
	call   string
	args   any
	answer any
	err    error
}

// fake is everything behind the routes. It takes calls only in the order in which the test expects them, with these
// arguments; any other call fails the test, and so does one that was expected and did not come.
type fake struct {
	t testing.TB

	mu    sync.Mutex
	queue []expected
	// always answers these calls, as often as they come.
	always map[string]any
	// onCall hears of every call.
	onCall func(call string, args any)
}

func (f *fake) expect(call string, args, answer any, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, expected{call, args, answer, err})
}

func (f *fake) take(call string, args any) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onCall != nil {
		f.onCall(call, args)
	}
	if a, ok := f.always[call]; ok {
		return a, nil
	}
	if len(f.queue) == 0 || f.queue[0].call != call {
		f.t.Errorf("an unexpected call: %s(%+v)", call, args)
		return nil, errors.New("unexpected")
	}
	e := f.queue[0]
	f.queue = f.queue[1:]
	if diff := cmp.Diff(e.args, args); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", call, diff)
	}
	return e.answer, e.err
}

func (f *fake) Incidents(_ context.Context, filter incident.Filter) ([]incident.Incident, error) {
	a, err := f.take("list", filter)
	list, _ := a.([]incident.Incident)
	return list, err
}

func (f *fake) IncidentWithJournal(_ context.Context, id string) (incident.Incident, error) {
	a, err := f.take("show", id)
	inc, _ := a.(incident.Incident)
	f.described(inc) //nolint:contextcheck // the test goes on when the request is over
	return inc, err
}

// described holds an incident that a page shows against what the API says that it answers with.
func (f *fake) described(inc incident.Incident) {
	raw, err := json.Marshal(inc)
	if _, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
		return // with a reading that no store keeps and no route answers with
	}
	if err != nil {
		f.t.Error(err)
	}
	asked := httptest.NewRequestWithContext(f.t.Context(), get, "/api/v1/incidents/"+url.PathEscape(inc.ID+"i"), nil)
	openapi.Check(f.t, asked, nil, http.StatusOK, http.Header{"Content-Type": {"application/json"}}, raw)
}

func (f *fake) Snapshots(_ context.Context, id string) ([]incident.Snapshot, error) {
	a, err := f.take("snapshots", id)
	list, _ := a.([]incident.Snapshot)
	return list, err
}

type acted struct {
	ID    string
	Event incident.Event
}

func (f *fake) Act(_ context.Context, id string, ev incident.Event) (incident.Incident, error) {
	a, err := f.take("act", acted{id, ev})
	inc, _ := a.(incident.Incident)
	return inc, err
}

func (f *fake) Decide(_ context.Context, id string, d incident.Decision) (incident.Incident, error) {
	a, err := f.take("decide", acted{id, incident.Decided{Decision: d}})
	inc, _ := a.(incident.Incident)
	return inc, err
}

func (f *fake) StartDrill(_ context.Context, o incident.DrillOrder) (string, error) {
	a, err := f.take("drill", o)
	id, _ := a.(string)
	return id, err
}

func (f *fake) SetPause(_ context.Context, p incident.Pause) error {
	_, err := f.take("pause", p)
	return err
}

func (f *fake) ClearPause(_ context.Context, pool string, asked time.Time) (bool, error) {
	if !asked.Equal(now) {
		f.t.Errorf("resumed with %s, not with the time of the request", asked)
	}
	a, err := f.take("resume", pool)
	had, _ := a.(bool)
	return had, err
}

func (f *fake) Pauses(context.Context) ([]incident.Pause, error) {
	a, err := f.take("pauses", nil)
	list, _ := a.([]incident.Pause)
	return list, err
}

func (f *fake) OpenWrites(context.Context) ([]incident.Write, error) {
	a, err := f.take("writes", nil)
	list, _ := a.([]incident.Write)
	return list, err
}

func (f *fake) Report(_ context.Context, p report.Period) (report.Report, error) {
	a, err := f.take("report", p)
	r, _ := a.(report.Report)
	return r, err
}

// gate knows three tokens: ada's may do everything, the viewer's may read, and for "nobody-can-tell" the question
// cannot be asked.
type gate struct{}

func (g gate) Check(_ context.Context, shown access.Shown, right access.Right) (incident.Actor, error) {
	switch token := shown.Token; {
	case shown.From != "192.0.2.1": // which httptest gives every request
		return incident.Actor{}, fmt.Errorf("a request from %q", shown.From)
	case token == "" && len(shown.Chain) > 0:
		return g.certificate(shown.Chain, right)
	case token == "of-the-cluster" && shown.Password:
		return incident.Actor{}, access.ErrUnauthenticated
	case token == "of-the-cluster":
		return ada, nil
	case token == "of-many":
		return incident.Actor{}, access.ErrBusy
	case token == "ada-token":
		return ada, nil
	case token == "viewer-token" && right == access.Read:
		return incident.Actor{Kind: "viewer", ID: "token"}, nil
	case token == "viewer-token":
		return incident.Actor{}, fmt.Errorf("%w: the viewer token may only read", access.ErrForbidden)
	case token == "nobody-can-tell":
		return incident.Actor{}, errors.New("dial tcp 10.0.0.1:443: connection refused")
	default:
		return incident.Actor{}, access.ErrUnauthenticated
	}
}

// certificate knows ada's, and bob's, whose owner may only read.
func (gate) certificate(chain []*x509.Certificate, right access.Right) (incident.Actor, error) {
	switch name := chain[0].Subject.CommonName; {
	case name == "ada":
		return ada, nil
	case name == "bob" && right == access.Read:
		return incident.Actor{Kind: "kubernetes", ID: "bob"}, nil
	case name == "bob":
		return incident.Actor{}, fmt.Errorf("%w: bob needs more", access.ErrForbidden)
	case name == "nobody-can-tell":
		return incident.Actor{}, errors.New("dial tcp 10.0.0.1:443: connection refused")
	default:
		return incident.Actor{}, access.ErrUnauthenticated
	}
}

// site is the routes with their fake and what was logged.
type site struct {
	*fake

	echo   *echo.Echo
	log    *bytes.Buffer
	notice string
	pools  []incident.Pool
	health map[string]web.Health
	status web.Status

	playbooks []web.Playbook
	// runbooks are Markdown by name.
	runbooks map[string]string
	// elsewhere has the addresses of other systems.
	elsewhere present.Elsewhere
	// past is what Prometheus has of a closed incident; nil: nobody asks.
	past func(context.Context, incident.Incident, map[string]string, time.Time, time.Time) (
		map[string][]incident.Point, error)
}

func newSite(t testing.TB, with ...func(*site)) *site {
	t.Helper()
	s := &site{
		fake: &fake{t: t, always: map[string]any{}}, log: &bytes.Buffer{}, echo: echo.New(),
		pools: []incident.Pool{{Name: "llama", Mode: incident.ModeApprove}},
	}
	for _, change := range with {
		change(s)
	}
	h, err := web.New(web.Deps{
		Incidents: s, Engine: s, Switch: s, Gate: gate{}, Pools: func() []incident.Pool { return s.pools },
		Health: func(context.Context) map[string]web.Health { return s.health },
		Status: func(context.Context) web.Status { return s.status },
		Notice: func() string { return s.notice }, Report: s.Report, Past: s.past,
		Runbooks: web.Runbooks{
			InForce: func() []web.Playbook { return s.playbooks }, DocsURL: "https://docs.example.com",
			Page: func(name string) ([]byte, bool) {
				text, ok := s.runbooks[name]
				return []byte(text), ok
			},
		},
		Links: web.Links{
			BaseURL: "https://medic.example.com", PrometheusURL: "https://prometheus.example.com", Elsewhere: s.elsewhere,
			Message: func(context.Context, incident.Incident) string { return "https://acme.slack.com/archives/C1/p1" },
			Runbook: func(c incident.Cause) string { return present.RunbookURL("https://docs.example.com", "", c) },
		},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Register(s.echo)
	s.echo.HTTPErrorHandler = func(err error, c echo.Context) {
		he, ok := errors.AsType[*echo.HTTPError](err)
		if !ok {
			t.Errorf("an error without an answer: %v", err)
			he = echo.ErrInternalServerError
		}
		if answered, err := h.Explain(c, he.Code, fmt.Sprint(he.Message)); answered {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if err := c.JSON(he.Code, map[string]any{"error": he.Message}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		if len(s.queue) > 0 {
			t.Errorf("calls that did not come: %+v", s.queue)
		}
		for _, token := range []string{"ada-token", "viewer-token", "nobody-can-tell", "wrong-token"} {
			if strings.Contains(s.log.String(), token) {
				t.Errorf("the token %s stands in the log", token)
			}
		}
	})
	return s
}

// listed expects what the first page reads.
func (s *site) listed(open, closed []incident.Incident, pauses ...incident.Pause) {
	s.t.Helper()
	s.expect("pauses", nil, pauses, nil)
	s.expect("list", incident.Filter{State: "open", AllPools: true, Limit: 101}, open, nil)
	s.expect("list", incident.Filter{State: "closed", AllPools: true, Limit: 21}, closed, nil)
}

// look is a page as a person with the viewer's token sees it.
func (s *site) look(path string) string {
	s.t.Helper()
	rec := s.ask(get, path, "viewer-token", "")
	if rec.Code != http.StatusOK {
		s.t.Fatalf("%s: code %d: %.300s", path, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// ask sends a request with a bearer token, or with none. Every answer is held against docs/openapi.yaml.
func (s *site) ask(method, path, token, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return s.send(req)
}

func (s *site) send(req *http.Request) *httptest.ResponseRecorder {
	s.t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	s.echo.ServeHTTP(rec, req)
	openapi.Check(s.t, req, body, rec.Code, rec.Header(), rec.Body.Bytes())
	return rec
}

// refused checks that an answer is an error with this code, as JSON with a sentence, and returns the sentence.
func (s *site) refused(rec *httptest.ResponseRecorder, code int) string {
	s.t.Helper()
	var e struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil || e.Error == "" {
		s.t.Errorf("the answer %d is no JSON error: %q", rec.Code, rec.Body)
	}
	if rec.Code != code {
		s.t.Errorf("code %d (%s), want %d", rec.Code, e.Error, code)
	}
	for _, token := range []string{"ada-token", "viewer-token", "nobody-can-tell", "wrong-token"} {
		if strings.Contains(rec.Body.String(), token) {
			s.t.Errorf("the token stands in the answer: %s", rec.Body)
		}
	}
	return e.Error
}
