package fleet

import (
	"slices"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// kind is a metric's Prometheus type.
type kind int

const (
	gauge kind = iota
	counter
	histo
)

// family is one metric of an engine by today's name without prefix, a counter with its _total.
type family struct {
	name string
	help string
	kind kind
	// in are the generations that have it; nil is all, as far as the spelling has it.
	in []vllm.Generation
	// label is the name of a label beside model_name and engine, when there is one.
	label string
	// only says which engines have it; nil is all.
	only func(*engine) bool
	// value fills gauges and counters without an own label, values those with one, shape histograms.
	value  func(*engine) float64
	values func(*engine) []labelled
	shape  func(*engine) *histogram
}

// labelled is the value of a child.
type labelled struct {
	label string
	value float64
}

// families are the metrics in the order of vLLM's loggers.
func families() []family { return slices.Concat(gauges(), counters(), latencies(), requestShapes()) }

func gauges() []family {
	return []family{
		{
			name: "num_requests_running", kind: gauge, help: "Number of requests in model execution batches.",
			value: func(e *engine) float64 { return float64(e.tally.running) },
		},
		{
			name: "num_requests_waiting", kind: gauge, help: "Number of requests waiting to be processed.",
			in:    []vllm.Generation{vllm.V1, vllm.V1Middle, vllm.V1Early},
			value: func(e *engine) float64 { return float64(e.tally.waiting) },
		},
		{ // preempted requests are swapped out, not waiting
			name: "num_requests_waiting", kind: gauge, help: "Number of requests waiting to be processed.",
			in:    []vllm.Generation{vllm.V0},
			value: func(e *engine) float64 { return float64(e.tally.waiting - e.tally.swapped) },
		},
		{
			name: "num_requests_swapped", kind: gauge, help: "Number of requests swapped to CPU.",
			in:    []vllm.Generation{vllm.V0},
			value: func(e *engine) float64 { return float64(e.tally.swapped) },
		},
		{
			name: "num_requests_waiting_by_reason", kind: gauge, label: "reason",
			help: "Number of requests waiting to be processed, by reason.",
			in:   []vllm.Generation{vllm.V1}, values: waitingByReason,
		},
		{
			name: "kv_cache_usage_perc", kind: gauge, help: "KV-cache usage. 1 means 100 percent usage.",
			value: func(e *engine) float64 { return e.tally.kv },
		},
	}
}

// waitingByReason: the model's stall stands for KV transfers that never arrive.
func waitingByReason(e *engine) []labelled {
	deferred := e.tally.deferred
	if e.fault == Stalled {
		deferred = e.tally.waiting
	}
	return []labelled{{"capacity", float64(e.tally.waiting - deferred)}, {"deferred", float64(deferred)}}
}

func counters() []family {
	return []family{
		{ // V0 has a rate of its prefix cache instead of these two, which nothing reads
			name: "prefix_cache_queries_total", kind: counter,
			help:  "Prefix cache queries, in terms of number of queried tokens.",
			value: func(e *engine) float64 { return float64(e.tally.queried) },
		},
		{
			name: "prefix_cache_hits_total", kind: counter,
			help:  "Prefix cache hits, in terms of number of cached tokens.",
			value: func(e *engine) float64 { return float64(e.tally.hit) },
		},
		{
			name: "num_preemptions_total", kind: counter, help: "Cumulative number of preemption from the engine.",
			value: func(e *engine) float64 { return float64(e.tally.preemptions) },
		},
		{
			name: "prompt_tokens_total", kind: counter, help: "Number of prefill tokens processed.",
			value: func(e *engine) float64 { return float64(e.tally.prompt) },
		},
		{
			name: "generation_tokens_total", kind: counter, help: "Number of generation tokens processed.",
			value: func(e *engine) float64 { return float64(e.tally.generated) },
		},
		{
			name: "request_success_total", kind: counter, label: "finished_reason",
			help: "Count of successfully processed requests.", values: finishes,
		},
	}
}

// finishes are the children of request_success_total. V1 makes them all at the start, V0 each when it first happens.
func finishes(e *engine) []labelled {
	var out []labelled
	for _, reason := range e.tally.reasons {
		out = append(out, labelled{reason, float64(e.tally.finished[reason])})
	}
	for _, reason := range []string{reasonAbort, reasonLength, reasonStop} {
		if n := e.tally.finished[reason]; n > 0 && !slices.Contains(e.tally.reasons, reason) {
			out = append(out, labelled{reason, float64(n)})
		}
	}
	return out
}

// reasonsAtStart are the children of request_success_total that a server has from its start.
func reasonsAtStart(g vllm.Generation) []string {
	switch g {
	case vllm.V0:
		return nil
	case vllm.V1Early, vllm.V1Middle: // error and repetition came with 0.13 and later
		return []string{reasonStop, reasonLength, reasonAbort}
	case vllm.V1:
	}
	return vllm.FinishReasons()
}

func latencies() []family {
	return []family{
		timing("time_to_first_token", "Histogram of time to first token in seconds.",
			func(t *tally) *histogram { return t.ttft }),
		timing("inter_token_latency", "Histogram of inter-token latency in seconds.",
			func(t *tally) *histogram { return t.itl }),
		timing("e2e_request_latency", "Histogram of e2e request latency in seconds.",
			func(t *tally) *histogram { return t.e2e }),
		timing("request_queue_time", "Histogram of time spent in WAITING phase for request.",
			func(t *tally) *histogram { return t.queue }),
		timing("request_prefill_time", "Histogram of time spent in PREFILL phase for request.",
			func(t *tally) *histogram { return t.prefill }),
		timing("request_decode_time", "Histogram of time spent in DECODE phase for request.",
			func(t *tally) *histogram { return t.decode }),
	}
}

// timing is a histogram of times.
func timing(name, help string, of func(*tally) *histogram) family {
	return family{
		name: name + "_seconds", kind: histo, help: help, shape: func(e *engine) *histogram { return of(e.tally) },
	}
}

func requestShapes() []family {
	return []family{
		{
			name: "request_prompt_tokens", kind: histo, help: "Number of prefill tokens processed.",
			shape: func(e *engine) *histogram { return e.tally.promptLen },
		},
		{
			name: "request_generation_tokens", kind: histo, help: "Number of generation tokens processed.",
			shape: func(e *engine) *histogram { return e.tally.generatedLen },
		},
		{
			name: "nixl_xfer_time_seconds", kind: histo, help: "Histogram of transfer duration for NIXL KV Cache transfers.",
			in: []vllm.Generation{vllm.V1}, only: func(e *engine) bool { return e.role == Decode },
			shape: func(e *engine) *histogram { return e.tally.transfers },
		},
	}
}

// cacheConfig are the labels of cache_config_info: the fields of vLLM's CacheConfig, as Python prints them.
func cacheConfig(g vllm.Generation, e *engine) map[string]string {
	blocks := strconv.Itoa(e.blocks)
	out := map[string]string{
		"block_size": strconv.Itoa(blockSize), "cache_dtype": "auto", "calculate_kv_scales": "False", "cpu_offload_gb": "0",
		"enable_prefix_caching": "True", "gpu_memory_utilization": "0.9", "is_attention_free": "False",
		"num_cpu_blocks": "None", "num_gpu_blocks": blocks, "num_gpu_blocks_override": "None", "sliding_window": "None",
		"swap_space": "4",
	}
	switch g {
	case vllm.V0:
		out["num_cpu_blocks"] = strconv.Itoa(cpuBlocks)
	case vllm.V1:
		delete(out, "swap_space") // removed in 0.18
		out["gpu_memory_utilization"], out["kv_cache_memory_bytes"], out["prefix_caching_hash_algo"] = "0.92", "None",
			"sha256"
		out["kv_cache_size_tokens"] = strconv.Itoa(e.blocks * blockSize)
		out["kv_cache_max_concurrency"] = strconv.FormatFloat(float64(e.blocks*blockSize)/maxModelLen, 'f', 2, 64)
	case vllm.V1Middle, vllm.V1Early:
	}
	return out
}
