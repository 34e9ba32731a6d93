package diagnosis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

func TestSameIncidentGivesTheSameSeries(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"thrash-native", "warming-scale-out", "stalled-piling"} {
		a, b := generate(t, named(t, name)), generate(t, named(t, name))
		if a.sum != b.sum || len(a.series) != len(b.series) {
			t.Errorf("%s: two runs differ", name)
		}
	}
	renamed := named(t, "thrash-native")
	renamed.Name = "another"
	if generate(t, renamed).sum == generate(t, named(t, "thrash-native")).sum {
		t.Error("another name gives the same noise: the seed is not used")
	}
}

// TestMetricsAreThoseOfTheVersion holds the exported names against facts 1.2, some that begin and some that end with
// each version.
func TestMetricsAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		version string
		has     []string
		not     []string
	}{
		{
			"0.6.6",
			[]string{
				"vllm:num_requests_swapped", "vllm:gpu_cache_usage_perc", "vllm:cpu_cache_usage_perc",
				"vllm:time_per_output_token_seconds_bucket", "vllm:num_preemptions_total",
			},
			[]string{
				"vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total",
				"vllm:inter_token_latency_seconds_bucket", "http_requests_total",
			},
		},
		{
			"0.8.5",
			[]string{"vllm:gpu_cache_usage_perc", "vllm:gpu_prefix_cache_hits_total", "http_requests_total"},
			[]string{"vllm:num_requests_swapped", "vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits_total"},
		},
		{
			"0.10.0",
			[]string{
				"vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits_total",
				"vllm:gpu_prefix_cache_hits_total", "vllm:time_per_output_token_seconds_bucket",
			},
			[]string{"vllm:inter_token_latency_seconds_bucket", "vllm:engine_sleep_state"},
		},
		{
			"0.10.2",
			[]string{"vllm:inter_token_latency_seconds_bucket", "vllm:time_per_output_token_seconds_bucket"},
			[]string{"vllm:request_time_per_output_token_seconds_bucket"},
		},
		{
			"0.14.0",
			[]string{
				"vllm:inter_token_latency_seconds_bucket", "vllm:kv_cache_usage_perc",
				"vllm:request_prefill_kv_computed_tokens_bucket", "vllm:engine_sleep_state",
			},
			[]string{
				"vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_bucket",
				"vllm:prompt_tokens_by_source_total", "vllm:num_requests_waiting_by_reason",
			},
		},
		{
			"0.24.0",
			[]string{
				"vllm:prompt_tokens_by_source_total", "vllm:num_requests_waiting_by_reason", "vllm:cache_config_info",
				"vllm:iteration_tokens_total_bucket",
			},
			[]string{"vllm:spec_decode_num_drafts_total", "vllm:nixl_xfer_time_seconds_bucket", "vllm:num_requests_swapped"},
		},
	} {
		inc := named(t, "gpu-memory-95-by-design")
		inc.Generation = tc.version
		names := generate(t, inc).names()
		for _, n := range tc.has {
			if !slices.Contains(names, n) {
				t.Errorf("%s has no %s", tc.version, n)
			}
		}
		for _, n := range tc.not {
			if slices.Contains(names, n) {
				t.Errorf("%s has %s", tc.version, n)
			}
		}
	}
}

func TestDialectsSpellTheSameMetrics(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string][]string{
		native:      {"vllm:num_requests_waiting"},
		underscore:  {"vllm_num_requests_waiting"},
		ray:         {"ray_vllm_num_requests_waiting"},
		rayColon:    {"ray_vllm:num_requests_waiting"},
		kserveTwins: {"vllm:num_requests_waiting", "kserve_vllm:num_requests_waiting"},
		routerTwins: {"vllm:num_requests_waiting"},
		nim:         {"num_requests_waiting"},
		simulator:   {"vllm:num_requests_waiting"},
	} {
		inc := named(t, "gpu-memory-95-by-design")
		inc.Dialect, inc.Generation = dialect, "0.14.0"
		var got []string
		servers := 0
		for _, s := range generate(t, inc).series {
			name := s.labels.Get(prommodel.MetricNameLabel)
			if strings.HasSuffix(name, "num_requests_waiting") && !slices.Contains(got, name) {
				got = append(got, name)
			}
			if name == "vllm:num_requests_waiting" && s.labels.Get("server") != "" {
				servers++
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", dialect, d)
		}
		if (servers > 0) != (dialect == routerTwins) {
			t.Errorf("%s: %d series of a router", dialect, servers)
		}
	}
}

func TestBucketsAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][2]string{"0.8.1": {"10.0", "60.0"}, "0.8.4": {"2560.0", "7680.0"}} {
		inc := named(t, "gpu-memory-95-by-design")
		inc.Generation = version
		var ttft, queue float64
		for _, s := range generate(t, inc).series {
			bound, err := strconv.ParseFloat(s.labels.Get("le"), 64)
			if err != nil || math.IsInf(bound, 1) {
				continue
			}
			switch s.labels.Get(prommodel.MetricNameLabel) {
			case "vllm:time_to_first_token_seconds_bucket":
				ttft = max(ttft, bound)
			case "vllm:request_queue_time_seconds_bucket":
				queue = max(queue, bound)
			}
		}
		if got := [2]string{le(ttft), le(queue)}; got != want {
			t.Errorf("%s ends at %v, want %v", version, got, want)
		}
	}
}

