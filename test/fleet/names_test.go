package fleet_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/unread"
)

// metric is a line of the table of vLLM's metrics, written from vLLM's sources and release history, not from this
// package's.
type metric struct {
	name   string // as PromQL sees it, a histogram without suffix
	kind   string
	labels string // beside those of the dialect, comma separated
	in     string // the dialects that have it: n current, m V1 of 0.9.2 to 0.10.1, e early V1, o V0; underscore is as n
	bounds string // of histograms: the name in bounds
}

// vllmMetrics: "engine" and "model_name" are on every one of them, except cache_config_info (no model_name); V0 has no
// engine.
func vllmMetrics() []metric {
	return []metric{
		{name: "num_requests_running", kind: "gauge", in: "nmeo"},
		{name: "num_requests_waiting", kind: "gauge", in: "nmeo"},
		{name: "num_requests_waiting_by_reason", kind: "gauge", labels: "reason", in: "n"}, // 5c18b961d6
		{name: "num_requests_swapped", kind: "gauge", in: "o"},                             // removed in 0.9.1
		{name: "gpu_cache_usage_perc", kind: "gauge", in: "eo"},                            // removed in 0.12
		{name: "kv_cache_usage_perc", kind: "gauge", in: "nm"},                             // since 0.9.2
		{name: "num_preemptions_total", kind: "counter", in: "nmeo"},
		{name: "request_success_total", kind: "counter", labels: "finished_reason", in: "nmeo"},
		{name: "prompt_tokens_total", kind: "counter", in: "nmeo"},
		{name: "generation_tokens_total", kind: "counter", in: "nmeo"},
		{name: "prefix_cache_queries_total", kind: "counter", in: "nm"},
		{name: "prefix_cache_hits_total", kind: "counter", in: "nm"},
		{name: "gpu_prefix_cache_queries_total", kind: "counter", in: "e"},
		{name: "gpu_prefix_cache_hits_total", kind: "counter", in: "e"},
		{name: "time_to_first_token_seconds", kind: "histogram", in: "nmeo", bounds: "ttft"},
		{name: "time_per_output_token_seconds", kind: "histogram", in: "meo", bounds: "itl"}, // removed in 0.15
		{name: "inter_token_latency_seconds", kind: "histogram", in: "n", bounds: "itl"},     // since 0.10.2
		{name: "e2e_request_latency_seconds", kind: "histogram", in: "nmeo", bounds: "latency"},
		{name: "request_queue_time_seconds", kind: "histogram", in: "nmeo", bounds: "latency"},
		{name: "request_prefill_time_seconds", kind: "histogram", in: "nmeo", bounds: "latency"},
		{name: "request_decode_time_seconds", kind: "histogram", in: "nmeo", bounds: "latency"},
		{name: "request_prompt_tokens", kind: "histogram", in: "nmeo", bounds: "tokens"},
		{name: "request_generation_tokens", kind: "histogram", in: "nmeo", bounds: "tokens"},
		{name: "cache_config_info", kind: "gauge", labels: "*", in: "nmeo"},
	}
}

// The finite bounds as Prometheus writes le. V0 stands for everything before 0.8.4 (86fc2321ff).
const (
	ttftBounds = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 " +
		"640.0 2560.0"
	itlBounds     = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0"
	latencyBounds = "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 240.0 480.0 960.0 " +
		"1920.0 7680.0"
	tokenBounds = "1.0 2.0 5.0 10.0 20.0 50.0 100.0 200.0 500.0 1000.0 2000.0 5000.0 10000.0 20000.0 50000.0 100000.0"
)

func boundsOf(d fleet.Dialect, which string) string {
	current := map[string]string{
		"ttft": ttftBounds, "itl": itlBounds, "latency": latencyBounds, "tokens": tokenBounds,
	}[which]
	last := map[string]string{"ttft": " 10.0", "itl": " 2.5", "latency": " 60.0"}[which]
	if d == fleet.V0 && last != "" {
		current = current[:strings.Index(current, last)+len(last)]
	}
	return current
}

