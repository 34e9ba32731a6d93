package evidence

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// fakeProm is a Prometheus that also knows which metrics a pool has.
type fakeProm struct {
	*promtest.Fake
	t *testing.T
}

func newFakeProm(t *testing.T) *fakeProm {
	t.Helper()
	return &fakeProm{Fake: promtest.NewFake(t), t: t}
}

// dialect announces a pool's metric names, the bucket bounds of its histograms and fresh samples.
func (f *fakeProm) dialect(matchers map[string]string, names []string, buckets map[string][]string) {
	f.t.Helper()
	f.Always(mustNamesQuery(f.t, matchers), names2reply(names))
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
	f.Always(mustBucketsQuery(f.t, d, matchers), promtest.Vector(series...))
	pods, err := Rewrite(podLabelQuery, d, matchers)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Always(pods, promtest.Vector(`{"metric":{"pod":"llama-0"},"value":[1,"1"]}`))
	fresh, err := Rewrite(sampleAgeQuery, d, matchers)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Always(fresh, promtest.Reply{Before: func(w http.ResponseWriter, r *http.Request) {
		promtest.Write(w, promtest.Success("vector", `[{"metric":{},"value":[1,"`+r.Form.Get("time")+`"]}]`))
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

func names2reply(names []string) promtest.Reply {
	var series []string
	for _, n := range names {
		series = append(series, fmt.Sprintf(`{"metric":{"__name__":%q},"value":[1,"1"]}`, n))
	}
	return promtest.Vector(series...)
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
func collectOne(t *testing.T, s incident.Signal, cfg Config, answers ...promtest.Reply) incident.Reading {
	t.Helper()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	d, _ := DialectOf(v1Names())
	query, err := Rewrite(s.Query, d, llmMatchers)
	if err != nil {
		t.Fatal(err)
	}
	f.Once(query, answers...)
	cfg.Prometheus.URL = f.Serve()
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