// TestSeriesBehaveAsPrometheusKnowsThem: counters fall only with a new process, buckets are cumulative, and the last
// one is the count.
func TestSeriesBehaveAsPrometheusKnowsThem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"thrash-native", "oom-logprobs", "stalled-frozen-resolved", "nixl-failing-fabric",
		"spec-decode-domain-shift",
	} {
		c := generate(t, named(t, name))
		for _, s := range c.series {
			metric := s.labels.Get(prommodel.MetricNameLabel)
			counts := strings.HasSuffix(metric, "_total") || strings.HasSuffix(metric, "_bucket") ||
				strings.HasSuffix(metric, "_count")
			for _, life := range s.lives() {
				if counts && !slices.IsSorted(life) {
					t.Errorf("%s: %s falls within one process", name, s.labels)
				}
			}
			for i := 1; i < len(s.samples); i++ {
				if !s.samples[i].T.After(s.samples[i-1].T) {
					t.Fatalf("%s: %s goes back in time", name, s.labels)
				}
			}
		}
		histogramsAddUp(t, name, c)
	}
}

func histogramsAddUp(t *testing.T, name string, c *collected) {
	t.Helper()
	last := func(s series) float64 {
		lives := slices.DeleteFunc(s.lives(), func(l []float64) bool { return len(l) == 0 })
		if len(lives) == 0 {
			return 0
		}
		l := lives[len(lives)-1]
		return l[len(l)-1]
	}
	key := func(ls labels.Labels, base string) string {
		return labels.NewBuilder(ls).Set(prommodel.MetricNameLabel, base).Del("le").Labels().String()
	}
	buckets, bounds := map[string][]float64{}, map[string][]float64{}
	counts := map[string]float64{}
	for _, s := range c.series {
		metric := s.labels.Get(prommodel.MetricNameLabel)
		if base, ok := strings.CutSuffix(metric, "_bucket"); ok {
			bound, err := strconv.ParseFloat(s.labels.Get("le"), 64)
			if err != nil {
				t.Fatalf("%s: %v", s.labels, err)
			}
			k := key(s.labels, base)
			buckets[k], bounds[k] = append(buckets[k], last(s)), append(bounds[k], bound)
		}
		if base, ok := strings.CutSuffix(metric, "_count"); ok {
			counts[key(s.labels, base)] = last(s)
		}
	}
	if len(buckets) == 0 {
		t.Fatalf("%s has no histogram", name)
	}
	for k, b := range buckets {
		if !slices.IsSorted(bounds[k]) || !slices.IsSorted(b) {
			t.Errorf("%s: the buckets of %s are not cumulative: %v", name, k, b)
		}
		if b[len(b)-1] != counts[k] {
			t.Errorf("%s: %s has %g in +Inf and a count of %g", name, k, b[len(b)-1], counts[k])
		}
	}
}

// TestStalledEngineIsSilent: a stalled engine observes nothing, so that rates over it are empty although requests wait.
func TestStalledEngineIsSilent(t *testing.T) {
	t.Parallel()
	for _, s := range generate(t, named(t, "stalled-frozen-resolved")).series {
		metric := s.labels.Get(prommodel.MetricNameLabel)
		if !strings.HasPrefix(metric, "vllm:") {
			continue
		}
		// The last five minutes are inside the stall: everything stands still, and gauges are not zero.
		tail := s.samples[len(s.samples)-20:]
		for _, x := range tail {
			if x.V != tail[0].V {
				t.Errorf("%s moves while the engine is frozen", s.labels)
				break
			}
		}
		if metric == "vllm:num_requests_running" && tail[0].V == 0 {
			t.Error("a frozen engine shows nobody in its batch")
		}
	}
}

// TestClientsThatLeaveAreCountedByTheGatewayAlone holds facts 1.4.
func TestClientsThatLeaveAreCountedByTheGatewayAlone(t *testing.T) {
	t.Parallel()
	var arrived, finished, left, aborted float64
	for _, s := range generate(t, named(t, "cancels-impatient-editor")).series {
		last := s.samples[len(s.samples)-1].V
		switch s.labels.Get(prommodel.MetricNameLabel) {
		case "envoy_cluster_upstream_rq_total":
			arrived += last
		case "vllm:request_success_total":
			finished += last
			if s.labels.Get("finished_reason") == "abort" {
				aborted += last
			}
		case "envoy_cluster_upstream_cx_destroy_local_with_active_rq":
			left += last
		}
	}
	if aborted != 0 || left < 0.15*arrived || finished > arrived-left {
		t.Errorf("%g arrived, %g finished, %g left, %g counted as aborted", arrived, finished, left, aborted)
	}
}

func TestLostTargetEndsItsSeries(t *testing.T) {
	t.Parallel()
	ups, ended := map[string]float64{}, map[string]bool{}
	for _, s := range generate(t, named(t, "none-two-of-three-not-scraped")).series {
		last := s.samples[len(s.samples)-1]
		pod := s.labels.Get("pod")
		switch s.labels.Get(prommodel.MetricNameLabel) {
		case "up":
			ups[pod] = last.V
		case "vllm:num_requests_running":
			ended[pod] = math.IsNaN(last.V)
		}
	}
	if d := cmp.Diff(map[string]float64{"a": 1, "b": 0, "c": 0}, ups); d != "" {
		t.Errorf("up (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]bool{"a": false, "b": true, "c": true}, ended); d != "" {
		t.Errorf("ended (-want +got):\n%s", d)
	}
}
