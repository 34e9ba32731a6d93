package evidence

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestEachDialectIsReadWithItsOwnNames(t *testing.T) {
	t.Parallel()
	usage := incident.Signal{Name: "kv_usage", Query: "max(vllm:kv_cache_usage_perc)", Unit: incident.UnitRatio}
	for _, tt := range []struct {
		names           []string
		metric, dialect string
	}{
		{v1Names(), "vllm:kv_cache_usage_perc", "vLLM V1 names (vllm:...)"},
		{v0_10_1Names(), "vllm:kv_cache_usage_perc", "vLLM V1 of 0.9.2 to 0.10.1 names (vllm:...)"},
		{v0Names(), "vllm:gpu_cache_usage_perc", "vLLM V0 names (vllm:...)"},
		{respelled(v1Names(), "vllm_"), "vllm_kv_cache_usage_perc", "underscore names (vllm_...), vLLM V1"},
		{respelled(v0Names(), "vllm_"), "vllm_gpu_cache_usage_perc", "underscore names (vllm_...), vLLM V0"},
	} {
		t.Run(tt.dialect, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, tt.names, nil)
			f.Once(`max(`+tt.metric+`{model_name="llama",namespace="llm"})`, promtest.Value("0.5"))
			ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{usage},
				CollectOptions{})
			if ev.Dialect != tt.dialect || ev.Readings["kv_usage"].Text() != "50%" {
				t.Errorf("dialect %q, reading %+v", ev.Dialect, ev.Readings["kv_usage"])
			}
		})
	}
}

func TestAMetricThatDoesNotExistIsSaid(t *testing.T) {
	t.Parallel()
	tokens := incident.Signal{
		Name: "hit_rate", Query: "sum(rate(vllm:prefix_cache_hits_total[5m]))",
		Unit: incident.UnitRatio,
	}
	f := newFakeProm(t)
	f.dialect(llmMatchers, v0Names(), nil)
	f.Once(`sum(rate(vllm:prefix_cache_hits_total{model_name="llama",namespace="llm"}[5m]))`, promtest.Vector())
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Vector())
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{tokens, running},
		CollectOptions{})
	r := ev.Readings["hit_rate"]
	if r.Text() != "no data" ||
		r.Warning != "this Prometheus has no metric vllm:prefix_cache_hits_total for this pool (vLLM V0 names (vllm:...))" {
		t.Errorf("reading = %+v", r)
	}
	if r := ev.Readings["running"]; r.Text() != "no data" || r.Warning != "" {
		t.Errorf("a metric that exists but has no value now reads %+v", r)
	}
}

func TestAPoolWithoutSeriesIsSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		everywhere []string
		query      string
		dialect    string
		warning    string
	}{
		{
			"others have them, without this metric and in older names", respelled(v0Names(), "vllm_"),
			`sum(rate(vllm_prefix_cache_hits_total{model_name="llama",namespace="llm"}[5m])) ` +
				`/ max(vllm_gpu_cache_usage_perc{model_name="llama",namespace="llm"})`,
			"underscore names (vllm_...), vLLM V0",
			`no vLLM metric carries this pool's labels {model_name="llama", namespace="llm"} now`,
		},
		{
			"others have them", respelled(v1Names(), "vllm_"),
			`sum(vllm_num_requests_running{model_name="llama",namespace="llm",server=""})`,
			"underscore names (vllm_...), vLLM V1",
			`no vLLM metric carries this pool's labels {model_name="llama", namespace="llm"} now`,
		},
		{
			"nobody has them",
			[]string{},
			`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, "",
			"this Prometheus has no vLLM metrics",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.Always(mustNamesQuery(t, llmMatchers), names2reply(nil))
			f.Always(mustNamesQuery(t, nil), names2reply(tt.everywhere))
			f.Once(tt.query, promtest.Vector())
			if d, ok := DialectOf(tt.everywhere); ok {
				q, err := Rewrite(sampleAgeQuery, d, llmMatchers)
				if err != nil {
					t.Fatal(err)
				}
				f.Always(q, promtest.Vector())
			}
			signal := running
			if strings.Contains(tt.query, "prefix_cache") {
				signal.Query = "sum(rate(vllm:prefix_cache_hits_total[5m])) / max(vllm:kv_cache_usage_perc)"
			}
			ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{signal},
				CollectOptions{})
			r := ev.Readings["running"]
			if ev.Dialect != tt.dialect || r.Text() != "no data" || !strings.HasPrefix(r.Warning, tt.warning) {
				t.Errorf("dialect %q, reading %+v", ev.Dialect, r)
			}
		})
	}
}

func TestTheDialectIsAskedAgainOnlyWhenItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeProm(t)
		f.dialect(llmMatchers, v1Names(), nil)
		c := newCollector(t, inMemory(f), nil)
		names := mustNamesQuery(t, llmMatchers)
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {DefaultDialectTTL - time.Second, 1}, {2 * time.Second, 2}} {
			time.Sleep(step.wait)
			if ev := c.Collect(t.Context(), llmPool(), nil, CollectOptions{}); ev.Dialect == "" {
				t.Error("no dialect")
			}
			if n := f.Count(names); n != step.want {
				t.Errorf("after %v asked %d times; want %d", step.wait, n, step.want)
			}
		}
		other := llmPool()
		other.Matchers = map[string]string{"namespace": "other"}
		f.dialect(other.Matchers, v0Names(), nil)
		if ev := c.Collect(t.Context(), other, nil, CollectOptions{}); ev.Dialect != "vLLM V0 names (vllm:...)" {
			t.Errorf("another pool was given %q", ev.Dialect)
		}
	})
}

func TestAFailedDetectionIsNotRemembered(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	names := mustNamesQuery(t, llmMatchers)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Once(names, promtest.Reply{Status: http.StatusBadRequest})
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
	c := newCollector(t, asking(f.Serve()), nil)
	if r := c.Collect(t.Context(), llmPool(), []incident.Signal{running},
		CollectOptions{}).Readings["running"]; !strings.Contains(r.Error, "400 Bad Request") {
		t.Errorf("first: %+v", r)
	}
	if r := c.Collect(t.Context(), llmPool(), []incident.Signal{running},
		CollectOptions{}).Readings["running"]; r.Text() != "5" {
		t.Errorf("then: %+v", r)
	}
}

func TestAPoolThatLostItsPodsKeepsItsDialect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeProm(t)
		f.dialect(llmMatchers, v0Names(), nil)
		names := mustNamesQuery(t, llmMatchers)
		f.Once(names, names2reply(v0Names()), names2reply(nil))
		f.Always(names, promtest.Reply{Optional: true})
		f.Once(`max(vllm:gpu_cache_usage_perc{model_name="llama",namespace="llm"})`, promtest.Vector())
		c := newCollector(t, inMemory(f), nil)
		c.Collect(t.Context(), llmPool(), nil, CollectOptions{})
		time.Sleep(DefaultDialectTTL)
		usage := incident.Signal{Name: "kv_usage", Query: "max(vllm:kv_cache_usage_perc)"}
		ev := c.Collect(t.Context(), llmPool(), []incident.Signal{usage}, CollectOptions{})
		r := ev.Readings["kv_usage"]
		if ev.Dialect != "vLLM V0 names (vllm:...)" || r.Text() != "no data" ||
			!strings.Contains(r.Warning, "are its pods down or not scraped") {
			t.Errorf("dialect %q, reading %+v", ev.Dialect, r)
		}
	})
}

func TestUnknownBucketsAreSaidAndAskedForAgain(t *testing.T) {
	t.Parallel()
	ttft := incident.Signal{
		Name:  "ttft_p95",
		Query: "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
		Unit:  incident.UnitSeconds, Ceiling: 2560,
	}
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), map[string][]string{"vllm:time_to_first_token_seconds": {"0.001", "10.0"}})
	d, _ := DialectOf(v1Names())
	f.Once(mustBucketsQuery(t, d, llmMatchers), promtest.Reply{Status: http.StatusUnprocessableEntity})
	f.Always(`histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name="llama",`+
		`namespace="llm"}[5m])))`, promtest.Value("10"))
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
	c := newCollector(t, asking(f.Serve()), nil)
	first := c.Collect(t.Context(), llmPool(), []incident.Signal{ttft, running}, CollectOptions{}).Readings
	if r := first["ttft_p95"]; r.Text() != "10 s" ||
		!strings.HasPrefix(r.Warning, "the server's own bucket bounds could not be read") {
		t.Errorf("first: %+v", r)
	}
	if r := first["running"]; r.Text() != "5" || r.Warning != "" {
		t.Errorf("a reading without bounds: %+v", r)
	}
	if r := c.Collect(t.Context(), llmPool(), []incident.Signal{ttft},
		CollectOptions{}).Readings["ttft_p95"]; r.Text() != "≥ 10 s" || r.Warning != "" {
		t.Errorf("then: %+v", r)
	}
}

func TestTheRealBucketsDecideTheBounds(t *testing.T) {
	t.Parallel()
	ttft := incident.Signal{
		Name: "ttft_p95", Query: "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
		Unit: incident.UnitSeconds, Floor: 0.001, Ceiling: 2560,
	}
	query := `histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name="llama",` +
		`namespace="llm"}[5m])))`
	for _, tt := range []struct {
		name    string
		buckets []string
		value   string
		want    string
	}{
		{"before 0.8.4 the histogram ends at 10 s", []string{"0.001", "5.0", "10.0", "+Inf"}, "10", "≥ 10 s"},
		{"today 10 s is a value", []string{"0.001", "10.0", "2560.0", "+Inf"}, "10", "10 s"},
		{"buckets unknown: the signal's own edge", nil, "2560", "≥ 42 min 40 s"},
		{"the lowest bucket", []string{"0.05", "10.0", "+Inf"}, "0.04", "≤ 50 ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), map[string][]string{"vllm:time_to_first_token_seconds": tt.buckets})
			f.Once(query, promtest.Value(tt.value))
			ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{ttft},
				CollectOptions{})
			if got := ev.Readings["ttft_p95"].Text(); got != tt.want {
				t.Errorf("reading = %q; want %q", got, tt.want)
			}
		})
	}
}

// The lengths of prompts and answers end where the model does: what lies in the last bucket is "at least".
func TestTheBoundsOfLengthsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	const histogram = "vllm:request_prompt_tokens"
	if matched, err := regexp.MatchString("^vllm:"+vllm.LatencyPattern+"$", histogram+"_bucket"); err != nil || !matched {
		t.Fatalf("the bounds of %s are not asked for: %v", histogram, err)
	}
	length := incident.Signal{
		Name: "prompt_len_p95", Query: "histogram_quantile(0.95, sum by (le) (rate(" + histogram + "_bucket[5m])))",
		Unit: incident.UnitTokens, Floor: 1, Ceiling: 10e6,
	}
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), map[string][]string{histogram: {"1.0", "50000.0", "100000.0", "+Inf"}})
	f.Once(`histogram_quantile(0.95, sum by (le) (rate(`+histogram+`_bucket{model_name="llama",namespace="llm"}[5m])))`,
		promtest.Value("100000"))
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{length},
		CollectOptions{})
	if got := ev.Readings["prompt_len_p95"].Text(); got != "≥ 100,000 tokens" {
		t.Errorf("reading = %q", got)
	}
}