func letter(d fleet.Dialect) string {
	return map[fleet.Dialect]string{
		fleet.V1: "n", fleet.Underscore: "n", fleet.V1Middle: "m", fleet.V1Early: "e",
		fleet.V0: "o",
	}[d]
}

// busy is a fleet in which everything has happened at least once.
func busy(t *testing.T, o fleet.Options) *fleet.Fleet {
	t.Helper()
	o.Scenario = "swapping"
	f, err := fleet.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(5 * time.Minute)
	return f
}

func TestMetricsAreThoseOfVLLM(t *testing.T) {
	t.Parallel()
	for _, d := range fleet.Dialects() {
		for format, accept := range map[string]string{"text": "text/plain", "openmetrics": openMetrics} {
			t.Run(string(d)+"/"+format, func(t *testing.T) {
				t.Parallel()
				page, contentType := get(t, busy(t, fleet.Options{Dialect: d}), "/replica/0/metrics", accept)
				if want := map[string]string{
					"text":        "text/plain",
					"openmetrics": "application/openmetrics-text",
				}[format]; !strings.HasPrefix(contentType, want) {
					t.Errorf("Content-Type is %q, want %s", contentType, want)
				}
				compareWithTable(t, d, format, parse(t, page, contentType))
			})
		}
	}
}

// A family that nothing reads would only be scraped.
func TestTheFleetExportsOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	for _, d := range fleet.Dialects() {
		for _, path := range []string{"/replica/0/metrics", "/gateway/metrics"} {
			page, contentType := get(t, busy(t, fleet.Options{Dialect: d}), path, openMetrics)
			families := slices.Collect(maps.Keys(parse(t, page, contentType).types))
			if left := unread.Of(t, families); len(left) > 0 {
				t.Errorf("%s of %s: nothing reads %s", path, d, strings.Join(left, " "))
			}
		}
	}
}

func compareWithTable(t *testing.T, d fleet.Dialect, format string, got exposition) {
	t.Helper()
	prefix := "vllm:"
	if d == fleet.Underscore {
		prefix = "vllm_"
	}
	wantNames, wantTypes := map[string]bool{}, map[string]string{}
	for _, m := range vllmMetrics() {
		if !strings.Contains(m.in, letter(d)) {
			continue
		}
		name := prefix + m.name
		family := name
		if m.kind == "counter" && format == "openmetrics" {
			family = strings.TrimSuffix(name, "_total")
		}
		wantTypes[family] = m.kind
		series := []string{name}
		if m.kind == "histogram" {
			series = []string{name + "_bucket", name + "_count", name + "_sum"}
			checkBounds(t, name, boundsOf(d, m.bounds), got)
		}
		hasCreated := m.kind != "gauge" && (d == fleet.V1 || d == fleet.V1Middle || d == fleet.V1Early)
		if hasCreated {
			created := strings.TrimSuffix(name, "_total") + "_created"
			if m.kind == "histogram" {
				created = name + "_created"
			}
			series = append(series, created)
			if format == "text" {
				wantTypes[created] = "gauge"
			}
		}
		for _, s := range series {
			wantNames[s] = true
			checkLabels(t, d, s, m, got)
		}
	}
	gotNames, gotTypes := map[string]bool{}, map[string]string{}
	for _, s := range got.samples {
		if name := s.labels.Get(model.MetricNameLabel); strings.HasPrefix(name, "vllm") {
			gotNames[name] = true
		}
	}
	for name, kind := range got.types {
		if strings.HasPrefix(name, "vllm") {
			gotTypes[name] = kind
			if got.help[name] == "" {
				t.Errorf("%s has no help text", name)
			}
		}
	}
	if diff := cmp.Diff(wantNames, gotNames); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTypes, gotTypes); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func checkLabels(t *testing.T, d fleet.Dialect, series string, m metric, got exposition) {
	t.Helper()
	want := map[string]bool{"model_name": true, "engine": true}
	if d == fleet.V0 {
		delete(want, "engine")
	}
	if m.labels == "*" {
		delete(want, "model_name")
	} else if m.labels != "" {
		want[m.labels] = true
	}
	if strings.HasSuffix(series, "_bucket") {
		want["le"] = true
	}
	for _, s := range got.samples {
		if s.labels.Get(model.MetricNameLabel) != series {
			continue
		}
		have := map[string]bool{}
		s.labels.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel {
				have[l.Name] = true
			}
		})
		if m.labels == "*" {
			for name := range want {
				if !have[name] {
					t.Errorf("%s has no label %s", series, name)
				}
			}
			if have["model_name"] {
				t.Errorf("%s has a model_name", series)
			}
			continue
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", s.labels, diff)
		}
	}
}

