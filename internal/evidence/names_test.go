package evidence

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// The metric names of real servers, as DialectOf sees them: histograms by their count. Taken from vLLM's own list of
// metrics per version.

func v1Names() []string {
	return []string{
		"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:num_preemptions_total",
		"vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
		"vllm:prefix_cache_queries_total",
		"vllm:prefix_cache_hits_total", "vllm:time_to_first_token_seconds_count", "vllm:inter_token_latency_seconds_count",
		"vllm:request_time_per_output_token_seconds_count", "vllm:e2e_request_latency_seconds_count",
		"vllm:request_queue_time_seconds_count",
		"vllm:iteration_tokens_total_count", "vllm:cache_config_info",
	}
}

// v0_10_1Names has the new and the deprecated cache names side by side and no inter_token_latency_seconds yet.
func v0_10_1Names() []string {
	return []string{
		"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc",
		"vllm:num_preemptions_total", "vllm:request_success_total", "vllm:prompt_tokens_total",
		"vllm:generation_tokens_total",
		"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total",
		"vllm:gpu_prefix_cache_hits_total",
		"vllm:time_to_first_token_seconds_count", "vllm:time_per_output_token_seconds_count",
		"vllm:e2e_request_latency_seconds_count",
		"vllm:request_queue_time_seconds_count",
	}
}

// v0_8Names is the V1 engine before the cache was renamed.
func v0_8Names() []string {
	return []string{
		"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc", "vllm:num_preemptions_total",
		"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:gpu_prefix_cache_queries_total",
		"vllm:gpu_prefix_cache_hits_total",
		"vllm:time_to_first_token_seconds_count", "vllm:time_per_output_token_seconds_count",
	}
}

// v0Names is the engine that was removed.
func v0Names() []string {
	return []string{
		"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_requests_swapped", "vllm:gpu_cache_usage_perc",
		"vllm:cpu_cache_usage_perc", "vllm:num_preemptions_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
		"vllm:time_to_first_token_seconds_count", "vllm:time_per_output_token_seconds_count",
		"vllm:gpu_prefix_cache_hit_rate",
	}
}

// respelled changes the prefix.
func respelled(names []string, prefix string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, prefix+strings.TrimPrefix(n, vllm.CanonicalPrefix))
	}
	return out
}
