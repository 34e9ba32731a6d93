package alertrules

import (
	"fmt"
	"strings"
	"sync"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// shape is how an expression of a removed metric becomes one of its replacement.
type shape int

const (
	// noReplacement: no metric takes its place.
	noReplacement shape = iota
	// renamed: another name, the same type.
	renamed
	// asIncrease: a gauge of how many there are becomes the increase of a counter over five minutes.
	asIncrease
	// asRate: a gauge of so many per second becomes the rate of a counter.
	asRate
	// asRatio: a gauge becomes the rate of one counter divided by that of another.
	asRatio
	// asQuantile: a histogram becomes the quantiles of a gauge over time.
	asQuantile
	// scaled: another gauge in another unit.
	scaled
)

// removedMetric is a metric that current vLLM does not have, and what takes its place.
type removedMetric struct {
	// what says why it is not there; it completes "<metric> ...".
	what  string
	shape shape
	// into is the base of the current name, over the one to divide by, foreign a whole name that is not vLLM's.
	into, over, foreign string
	// scale is what a foreign gauge is multiplied by; below 1 it is printed as a division.
	scale float64
	// label is the old label that became finished_reason, and values what its values became.
	label  string
	values map[string][]string
	// caveat is how the corrected expression differs in meaning.
	caveat string
}

const custom = "is not a vLLM metric: it comes from a guide's own Python exporter, which is not running " +
	"here"

// removed are the metrics that are in alert rules but not in current vLLM, by their name without prefix: removed ones,
// and names in widely read guides that no version had. Sources: vLLM's own history (commits beside the entries); the
// names marked custom come from the exporter in "vLLM v1 Performance Profiling".
var removed = sync.OnceValue(func() map[string]removedMetric {
	out := map[string]removedMetric{
		"num_requests_swapped": { // 98d7367b61, 0e98964e94
			what: "belonged to the V0 engine and was removed in vLLM 0.9.1: V1 never swaps requests, it preempts and " +
				"recomputes them",
			shape: asIncrease, into: "num_preemptions_total", caveat: "it counts preemptions in 5 minutes instead of " +
				"swapped requests now",
		},
		"cpu_cache_usage_perc": {
			what: "belonged to the V0 engine and was removed in vLLM 0.9.1: V1 has no CPU swap space",
		},
		"gpu_prefix_cache_hit_rate": {
			what:  "belonged to the V0 engine and was removed in vLLM 0.9.1: V1 counts hits and queries",
			shape: asRatio, into: "prefix_cache_hits_total", over: "prefix_cache_queries_total", caveat: "it is the " +
				"hit rate of the last 5 minutes",
		},
		"cpu_prefix_cache_hit_rate": {what: "belonged to the V0 engine and was removed in vLLM 0.9.1"},
		"time_in_queue_requests": {
			what: "belonged to the V0 engine and was removed in " +
				"vLLM 0.8", shape: renamed, into: "request_queue_time_seconds",
		},
		"model_forward_time_milliseconds": {what: "belonged to the V0 engine and was removed in vLLM 0.9.1"},
		"model_execute_time_milliseconds": {what: "belonged to the V0 engine and was removed in vLLM 0.9.1"},
		"tokens_total": {
			what: "was removed in vLLM 0.8: prompt_tokens_total and generation_tokens_total count them separately",
		},
		"avg_prompt_throughput_toks_per_s": {
			what: "was removed in vLLM 0.7", shape: asRate, into: "prompt_tokens_total",
			caveat: "it is the rate of the last 5 minutes",
		},
		"avg_generation_throughput_toks_per_s": {
			what: "was removed in vLLM 0.7", shape: asRate, into: "generation_tokens_total",
			caveat: "it is the rate of the last 5 minutes",
		},
		"spec_decode_draft_acceptance_rate": { // dd572c0ab3
			what:  "belonged to the V0 engine and was removed in vLLM 0.10: V1 counts drafted and accepted tokens",
			shape: asRatio, into: "spec_decode_num_accepted_tokens_total", over: "spec_decode_num_draft_tokens_total",
			caveat: "it is the acceptance of the last 5 minutes",
		},
		"spec_decode_efficiency":               {what: "belonged to the V0 engine and was removed in vLLM 0.10"},
		"spec_decode_num_emitted_tokens_total": {what: "belonged to the V0 engine and was removed in vLLM 0.10"},

		"finished_request_total": {
			what: "never existed in any vLLM: finished requests are counted in request_success_total, with the " +
				"label finished_reason",
			shape: renamed, into: "request_success_total", label: "finish_reason",
		},
		"gpu_cache_usage": {what: "never existed in any vLLM", shape: renamed, into: "kv_cache_usage_perc"},
		"num_generation_tokens_total": {
			what: "never existed in any vLLM", shape: renamed, into: "generation_tokens_total",
		},
		"num_prompt_tokens_total": {what: "never existed in any vLLM", shape: renamed, into: "prompt_tokens_total"},
		"gpu_utilization": {
			what: "never existed in any vLLM: NVIDIA's dcgm-exporter has it, in " +
				"percent", shape: scaled, foreign: "DCGM_FI_DEV_GPU_UTIL", scale: 0.01,
			caveat: "it needs dcgm-exporter, and its series carry the labels of the GPU, not of the model",
		},
		"gpu_memory_usage_bytes": {
			what: "never existed in any vLLM: NVIDIA's dcgm-exporter has it, " +
				"in MiB", shape: scaled, foreign: "DCGM_FI_DEV_FB_USED", scale: 1 << 20,
			caveat: "it needs dcgm-exporter, and its series carry the labels of the GPU, not of the model",
		},

		"ttft_seconds":         {what: custom, shape: renamed, into: "time_to_first_token_seconds"},
		"tbt_seconds":          {what: custom, shape: renamed, into: "inter_token_latency_seconds"},
		"e2e_seconds":          {what: custom, shape: renamed, into: "e2e_request_latency_seconds"},
		"output_tokens_total":  {what: custom, shape: renamed, into: "generation_tokens_total"},
		"queue_depth":          {what: custom, shape: renamed, into: "num_requests_waiting"},
		"kv_cache_utilization": {what: custom, shape: renamed, into: "kv_cache_usage_perc"},
		"kv_cache_evictions_total": {
			what: custom, shape: renamed, into: "num_preemptions_total", caveat: "it counts preempted requests, not " +
				"evicted blocks: choose a new threshold",
		},
		"prefix_cache_hit_rate": {
			what: custom, shape: asRatio, into: "prefix_cache_hits_total", over: "prefix_cache_queries_total",
			caveat: "it is the hit rate of the last 5 minutes",
		},
		"decode_batch_size": {
			what: custom, shape: asQuantile, into: "num_requests_running",
			caveat: "it is the number of running requests over time",
		},
		"requests_completed_total": {
			what: custom, shape: renamed, into: "request_success_total", label: "status",
			values: map[string][]string{"success": {"stop", "length"}, "timeout": {"abort"}},
		},
	}
	for _, r := range vllm.Renames() {
		what := fmt.Sprintf("was renamed to %s in vLLM %s and removed in %s", r.New, r.Since, r.Removed)
		out[r.Old] = removedMetric{what: what, shape: renamed, into: r.New}
	}
	// The documentation writes counters without the suffix that their series carry.
	for _, base := range vllm.CurrentMetrics() {
		m, _ := vllm.CurrentMetric(base)
		if written, is := strings.CutSuffix(base, vllm.SuffixTotal); is && m.Type == vllm.Counter {
			out[written] = removedMetric{
				what: "is what the documentation calls it; the series carry _total", shape: renamed, into: base,
			}
		}
	}
	return out
})

// closest is the one name of current vLLM that a misspelled one may have meant: at most two letters away, and no other
// as close.
func closest(base string) string {
	best, distance, tie := "", 3, false
	for _, other := range vllm.CurrentMetrics() {
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
