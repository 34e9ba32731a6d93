package evidence

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

var modelsAt = time.Date(2025, time.November, 19, 10, 30, 0, 0, time.UTC)

// stock is a Prometheus in memory that models are put into.
type stock struct {
	t    *testing.T
	prom *promembed.Prometheus
}

func newStock(t *testing.T) stock {
	t.Helper()
	p, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return stock{t: t, prom: p}
}

// series adds a series that had its last sample some time ago. Pairs are names and values of labels.
func (s stock) series(name string, ago time.Duration, pairs ...string) {
	s.t.Helper()
	ls := labels.NewBuilder(labels.FromStrings(pairs...)).Set("__name__", name).Labels()
	var samples []promembed.Sample
	for back := 10 * time.Minute; back >= 0; back -= time.Minute {
		samples = append(samples, promembed.Sample{T: modelsAt.Add(-ago - back), V: 1})
	}
	if err := s.prom.Append(ls, samples); err != nil {
		s.t.Fatal(err)
	}
}

// models asks for them.
func (s stock) models(match map[string]string) []Model {
	s.t.Helper()
	c, err := New(Config{
		Now: func() time.Time { return modelsAt },
		Prometheus: prometheus.Config{
			URL: "http://prometheus.invalid", Transport: func(http.RoundTripper) http.RoundTripper { return s.prom },
		},
	}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := c.Models(s.t.Context(), match)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func names(all []Model) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.Name)
	}
	return out
}

func TestModelsOfEveryDialectAreFound(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	var want []string
	for _, d := range vllm.Spellings() {
		for _, metric := range []string{
			"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
		} {
			if name, ok := d.Spell(metric); ok {
				s.series(name, 0, "namespace", "llm", "model_name", d.Name, "job", "vllm", "pod", "a")
			}
		}
		want = append(want, "llm/"+d.Name)
	}
	got := s.models(nil)
	if len(got) != len(want) {
		t.Fatalf("found %v, want %v", names(got), want)
	}
	for _, m := range got {
		if m.Gone || len(m.Overlaps) > 0 || m.Labels["namespace"] != "llm" || "llm/"+m.ModelName() != m.Name {
			t.Errorf("%+v", m)
		}
	}
}

func TestAModelThatIsScrapedTwiceIsOneModel(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	for _, prefix := range []string{"vllm:", "kserve_vllm:"} {
		for _, pod := range []string{"a", "b"} {
			s.series(prefix+"num_requests_running", 0, "namespace", "llm", "model_name", "llama", "job", prefix, "pod", pod)
		}
	}
	if d := cmp.Diff([]string{"llm/llama"}, names(s.models(nil))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWhatIsNoModelIsNotListed(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	s.series("vllm:num_requests_running", 0, "namespace", "llm", "model_name", "routed", "server", "http://a:8000")
	s.series("num_requests_running", 0, "namespace", "web", "model_name", "somebody else's")
	s.series("vllm:num_requests_running:sum", 0, "namespace", "llm", "model_name", "recorded")
	s.series("vllm:current_qps", 0, "namespace", "llm", "model_name", "router only")
	s.series("up", 0, "namespace", "llm", "job", "vllm")
	if got := s.models(nil); len(got) > 0 {
		t.Errorf("found %v", names(got))
	}
	// The router's own series are what is asked for.
	if got := s.models(map[string]string{"server": "http://a:8000"}); len(got) != 1 || got[0].ModelName() != "routed" {
		t.Errorf("found %v", names(got))
	}
}

func TestAModelWithoutSeriesNowIsListedForAnHour(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	s.series("vllm:num_requests_running", 20*time.Minute, "namespace", "llm", "model_name", "stopped")
	s.series("vllm:num_requests_running", 2*time.Hour, "namespace", "llm", "model_name", "long ago")
	// A rollout replaces pods: the model is there all the time.
	s.series("vllm:num_requests_running", 20*time.Minute, "namespace", "llm", "model_name", "rolled", "pod", "old")
	s.series("vllm:num_requests_running", 0, "namespace", "llm", "model_name", "rolled", "pod", "new")
	got := s.models(nil)
	if d := cmp.Diff([]string{"llm/rolled", "llm/stopped"}, names(got)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if got[0].Gone || !got[1].Gone || !got[1].LastSeen.Equal(modelsAt.Add(-20*time.Minute)) {
		t.Errorf("%+v", got)
	}
}

func TestModelsAreToldApartByTheirLabels(t *testing.T) {
	t.Parallel()
	const metric = "vllm:num_requests_running"
	s := newStock(t)
	s.series(metric, 0, "cluster", "east", "namespace", "llm", "model_name", "llama", "job", "vllm")
	s.series(metric, 0, "cluster", "west", "namespace", "llm", "model_name", "llama", "job", "vllm")
	s.series(metric, 0, "cluster", "west", "exported_namespace", "chat", "namespace", "monitoring", "model_name", "qwen")
	s.series(metric, 0, "cluster", "west", "kubernetes_namespace", "old", "model_name", "phi")
	s.series(metric, 0, "cluster", "west", "namespace", "llm", "job", "nameless")
	got := s.models(nil)
	want := []string{
		"east/llm/llama", "west/chat/qwen", "west/llm/job nameless (no model_name)", "west/llm/llama", "west/old/phi",
	}
	if d := cmp.Diff(want, names(got)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	for _, m := range got {
		if len(m.Overlaps) > 0 {
			t.Errorf("%s overlaps %v", m.Name, m.Overlaps)
		}
	}
	got = s.models(map[string]string{"cluster": "west", "job": "vllm"})
	if d := cmp.Diff([]Model{{
		Name: "llm/llama",
		Labels: map[string]string{
			"cluster": "west", "namespace": "llm", "model_name": "llama", "job": "vllm",
		},
	}}, got); d != "" {
		t.Errorf("with matchers (-want +got):\n%s", d)
	}
}

func TestAModelWhoseLabelsSelectAnotherSaysSo(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	s.series("vllm:num_requests_running", 0, "model_name", "llama", "job", "static")
	s.series("vllm:num_requests_running", 0, "namespace", "llm", "model_name", "llama", "job", "vllm")
	got := s.models(nil)
	if len(got) != 2 || cmp.Diff([]string{"llm/llama"}, got[0].Overlaps) != "" || got[1].Overlaps != nil {
		t.Errorf("%+v", got)
	}
}

func TestModelsThatCannotBeAskedForAreAnError(t *testing.T) {
	t.Parallel()
	f := promtest.NewFake(t, promtest.Reply{Status: http.StatusUnprocessableEntity, Body: `{"status":"error"}`})
	c := newCollector(t, Config{Prometheus: prometheus.Config{URL: f.Serve()}}, nil)
	if got, err := c.Models(t.Context(), nil); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for _, match := range []map[string]string{{"namespace": ""}, {"__name__": "up"}} {
		if _, err := c.Models(t.Context(), match); err == nil || !strings.Contains(err.Error(), "matcher") {
			t.Errorf("%v: %v", match, err)
		}
	}
}
