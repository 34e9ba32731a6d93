package evidence

import (
	"encoding/json"
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

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// fakeProm is a strict double of Prometheus' query API: a request that was not announced fails the test, and so does an
// announced one that never came.
type fakeProm struct {
	t  *testing.T
	mu sync.Mutex
	// replies by path and query, used in order.
	replies map[string][]reply
	// standing replies answer any number of times, at least once unless optional.
	standing map[string]reply
	used     map[string]bool
	requests []request
}

type request struct {
	method, path string
	form         url.Values
	header       http.Header
}

type reply struct {
	status   int
	body     string
	header   map[string]string
	before   func(http.ResponseWriter, *http.Request)
	optional bool
}

func newFakeProm(t *testing.T) *fakeProm {
	t.Helper()
	f := &fakeProm{t: t, replies: map[string][]reply{}, standing: map[string]reply{}, used: map[string]bool{}}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for key, left := range f.replies {
			if len(left) > 0 {
				t.Errorf("fake Prometheus: %d announced answers were never asked for: %s", len(left), key)
			}
		}
		for key, r := range f.standing {
			if !f.used[key] && !r.optional {
				t.Errorf("fake Prometheus: never asked: %s", key)
			}
		}
	})
	return f
}

const (
	instantPath = "/api/v1/query"
	rangePath   = "/api/v1/query_range"
)

// once announces one answer to an instant query; several calls answer in order.
func (f *fakeProm) once(query string, rs ...reply) {
	f.replies[instantPath+" "+query] = append(f.replies[instantPath+" "+query], rs...)
}

// always announces answers to an instant query.
func (f *fakeProm) always(query string, r reply) { f.standing[instantPath+" "+query] = r }

// dialect announces a pool's metric names, the bucket bounds of its histograms and fresh samples.
func (f *fakeProm) dialect(matchers map[string]string, names []string, buckets map[string][]string) {
	f.t.Helper()
	f.always(mustNamesQuery(f.t, matchers), names2reply(names))
	d, ok := DialectOf(names)
	if !ok {
		return
	}
	var series []string
	for name, les := range buckets {
		for _, le := range les {
			series = append(series, fmt.Sprintf(`{"metric":{"__name__":%q,"le":%q},"value":[1,"1"]}`, name+"_bucket", le))
		}
	}
	f.always(mustBucketsQuery(f.t, d, matchers), vectorReply(series...))
	pods, err := Rewrite(podLabelQuery, d, matchers)
	if err != nil {
		f.t.Fatal(err)
	}
	f.always(pods, vectorReply(`{"metric":{"pod":"llama-0"},"value":[1,"1"]}`))
	fresh, err := Rewrite(sampleAgeQuery, d, matchers)
	if err != nil {
		f.t.Fatal(err)
	}
	f.always(fresh, reply{before: func(w http.ResponseWriter, r *http.Request) {
		write(w, success("vector", `[{"metric":{},"value":[1,"`+r.Form.Get("time")+`"]}]`))
	}})
}

func mustNamesQuery(t *testing.T, matchers map[string]string) string {
	t.Helper()
	q, err := namesQuery(matchers)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func mustBucketsQuery(t *testing.T, d Dialect, matchers map[string]string) string {
	t.Helper()
	sel, err := selector(d.prefix()+vllm.LatencyPattern, equals(matchers)...)
	if err != nil {
		t.Fatal(err)
	}
	return "group by (__name__, le) (" + sel + ")"
}

func names2reply(names []string) reply {
	var series []string
	for _, n := range names {
		series = append(series, fmt.Sprintf(`{"metric":{"__name__":%q},"value":[1,"1"]}`, n))
	}
	return vectorReply(series...)
}

func vectorReply(series ...string) reply {
	return reply{body: success("vector", "["+strings.Join(series, ",")+"]")}
}

func valueReply(v string) reply { return vectorReply(`{"metric":{},"value":[1,"` + v + `"]}`) }

func success(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

func (f *fakeProm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		f.t.Errorf("fake Prometheus: %v", err)
	}
	key := r.URL.Path + " " + r.Form.Get("query")
	f.mu.Lock()
	f.requests = append(f.requests, request{method: r.Method, path: r.URL.Path, form: r.Form, header: r.Header.Clone()})
	answer, ok := f.standing[key]
	if queue := f.replies[key]; len(queue) > 0 {
		answer, ok, f.replies[key] = queue[0], true, queue[1:]
	}
	f.used[key] = true
	f.mu.Unlock()
	if !ok {
		f.t.Errorf("fake Prometheus: not announced: %s %s", r.Method, key)
		w.WriteHeader(http.StatusTeapot)
		return
	}
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
func (f *fakeProm) asked() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

// count says how often a query was asked.
func (f *fakeProm) count(query string) int {
	n := 0
	for _, r := range f.asked() {
		if r.form.Get("query") == query {
			n++
		}
	}
	return n
}

func write(w http.ResponseWriter, body string) {
	// A client that has hung up is what some tests are about.
	_, _ = io.WriteString(w, body)
}

// serve starts the double and returns its address.
func (f *fakeProm) serve() string {
	f.t.Helper()
	srv := httptest.NewServer(f)
	f.t.Cleanup(srv.Close)
	return srv.URL
}

// RoundTrip lets the double stand without a socket, for tests in a synctest bubble.
func (f *fakeProm) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	return resp, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// asking is the configuration for a Prometheus at this address.
func asking(url string) Config { return Config{Prometheus: prometheus.Config{URL: url}} }

// newCollector makes a collector with short times for tests.
func newCollector(t *testing.T, cfg Config, kube Kube) *Collector {
	t.Helper()
	if cfg.Prometheus.RetryBase == 0 {
		cfg.Prometheus.RetryBase = time.Millisecond
	}
	c, err := New(cfg, kube, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var llmMatchers = map[string]string{"namespace": "llm", "model_name": "llama"} //nolint:gochecknoglobals // read only

func llmPool() incident.Pool {
	return incident.Pool{
		Name: "llama", Matchers: llmMatchers,
		Workload: incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama"},
	}
}

// foreign is a signal that does not read vLLM's metrics, so that only its own query is asked beside the detection.
func foreign(name, query string) incident.Signal { return incident.Signal{Name: name, Query: query} }

// collectOne reads one signal whose answer is given, with a known V1 dialect around it.
func collectOne(t *testing.T, s incident.Signal, cfg Config, answers ...reply) incident.Reading {
	t.Helper()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	d, _ := DialectOf(v1Names())
	query, err := Rewrite(s.Query, d, llmMatchers)
	if err != nil {
		t.Fatal(err)
	}
	f.once(query, answers...)
	cfg.Prometheus.URL = f.serve()
	ev := newCollector(t, cfg, nil).Collect(t.Context(), llmPool(), []incident.Signal{s}, CollectOptions{})
	return ev.Readings[s.Name]
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
