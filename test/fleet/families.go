package fleet

import (
	"slices"
	"strconv"
)

// kind is a metric's Prometheus type.
type kind int

const (
	gauge kind = iota
	counter
	histo
)

// family is one metric of an engine. Its name has no prefix, and a counter's no _total.
type family struct {
	name string
	help string
	kind kind
	// label is the name of a label beside model_name and engine, when there is one.
	label string
	// value fills gauges and counters without an own label, values those with one, shape histograms.
	value  func(*engine) float64
	values func(*engine) map[string]float64
	shape  func(*engine) *histogram
}

// families returns the metrics of a dialect in the order of vLLM's loggers.
func families(d Dialect) []family {
	return slices.Concat(queueGauges(d), cacheMetrics(d), tokenCounters(d), latencies(d), requestShapes())
}

func queueGauges(d Dialect) []family {
	waiting := func(e *engine) float64 { return float64(e.tally.waiting) }
	out := []family{
		{
			name: "num_requests_running", kind: gauge, help: "Number of requests in model execution batches.",
			value: func(e *engine) float64 { return float64(e.tally.running) },
		},
		{name: "num_requests_waiting", kind: gauge, help: "Number of requests waiting to be processed.", value: waiting},
	}
	switch d {
	case V0: // preempted requests are swapped out, not waiting
		out[1].value = func(e *engine) float64 { return float64(e.tally.waiting - e.tally.swapped) }
		out = append(out, family{
			name: "num_requests_swapped", kind: gauge, help: "Number of requests swapped to CPU.",
			value: func(e *engine) float64 { return float64(e.tally.swapped) },
		})
	case V1, Underscore:
		out = append(out, family{
			name: "num_requests_waiting_by_reason", kind: gauge, label: "reason",
			help: "Number of requests waiting to be processed, by reason.",
			values: func(e *engine) map[string]float64 {
				if e.fault == Stalled { // the model's stall stands for KV transfers that never arrive
					return map[string]float64{"capacity": 0, "deferred": waiting(e)}
				}
				return map[string]float64{"capacity": waiting(e), "deferred": 0}
			},
		})
	case V1Early:
	}
	return out
}

func cacheMetrics(d Dialect) []family {
	usage := family{
		name: "kv_cache_usage_perc", kind: gauge, help: "KV-cache usage. 1 means 100 percent usage.",
		value: func(e *engine) float64 { return e.tally.kv },
	}
	queries := family{
		name: "prefix_cache_queries", kind: counter, help: "Prefix cache queries, in terms of number of queried tokens.",
		value: func(e *engine) float64 { return float64(e.tally.queried) },
	}
	hits := family{
		name: "prefix_cache_hits", kind: counter, help: "Prefix cache hits, in terms of number of cached tokens.",
		value: func(e *engine) float64 { return float64(e.tally.hit) },
	}
	switch d {
	case V0:
		usage.name = "gpu_cache_usage_perc"
		return []family{usage} // what it says of the prefix cache is a rate, which nothing reads
	case V1Early:
		usage.name, queries.name, hits.name = "gpu_cache_usage_perc", "gpu_prefix_cache_queries", "gpu_prefix_cache_hits"
	case V1, Underscore:
	}
	return []family{usage, queries, hits}
}

func tokenCounters(d Dialect) []family {
	return []family{
		{
			name: "num_preemptions", kind: counter, help: "Cumulative number of preemption from the engine.",
			value: func(e *engine) float64 { return float64(e.tally.preemptions) },
		},
		{
			name: "prompt_tokens", kind: counter, help: "Number of prefill tokens processed.",
			value: func(e *engine) float64 { return float64(e.tally.prompt) },
		},
		{
			name: "generation_tokens", kind: counter, help: "Number of generation tokens processed.",
			value: func(e *engine) float64 { return float64(e.tally.generated) },
		},
		{
			name: "request_success", kind: counter, label: "finished_reason", help: "Count of successfully processed requests.",
			values: func(e *engine) map[string]float64 { return finishes(d, e.tally) },
		},
	}
}

// finishes are the children of request_success. V1 makes them all at the start, V0 each when it first happens.
func finishes(d Dialect, t *tally) map[string]float64 {
	reasons := map[Dialect][]string{
		V1:         {reasonStop, reasonLength, reasonAbort, reasonError, reasonRepetition},
		Underscore: {reasonStop, reasonLength, reasonAbort, reasonError, reasonRepetition},
		V1Early:    {reasonStop, reasonLength, reasonAbort},
	}
	out := map[string]float64{}
	for _, reason := range reasons[d] {
		out[reason] = 0
	}
	for reason, n := range t.finished {
		out[reason] = float64(n)
	}
	return out
}

func latencies(d Dialect) []family {
	between := timing("time_per_output_token", "Histogram of time per output token in seconds.",
		func(t *tally) *histogram { return t.itl })
	if d == V1 || d == Underscore {
		between.name, between.help = "inter_token_latency_seconds", "Histogram of inter-token latency in seconds."
	}
	return []family{
		timing("time_to_first_token", "Histogram of time to first token in seconds.",
			func(t *tally) *histogram { return t.ttft }),
		between,
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
	}
}

// cacheConfig are the labels of cache_config_info: the fields of vLLM's CacheConfig, as Python prints them.
func cacheConfig(d Dialect, e *engine) map[string]string {
	blocks := strconv.Itoa(e.blocks)
	out := map[string]string{
		"block_size": strconv.Itoa(blockSize), "cache_dtype": "auto", "calculate_kv_scales": "False", "cpu_offload_gb": "0",
		"enable_prefix_caching": "True", "gpu_memory_utilization": "0.9", "is_attention_free": "False",
		"num_cpu_blocks": "None", "num_gpu_blocks": blocks, "num_gpu_blocks_override": "None", "sliding_window": "None",
		"swap_space": "4",
	}
	switch d {
	case V0:
		out["num_cpu_blocks"] = strconv.Itoa(cpuBlocks)
	case V1, Underscore:
		delete(out, "swap_space") // removed in 0.18
		out["gpu_memory_utilization"], out["kv_cache_memory_bytes"], out["prefix_caching_hash_algo"] = "0.92", "None",
			"sha256"
		out["kv_cache_size_tokens"] = strconv.Itoa(e.blocks * blockSize)
		out["kv_cache_max_concurrency"] = strconv.FormatFloat(float64(e.blocks*blockSize)/maxModelLen, 'f', 2, 64)
	case V1Early:
	}
	return out
}
