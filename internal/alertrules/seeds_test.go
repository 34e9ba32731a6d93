package alertrules

import (
	"slices"
	"strings"
	"testing"
)

// The names that servers export, whole. A histogram has its three series.
func v1Names() []string {
	return series("vllm:", []string{
		"num_requests_running", "num_requests_waiting", "num_requests_waiting_by_reason", "kv_cache_usage_perc",
		"num_preemptions_total", "request_success_total",
		"prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total", "prefix_cache_hits_total",
		"cache_config_info",
	}, []string{
		"time_to_first_token_seconds", "inter_token_latency_seconds", "request_time_per_output_token_seconds",
		"e2e_request_latency_seconds",
		"request_queue_time_seconds", "request_prefill_time_seconds", "iteration_tokens_total",
	})
}

func v0Names() []string {
	return series("vllm:", []string{
		"num_requests_running", "num_requests_waiting", "num_requests_swapped", "gpu_cache_usage_perc",
		"cpu_cache_usage_perc", "num_preemptions_total",
		"request_success_total", "prompt_tokens_total", "generation_tokens_total", "gpu_prefix_cache_hit_rate",
	}, []string{
		"time_to_first_token_seconds", "time_per_output_token_seconds", "e2e_request_latency_seconds",
		"request_queue_time_seconds",
	})
}

func series(prefix string, plain, histograms []string) []string {
	var out []string
	for _, base := range plain {
		out = append(out, prefix+base)
	}
	for _, base := range histograms {
		out = append(out, prefix+base+"_bucket", prefix+base+"_sum", prefix+base+"_count")
	}
	return out
}

func respelled(names []string, prefix string) []string {
	var out []string
	for _, n := range names {
		out = append(out, prefix+strings.TrimPrefix(n, "vllm:"))
	}
	return out
}

// knows is what is known of a Prometheus that has all of these names and no other of vLLM's.
func knows(prefix string, names ...string) Known {
	k := Known{Metrics: map[string]Presence{}, Complete: true, Prefix: prefix, Since: "in the last 24 h"}
	k.Selectors = map[string]Presence{}
	k.Bounds = map[string][]float64{
		prefix + "time_to_first_token_seconds": {0.001, 0.5, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560},
		prefix + "request_queue_time_seconds":  {0.3, 0.5, 1, 2.5, 5, 10, 60, 7680},
		prefix + "inter_token_latency_seconds": {0.01, 0.05, 0.1, 0.5, 1, 2.5, 80},
	}
	for _, n := range names {
		k.Metrics[n] = Present
	}
	return k
}