func checkBounds(t *testing.T, name, want string, got exposition) {
	t.Helper()
	bounds := map[float64]string{}
	for _, s := range got.samples {
		if s.labels.Get(model.MetricNameLabel) != name+"_bucket" || s.labels.Get("le") == "+Inf" {
			continue
		}
		v, err := strconv.ParseFloat(s.labels.Get("le"), 64)
		if err != nil {
			t.Fatal(err)
		}
		bounds[v] = s.labels.Get("le")
	}
	have := make([]string, 0, len(bounds))
	for _, v := range slices.Sorted(maps.Keys(bounds)) {
		have = append(have, bounds[v])
	}
	if diff := cmp.Diff(want, strings.Join(have, " ")); diff != "" {
		t.Errorf("buckets of %s (-want +got):\n%s", name, diff)
	}
}

func TestEachRankIsAnEngineOfItsOwn(t *testing.T) {
	t.Parallel()
	f := busy(t, fleet.Options{Ranks: 2, Replicas: 1})
	page, contentType := get(t, f, "/metrics", openMetrics)
	running := map[string]float64{}
	for _, s := range parse(t, page, contentType).samples {
		if s.labels.Get(model.MetricNameLabel) == "vllm:num_requests_running" {
			running[s.labels.Get("engine")] = s.value
		}
	}
	if len(running) != 2 || running["0"] == 0 || running["1"] == 0 {
		t.Errorf("running by engine: %v, want engines 0 and 1 at work", running)
	}
}

// Prometheus writes le="5.0" since version 3; scraped as OpenMetrics it is so on the wire, as Python's client does it.
func TestBoundsAreWrittenAsPythonWritesThem(t *testing.T) {
	t.Parallel()
	page, _ := get(t, busy(t, fleet.Options{}), "/replica/0/metrics", openMetrics)
	for _, want := range []string{`le="5.0"`, `le="2560.0"`, `le="+Inf"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestCreatedSeriesAreTheTimeAtWhichThePodBegan(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	f, err := fleet.New(fleet.Options{Epoch: epoch, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Minute)
	if err := f.SetReplicas(2); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]time.Time{
		"/replica/0/metrics": epoch,
		"/replica/1/metrics": epoch.Add(time.Minute),
	} {
		for _, accept := range []string{"text/plain", openMetrics} {
			page, contentType := get(t, f, path, accept)
			found := false
			for _, s := range parse(t, page, contentType).samples {
				if s.labels.Get(model.MetricNameLabel) != "vllm:prompt_tokens_created" {
					continue
				}
				found = true
				if s.value != float64(want.Unix()) {
					t.Errorf("%s (%s): %g, want %d", path, accept, s.value, want.Unix())
				}
			}
			if !found {
				t.Errorf("%s (%s) has no vllm:prompt_tokens_created", path, accept)
			}
		}
	}
}

func TestAGonePodIsNotFound(t *testing.T) {
	t.Parallel()
	f, err := fleet.New(fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetReplicas(1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/pod/llama-70b-0/metrics": http.StatusOK, "/pod/llama-70b-1/metrics": http.StatusNotFound,
		"/replica/1/metrics": http.StatusNotFound, "/metrics?replica=1": http.StatusNotFound, "/metrics": http.StatusOK,
		"/health": http.StatusOK,
	} {
		if got, _ := request(t, f, http.MethodGet, path, ""); got != want {
			t.Errorf("GET %s: %d, want %d", path, got, want)
		}
	}
}
