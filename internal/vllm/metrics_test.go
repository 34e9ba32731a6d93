package vllm

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCanonicalUnderstandsEverySpelling(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"vllm:kv_cache_usage_perc":                         "vllm:kv_cache_usage_perc",
		"vllm_gpu_cache_usage_perc":                        "vllm:kv_cache_usage_perc",
		"ray_vllm_gpu_prefix_cache_hits_total":             "vllm:prefix_cache_hits_total",
		"kserve_vllm:time_per_output_token_seconds_bucket": "vllm:inter_token_latency_seconds_bucket",
		"vllm:iteration_tokens_total_sum":                  "vllm:iteration_tokens_total_sum",
		"vllm:request_time_per_output_token_seconds_count": "vllm:request_time_per_output_token_seconds_count",
		"vllm:a:b":                  "",
		"vllm:":                     "",
		"num_requests_waiting":      "vllm:num_requests_waiting",
		"request_finish_total":      "vllm:request_success_total",
		"num_requests_active":       "",
		"up":                        "",
		"DCGM_FI_DEV_GPU_UTIL":      "",
		"llm_d_epp_request_total":   "",
		"xvllm:num_requests_active": "",
	} {
		if got, ok := Canonical(name); got != want || ok != (want != "") {
			t.Errorf("Canonical(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
}

// What production-stack's router exports under the engines' names (src/vllm_router/services/metrics_service).
func TestRouterTwinsAreTheRoutersOwnSixInEverySpelling(t *testing.T) {
	t.Parallel()
	twins := []string{
		"num_requests_running", "num_requests_waiting", "num_requests_swapped", "gpu_prefix_cache_hit_rate",
		"gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total",
	}
	for _, prefix := range Prefixes() {
		for _, base := range twins {
			if !RouterTwin(prefix + base) {
				t.Errorf("%s%s is no twin", prefix, base)
			}
		}
	}
	others := []string{
		"vllm:kv_cache_usage_perc", "vllm:prefix_cache_queries_total", "vllm:current_qps", "num_requests_running", "up",
	}
	if i := slices.IndexFunc(others, RouterTwin); i >= 0 {
		t.Errorf("%s is a twin", others[i])
	}
	if !RouterOnly("current_qps") || RouterOnly("num_requests_running") {
		t.Error("what only the router exports is not known")
	}
}

func TestNamesAreTakenApartAndPutTogether(t *testing.T) {
	t.Parallel()
	for metric, want := range map[string]MetricName{
		"vllm:num_requests_running":                   {"vllm:", "num_requests_running", ""},
		"ray_vllm_time_to_first_token_seconds_bucket": {"ray_vllm_", "time_to_first_token_seconds", "_bucket"},
		"kserve_vllm:iteration_tokens_total_sum":      {"kserve_vllm:", "iteration_tokens_total", "_sum"},
		"vllm_prompt_tokens_created":                  {"vllm_", "prompt_tokens", "_created"},
		"vllm:somebodys_own_count":                    {"vllm:", "somebodys_own", "_count"},
		"vllm:spec_decode_num_drafts_total":           {"vllm:", "spec_decode_num_drafts_total", ""},
	} {
		n, ok := ParseMetric(metric)
		if !ok || n != want || n.String() != metric {
			t.Errorf("%s: %+v, %v", metric, n, ok)
		}
	}
	for _, metric := range []string{
		"up", "vllm:a:b", "vllm", "vllm:", "xvllm:num_requests_running", "num_requests_running",
	} {
		if n, ok := ParseMetric(metric); ok {
			t.Errorf("%s: %+v", metric, n)
		}
	}
}

// The table of renames is what everything else is derived from: each new name is a metric of today, and none of the
// old.
func TestRenamesLeadToMetricsOfToday(t *testing.T) {
	t.Parallel()
	for _, r := range Renames() {
		now, is := CurrentMetric(r.New)
		if _, was := CurrentMetric(r.Old); !is || was || now.Since != r.Since || r.Removed == "" || r.From == "" {
			t.Errorf("%+v leads to %+v", r, now)
		}
		if old, ok := OlderName(r.New); !ok || old != r.Old {
			t.Errorf("%s was called %s, %v", r.New, old, ok)
		}
		if got, ok := Canonical("vllm_" + r.Old); !ok || got != "vllm:"+r.New {
			t.Errorf("%s is called %s now", r.Old, got)
		}
		for _, g := range []Generation{V0, V1Early, V1Middle, V1} {
			if name, has := nameIn(g, r.New); has && (name == r.New) != g.has(r.From) {
				t.Errorf("%s calls %s %s", g, r.New, name)
			}
		}
	}
}

func TestPatternsMatchTheNamesThatTheyAreFor(t *testing.T) {
	t.Parallel()
	whole := func(pattern, name string) bool { return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(name) }
	for _, prefix := range Prefixes() {
		if !whole(PrefixPattern, prefix) {
			t.Errorf("%s is not found", prefix)
		}
	}
	for _, base := range bareNames() {
		m, _ := CurrentMetric(newerName(base))
		if m.Type == Histogram {
			base += SuffixCount
		}
		if !whole(BarePattern, base) {
			t.Errorf("%s is not found", base)
		}
	}
	for _, base := range CurrentMetrics() {
		m, _ := CurrentMetric(base)
		if bounds := Bounds("vllm:"+base, false); bounds != nil && m.Type != Histogram {
			t.Errorf("%s has buckets and is no histogram", base)
		}
		latency := strings.HasSuffix(base, "_seconds") && Bounds("vllm:"+base, false) != nil
		if latency != (whole(LatencyPattern, base+SuffixBucket) && strings.HasSuffix(base, "_seconds")) {
			t.Errorf("%s: the pattern of latencies differs from what has known buckets", base)
		}
	}
}

func TestBoundsAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		metric      string
		early       bool
		first, last float64
	}{
		{"vllm:time_to_first_token_seconds", false, .001, 2560},
		{"vllm:time_to_first_token_seconds", true, .001, 10},
		{"vllm:time_per_output_token_seconds", false, .01, 80},
		{"vllm:inter_token_latency_seconds", true, .01, 2.5},
		{"vllm:request_queue_time_seconds", false, .3, 7680},
		{"ray_vllm_e2e_request_latency_seconds", true, .3, 60},
	} {
		b := Bounds(tt.metric, tt.early)
		if len(b) == 0 || b[0] != tt.first || b[len(b)-1] != tt.last || !slices.IsSorted(b) {
			t.Errorf("%s, early %v: %v", tt.metric, tt.early, b)
		}
	}
	if b := Bounds("vllm:num_requests_running", false); b != nil {
		t.Errorf("a gauge has buckets: %v", b)
	}
}