// seedRules are the alert rules and the queries of the guides, with the corrections that V1 servers need.
func seedRules() []struct{ name, expr, instead string } {
	return []struct{ name, expr, instead string }{
		{
			"vLLMHighTTFT",
			`histogram_quantile(0.95, sum by (le, instance) (rate(vllm_time_to_first_token_seconds_bucket[5m]))) > 3`,
			`histogram_quantile(0.95, sum by (le, instance) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 3`,
		},
		{
			"vLLMQueueBacklog",
			`histogram_quantile(0.95, sum by (le, instance) (rate(vllm_request_queue_time_seconds_bucket[5m]))) > 5`,
			`histogram_quantile(0.95, sum by (le, instance) (rate(vllm:request_queue_time_seconds_bucket[5m]))) > 5`,
		},
		{"vLLMRequestSwapping", `vllm_num_requests_swapped > 0`, `increase(vllm:num_preemptions_total[5m]) > 0`},
		{"vLLMGPUCacheFull", `vllm_gpu_cache_usage_perc > 0.95`, `vllm:kv_cache_usage_perc > 0.95`},
		{
			"vLLMHighAbortRate", "sum by (instance) " +
				"(rate(vllm_finished_request_total{finish_reason=\"abort\"}[5m]))\n/\nsum by (instance) " +
				"(rate(vllm_finished_request_total[5m])) > 0.1",
			`(sum by (instance) (rate(vllm:request_success_total{finished_reason=~"abort|error"}[5m])) / sum by` +
				` (instance) (rate(vllm:request_success_total[5m])) > 0.1)` +
				` or ((sum by (instance) (increase(vllm:time_to_first_token_seconds_count[5m])) -` +
				` sum by (instance) (increase(vllm:request_success_total[5m]))` +
				` - sum by (instance) (clamp_min(delta(vllm:num_requests_running{server=""}[5m]), 0)) - sum by` +
				` (instance) (increase(vllm:num_preemptions_total[5m])))` +
				` / sum by (instance) (increase(vllm:time_to_first_token_seconds_count[5m])) > 0.1` +
				` and sum by (instance) (increase(vllm:time_to_first_token_seconds_count[5m])) >= 20` +
				` unless sum by (instance) (resets(vllm:time_to_first_token_seconds_count[5m])) > 0)`,
		},
		{
			"HighTTFT", `histogram_quantile(0.95, rate(vllm_ttft_seconds_bucket[5m])) > 2.0`,
			`histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[5m])) > 2`,
		},
		{"KVCacheNearFull", `vllm_kv_cache_utilization > 0.95`, `vllm:kv_cache_usage_perc > 0.95`},
		{"QueueBuildUp", `vllm_queue_depth > 50`, `vllm:num_requests_waiting > 50`},
		{"LowThroughput", `rate(vllm_output_tokens_total[5m]) < 100`, `rate(vllm:generation_tokens_total[5m]) <` +
			` 100 and min_over_time(vllm:num_requests_running{server=""}[5m]) > 0`},
		{
			"breakdown", `sum by (finish_reason) (rate(vllm_finished_request_total[5m])) > 0`,
			`sum by (finished_reason) (rate(vllm:request_success_total[5m])) > 0`,
		},
		{
			"TPOT", `histogram_quantile(0.99, sum by (le) (rate(vllm_time_per_output_token_seconds_bucket[5m]))) > 0.1`,
			`histogram_quantile(0.99, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m]))) > 0.1`,
		},
		{
			"TBT", `histogram_quantile(0.95, rate(vllm_tbt_seconds_bucket[5m])) > 0.1`,
			`histogram_quantile(0.95, rate(vllm:inter_token_latency_seconds_bucket[5m])) > 0.1`,
		},
		{
			"E2E", `histogram_quantile(0.95, rate(vllm_e2e_seconds_bucket[5m])) > 10`,
			`histogram_quantile(0.95, rate(vllm:e2e_request_latency_seconds_bucket[5m])) > 10`,
		},
		{
			"evictions", `vllm_kv_cache_utilization > 0.95 and rate(vllm_kv_cache_evictions_total[1m]) > 10`,
			`vllm:kv_cache_usage_perc > 0.95 and rate(vllm:num_preemptions_total[1m]) > 10`,
		},
		{
			"batch", `histogram_quantile(0.50, rate(vllm_decode_batch_size_bucket[5m])) < 8`,
			`quantile_over_time(0.5, vllm:num_requests_running[5m]) < 8`,
		},
		{
			"hit rate", `vllm_prefix_cache_hit_rate < 0.1`,
			`(rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])) < 0.1`,
		},
		{
			"completed", `rate(vllm_requests_completed_total{status="success"}[5m]) > 1`,
			`rate(vllm:request_success_total{finished_reason=~"stop|length"}[5m]) > 1`,
		},
		{"GPU", `vllm_gpu_utilization < 0.5`, `(DCGM_FI_DEV_GPU_UTIL / 100) < 0.5`},
		{"GPU memory", `vllm_gpu_memory_usage_bytes > 7.5e10`, `(DCGM_FI_DEV_FB_USED * 1048576) > 75000000000`},
		{"S2 cache", `vllm:gpu_cache_usage > 0.85`, `vllm:kv_cache_usage_perc > 0.85`},
		{
			"S2 tokens", `rate(vllm:num_generation_tokens_total[1m]) > 1e6`,
			`rate(vllm:generation_tokens_total[1m]) > 1000000`,
		},
		{"S3 counters", `rate(vllm:request_success[5m]) > 100`, `rate(vllm:request_success_total[5m]) > 100`},
		{"CPU cache", `vllm_cpu_cache_usage_perc > 0.5`, ``},
	}
}

