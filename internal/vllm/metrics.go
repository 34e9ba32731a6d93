package vllm

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// MetricType is a metric's type as Prometheus knows it.
type MetricType int

// The types. A Fraction is a gauge between 0 and 1.
const (
	Gauge MetricType = iota
	Counter
	Histogram
	FractionGauge
)

// Metric is a metric of today's vLLM.
type Metric struct {
	Type MetricType
	// Since is the version that brought it; empty for those that are older than 0.8.
	Since string
	// Only says under which condition it is exported. Without series such a metric proves nothing.
	Only string
	// Lazy are labels whose values appear with the first event: no series proves nothing.
	Lazy []string
}

// CurrentMetric is a metric of today's vLLM, by its name without prefix and suffix; ok is false when it has none of
// that name.
func CurrentMetric(base string) (m Metric, ok bool) {
	m, ok = current()[base]
	return m, ok
}

// CurrentMetrics are the names of all of them in order.
func CurrentMetrics() []string { return slices.Sorted(maps.Keys(current())) }

// current are the metrics of vLLM 0.8 to 0.32 that have not been removed, by their name without prefix
// (vllm/v1/metrics/loggers.py, vllm/v1/spec_decode/metrics.py, kv_connector/v1/nixl/stats.py).
var current = sync.OnceValue(func() map[string]Metric {
	return map[string]Metric{
		"num_requests_running": {}, "num_requests_waiting": {},
		"num_requests_waiting_by_reason": {Since: "0.20"},
		"kv_cache_usage_perc":            {Type: FractionGauge, Since: "0.9.2"},
		"num_preemptions_total":          {Type: Counter},
		"request_success_total":          {Type: Counter},
		"prompt_tokens_total":            {Type: Counter}, "generation_tokens_total": {Type: Counter},
		"prompt_tokens_by_source_total":       {Type: Counter, Since: "0.16"},
		"prompt_tokens_cached_total":          {Type: Counter, Since: "0.16"},
		"prefix_cache_queries_total":          {Type: Counter, Since: "0.9.2"},
		"prefix_cache_hits_total":             {Type: Counter, Since: "0.9.2"},
		"external_prefix_cache_queries_total": {Type: Counter, Since: "0.11.1", Only: "with a KV connector"},
		"external_prefix_cache_hits_total":    {Type: Counter, Since: "0.11.1", Only: "with a KV connector"},
		"mm_cache_queries_total":              {Type: Counter, Since: "0.11.1"},
		"mm_cache_hits_total":                 {Type: Counter, Since: "0.11.1"},
		"cache_config_info":                   {},
		"lora_requests_info": {
			Only: "with LoRA adapters", Lazy: []string{"max_lora", "running_lora_adapters", "waiting_lora_adapters"},
		},
		"engine_sleep_state":                  {Since: "0.11.1"},
		"corrupted_requests_total":            {Type: Counter, Only: "with VLLM_COMPUTE_NANS_IN_LOGITS=1"},
		"nixl_num_failed_transfers_total":     {Type: Counter, Only: "with the NixlConnector"},
		"nixl_num_failed_notifications_total": {Type: Counter, Only: "with the NixlConnector"},
		"nixl_num_kv_expired_reqs_total":      {Type: Counter, Only: "with the NixlConnector"},
		"tool_call_parser_invocations_total":  {Type: Counter, Only: "after the first tool call"},
		"admission_rejections_total": {
			Type: Counter, Since: "0.29", Only: "with --max-num-queued-reqs or --max-num-queued-tokens",
		},
		"websocket_connections_active":           {Only: "with /realtime"},
		"websocket_connections_total":            {Type: Counter, Only: "with /realtime"},
		"websocket_connections_duration_seconds": {Type: Histogram, Only: "with /realtime"},
		"inter_token_latency_seconds":            {Type: Histogram, Since: "0.10.2"},
		"request_time_per_output_token_seconds":  {Type: Histogram, Since: "0.11"},
		"request_prefill_kv_computed_tokens":     {Type: Histogram, Since: "0.13"},

		"time_to_first_token_seconds":                   {Type: Histogram},
		"e2e_request_latency_seconds":                   {Type: Histogram},
		"request_queue_time_seconds":                    {Type: Histogram},
		"request_inference_time_seconds":                {Type: Histogram},
		"request_prefill_time_seconds":                  {Type: Histogram},
		"request_decode_time_seconds":                   {Type: Histogram},
		"request_prompt_tokens":                         {Type: Histogram},
		"request_generation_tokens":                     {Type: Histogram},
		"request_max_num_generation_tokens":             {Type: Histogram},
		"request_params_n":                              {Type: Histogram},
		"request_params_max_tokens":                     {Type: Histogram},
		"iteration_tokens_total":                        {Type: Histogram},
		"spec_decode_num_drafts_total":                  {Type: Counter, Only: "with speculative decoding"},
		"spec_decode_num_draft_tokens_total":            {Type: Counter, Only: "with speculative decoding"},
		"spec_decode_num_accepted_tokens_total":         {Type: Counter, Only: "with speculative decoding"},
		"spec_decode_num_accepted_tokens_per_pos_total": {Type: Counter, Only: "with speculative decoding"},
		"nixl_xfer_time_seconds":                        {Type: Histogram, Only: "with the NixlConnector"},
		"nixl_post_time_seconds":                        {Type: Histogram, Only: "with the NixlConnector"},
		"nixl_bytes_transferred":                        {Type: Histogram, Only: "with the NixlConnector"},
		"nixl_num_descriptors":                          {Type: Histogram, Only: "with the NixlConnector"},
		"kv_block_lifetime_seconds":                     {Type: Histogram, Only: "with --kv-cache-metrics"},
		"kv_block_idle_before_evict_seconds":            {Type: Histogram, Only: "with --kv-cache-metrics"},
		"kv_block_reuse_gap_seconds":                    {Type: Histogram, Only: "with --kv-cache-metrics"},
		"estimated_flops_per_gpu_total":                 {Type: Counter, Only: "with --enable-mfu-metrics"},
		"estimated_read_bytes_per_gpu_total":            {Type: Counter, Only: "with --enable-mfu-metrics"},
		"estimated_write_bytes_per_gpu_total":           {Type: Counter, Only: "with --enable-mfu-metrics"},
	}
})

// OfConnector says whether a metric, by its name without prefix, belongs to a KV connector's own, changing set: nothing
// is known of those.
func OfConnector(base string) bool {
	return slices.ContainsFunc(
		[]string{"kv_offload_", "mooncake_", "hf3fs_", "nixl_", "lmcache_"},
		func(p string) bool { return strings.HasPrefix(base, p) },
	)
}

// FinishReasons are the values of the label finished_reason; all have series from a server's start
// (vllm/v1/engine/__init__.py).
func FinishReasons() []string { return []string{"stop", "length", "abort", "error", "repetition"} }
