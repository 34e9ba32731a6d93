package vllm

import "slices"

// RouterLabel marks the series that production-stack's router exports under the engines' own names.
const RouterLabel = "server"

// RouterTwin says whether production-stack's router exports a metric of this name beside the engines, told apart by
// RouterLabel (src/vllm_router/services/metrics_service): a sum over both counts each request twice.
func RouterTwin(metric string) bool {
	n, _ := ParseMetric(metric)
	return slices.Contains([]string{
		"num_requests_running", "num_requests_waiting", "num_requests_swapped",
		"gpu_prefix_cache_hit_rate", "gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total",
	}, n.Base+n.Suffix)
}

// RouterOnly says whether a metric, by its name without prefix, is one that production-stack's router exports under
// vLLM's prefix and that no engine has.
func RouterOnly(base string) bool {
	return slices.Contains([]string{
		"current_qps", "avg_latency", "avg_itl", "avg_decoding_length", "avg_prefill_length", "healthy_pods_total",
		"num_prefill_requests", "num_decoding_requests", "num_incoming_requests_total", "input_tokens_total",
		"request_errors_total", "request_latency_seconds",
	}, base)
}