func TestEverySeedRuleIsDeadOnTodaysServersAndItsCorrectionIsNot(t *testing.T) {
	t.Parallel()
	for _, tc := range seedRules() {
		known := knows("vllm:", v1Names()...)
		v, err := Examine(tc.expr, known)
		if err != nil || v.State != Never || len(v.Why) == 0 || len(v.Missing) == 0 || v.Instead != tc.instead {
			t.Errorf("%s: %v, %v\nwhy  %q\ngot  %s\nwant %s", tc.name, v.State, err, v.Why, v.Instead, tc.instead)
			continue
		}
		if v.Instead == "" {
			if len(v.About) == 0 {
				t.Errorf("%s: nothing takes its place, and nothing says so", tc.name)
			}
			continue
		}
		// The corrections' selectors have series: what a Prometheus would answer.
		asked, err := Selectors(v.Instead)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for _, s := range asked {
			known.Selectors[s] = Present
		}
		again, err := Examine(v.Instead, known)
		if err != nil || again.State != Can {
			t.Errorf("%s: the correction %s %v: %+v", tc.name, v.Instead, err, again)
		}
		pretty, err := Examine(Pretty(v.Instead), known)
		if err != nil || pretty.State != Can {
			t.Errorf("%s: the correction in lines %v: %+v", tc.name, err, pretty)
		}
	}
}

func TestCorrectionsUseTheNamesThatThisPrometheusHas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		known   Known
		expr    string
		instead string
	}{
		{
			"underscore names", knows("vllm_", respelled(v1Names(), "vllm_")...), `vllm_gpu_cache_usage_perc > 0.95`,
			`vllm_kv_cache_usage_perc > 0.95`,
		},
		{
			"Ray", knows("ray_vllm_", respelled(v1Names(), "ray_vllm_")...), `vllm:num_requests_waiting > 5`,
			`ray_vllm_num_requests_waiting > 5`,
		},
		{
			"the V0 engine has the old name", knows("vllm:", v0Names()...), `vllm_num_requests_swapped > 0`,
			`vllm:num_requests_swapped > 0`,
		},
		{
			"a new name on the V0 engine", knows("vllm:", v0Names()...), `vllm:kv_cache_usage_perc > 0.95`,
			`vllm:gpu_cache_usage_perc > 0.95`,
		},
		{
			"a new name of a histogram on the V0 engine", knows("vllm:", v0Names()...),
			`histogram_quantile(0.9, rate(vllm_inter_token_latency_seconds_bucket[5m])) > 1`,
			`histogram_quantile(0.9, rate(vllm:time_per_output_token_seconds_bucket[5m])) > 1`,
		},
		{
			"the custom exporter on the V0 engine", knows("vllm:", v0Names()...), `vllm_kv_cache_utilization > 0.95`,
			`vllm:gpu_cache_usage_perc > 0.95`,
		},
		{
			"the rule's own spelling before the usual one",
			knows("vllm:", append(v1Names(), "kserve_vllm:kv_cache_usage_perc")...),
			`kserve_vllm:gpu_cache_usage_perc > 0.9`, `kserve_vllm:kv_cache_usage_perc > 0.9`,
		},
		{
			"nothing there to take its place", knows("vllm:", v0Names()...), `rate(vllm_prefix_cache_hit_rate[5m]) > 1`,
			``,
		},
	} {
		v, err := Examine(tc.expr, tc.known)
		if err != nil || v.State != Never || v.Instead != tc.instead {
			t.Errorf("%s: %v %v, %q, want %q (%q)", tc.name, v.State, err, v.Instead, tc.instead, v.About)
		}
	}
}

func TestWithoutKnowledgeNoRuleIsDead(t *testing.T) {
	t.Parallel()
	for _, tc := range seedRules() {
		if v, err := Examine(tc.expr, Known{}); err != nil || v.State == Never || v.Instead != "" {
			t.Errorf("%s: %v %v", tc.name, v, err)
		}
	}
}

func TestSeedRulesConcernVLLM(t *testing.T) {
	t.Parallel()
	for _, tc := range seedRules() {
		if !Concerns(tc.expr, nil) || !slices.ContainsFunc(mustMetrics(t, tc.expr), isVLLM) {
			t.Errorf("%s does not concern vLLM", tc.name)
		}
	}
	recorded := map[string][]string{"ttft:p95": {"slow * 2"}, "slow": {"vllm:x + ttft:p95"}, "loop": {"loop"}}
	for expr, want := range map[string]bool{
		"ttft:p95 > 3": true, "loop > 1": false, "up == 0": false, `{__name__=~"vllm.*"} > 1`: true,
		"not promql(": false, "vllm:a:b > 1": false,
	} {
		if got := Concerns(expr, recorded); got != want {
			t.Errorf("Concerns(%s) = %v", expr, got)
		}
	}
}

func mustMetrics(t *testing.T, expr string) []string {
	t.Helper()
	m, err := Metrics(expr)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
