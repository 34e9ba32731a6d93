package prometheus

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// fake is a strict double of Prometheus' API: it gives the announced answers in order. A request beyond them fails the
// test, and so does an answer that nobody asked for.
type fake struct {
	t        *testing.T
	mu       sync.Mutex
	answers  []reply
	requests []request
}

type request struct {
	method, path string
	form         url.Values
	header       http.Header
}

type reply struct {
	status int
	body   string
	header map[string]string
	before func(http.ResponseWriter, *http.Request)
	// repeated answers any number of times, also none.
	repeated bool
}

func newFake(t *testing.T, answers ...reply) *fake {
	t.Helper()
	f := &fake{t: t, answers: answers}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.answers) > 0 && !f.answers[0].repeated {
			t.Errorf("fake Prometheus: %d announced answers were never asked for", len(f.answers))
		}
	})
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		f.t.Errorf("fake Prometheus: %v", err)
	}
	f.mu.Lock()
	f.requests = append(f.requests, request{method: r.Method, path: r.URL.Path, form: r.Form, header: r.Header.Clone()})
	if len(f.answers) == 0 {
		f.mu.Unlock()
		f.t.Errorf("fake Prometheus: not announced: %s %s %s", r.Method, r.URL.Path, r.Form.Get("query"))
		w.WriteHeader(http.StatusTeapot)
		return
	}
	answer := f.answers[0]
	if !answer.repeated {
		f.answers = f.answers[1:]
	}
	f.mu.Unlock()
	for k, v := range answer.header {
		w.Header().Set(k, v)
	}
	if answer.before != nil {
		answer.before(w, r)
		return
	}
	if answer.status != 0 {
		w.WriteHeader(answer.status)
	}
	write(w, answer.body)
}

// asked returns the requests so far.
func (f *fake) asked() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

// serve starts the double and returns its address.
func (f *fake) serve() string {
	f.t.Helper()
	srv := httptest.NewServer(f)
	f.t.Cleanup(srv.Close)
	return srv.URL
}

// RoundTrip lets the double answer without a socket, for tests in a synctest bubble.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func write(w http.ResponseWriter, body string) {
	// A client that has hung up is what some tests are about.
	_, _ = io.WriteString(w, body)
}

func success(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

func valueReply(v string) reply {
	return reply{body: success("vector", `[{"metric":{},"value":[1,"`+v+`"]}]`)}
}

// newClient makes a client with short waits for tests.
func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.RetryBase == 0 {
		cfg.RetryBase = time.Millisecond
	}
	c, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is the value of an answer, or the error in its place.
type outcome struct{ value, err string }

// askOnce asks one query whose answers are given.
func askOnce(t *testing.T, cfg Config, answers ...reply) (outcome, *fake) {
	t.Helper()
	f := newFake(t, answers...)
	cfg.URL = f.serve()
	return ask(t, newClient(t, cfg)), f
}

func ask(t *testing.T, c *Client) outcome {
	t.Helper()
	got, err := c.Instant(t.Context(), "up", time.Now())
	if err != nil {
		return outcome{err: err.Error()}
	}
	v, ok := got.Value.(model.Vector)
	if !ok || len(v) != 1 {
		t.Fatalf("answer = %v", got.Value)
	}
	return outcome{value: v[0].Value.String()}
}
