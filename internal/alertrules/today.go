package alertrules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
)

// kind is a metric's type as Prometheus knows it.
type kind int

const (
	gauge kind = iota
	counter
	histo
	// fraction is a gauge between 0 and 1.
	fraction
)

// current is a metric of today's vLLM.
type current struct {
	kind kind
	// since is the version that brought it; empty for those that are older than 0.8.
	since string
	// older is what the same samples were called before.
	older string
	// only says under which condition it is exported. Without series such a metric proves nothing.
	only string
	// lazy are labels whose values appear with the first event: no series proves nothing.
	lazy []string
}

// today are the metrics of vLLM 0.8 to 0.32 that have not been removed, by their name without prefix (vllm/v1/metrics/loggers.py,
// vllm/v1/spec_decode/metrics.py, kv_connector/v1/nixl/stats.py).
var today = sync.OnceValue(func() map[string]current {
	out := map[string]current{
		"num_requests_running": {}, "num_requests_waiting": {},
		"num_requests_waiting_by_reason": {since: "0.20"},
		"kv_cache_usage_perc":            {kind: fraction, since: "0.9.2", older: "gpu_cache_usage_perc"},
		"num_preemptions_total":          {kind: counter},
		"request_success_total":          {kind: counter},
		"prompt_tokens_total":            {kind: counter}, "generation_tokens_total": {kind: counter},
		"prompt_tokens_by_source_total":          {kind: counter, since: "0.16"},
		"prompt_tokens_cached_total":             {kind: counter, since: "0.16"},
		"prefix_cache_queries_total":             {kind: counter, since: "0.9.2", older: "gpu_prefix_cache_queries_total"},
		"prefix_cache_hits_total":                {kind: counter, since: "0.9.2", older: "gpu_prefix_cache_hits_total"},
		"external_prefix_cache_queries_total":    {kind: counter, since: "0.11.1", only: "with a KV connector"},
		"external_prefix_cache_hits_total":       {kind: counter, since: "0.11.1", only: "with a KV connector"},
		"mm_cache_queries_total":                 {kind: counter, since: "0.11.1"},
		"mm_cache_hits_total":                    {kind: counter, since: "0.11.1"},
		"cache_config_info":                      {},
		"lora_requests_info":                     {only: "with LoRA adapters", lazy: []string{"max_lora", "running_lora_adapters", "waiting_lora_adapters"}},
		"engine_sleep_state":                     {since: "0.11.1"},
		"corrupted_requests_total":               {kind: counter, only: "with VLLM_COMPUTE_NANS_IN_LOGITS=1"},
		"nixl_num_failed_transfers_total":        {kind: counter, only: "with the NixlConnector"},
		"nixl_num_failed_notifications_total":    {kind: counter, only: "with the NixlConnector"},
		"nixl_num_kv_expired_reqs_total":         {kind: counter, only: "with the NixlConnector"},
		"tool_call_parser_invocations_total":     {kind: counter, only: "after the first tool call"},
		"admission_rejections_total":             {kind: counter, since: "0.29", only: "with --max-num-queued-reqs or --max-num-queued-tokens"},
		"websocket_connections_active":           {only: "with /realtime"},
		"websocket_connections_total":            {kind: counter, only: "with /realtime"},
		"websocket_connections_duration_seconds": {kind: histo, only: "with /realtime"},
		"inter_token_latency_seconds":            {kind: histo, since: "0.10.2", older: "time_per_output_token_seconds"},
		"request_time_per_output_token_seconds":  {kind: histo, since: "0.11"},
		"request_prefill_kv_computed_tokens":     {kind: histo, since: "0.13"},
	}
	for _, base := range []string{
		"time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds", "request_inference_time_seconds",
		"request_prefill_time_seconds", "request_decode_time_seconds", "request_prompt_tokens", "request_generation_tokens",
		"request_max_num_generation_tokens", "request_params_n", "request_params_max_tokens", "iteration_tokens_total",
	} {
		out[base] = current{kind: histo}
	}
	for _, base := range []string{"spec_decode_num_drafts_total", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total", "spec_decode_num_accepted_tokens_per_pos_total"} {
		out[base] = current{kind: counter, only: "with speculative decoding"}
	}
	for _, base := range []string{"nixl_xfer_time_seconds", "nixl_post_time_seconds", "nixl_bytes_transferred", "nixl_num_descriptors"} {
		out[base] = current{kind: histo, only: "with the NixlConnector"}
	}
	for _, base := range []string{"kv_block_lifetime_seconds", "kv_block_idle_before_evict_seconds", "kv_block_reuse_gap_seconds"} {
		out[base] = current{kind: histo, only: "with --kv-cache-metrics"}
	}
	for _, base := range []string{"estimated_flops_per_gpu_total", "estimated_read_bytes_per_gpu_total", "estimated_write_bytes_per_gpu_total"} {
		out[base] = current{kind: counter, only: "with --enable-mfu-metrics"}
	}
	return out
})

// router are the metrics that production-stack's router exports under vLLM's prefix and that no engine has.
func router() []string {
	return []string{
		"current_qps", "avg_latency", "avg_itl", "avg_decoding_length", "avg_prefill_length", "healthy_pods_total", "num_prefill_requests", "num_decoding_requests",
		"num_incoming_requests_total", "input_tokens_total", "request_errors_total", "request_latency_seconds",
	}
}

// connector says whether a metric belongs to a KV connector's own, changing set: nothing is known of those.
func connector(base string) bool {
	return slices.ContainsFunc([]string{"kv_offload_", "mooncake_", "hf3fs_", "nixl_", "lmcache_"}, func(p string) bool { return strings.HasPrefix(base, p) })
}

// near is the one name of today's vLLM that a misspelled one may have meant: at most two letters away, and no other as close.
func near(base string) string {
	best, distance, tie := "", 3, false
	for _, other := range slices.Sorted(maps.Keys(today())) {
		switch d := nearest.Distance(base, other); {
		case d < distance:
			best, distance, tie = other, d, false
		case d == distance:
			tie = true
		}
	}
	if tie || distance > 2 || len(base) < 8 {
		return ""
	}
	return best
}
