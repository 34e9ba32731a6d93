package fakevllm

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
	out := slices.Concat(queueGauges(d), cacheMetrics(d), tokenCounters(d), latencies(d), requestShapes(d))
	if d == V1 || d == Underscore {
		out = append(out, family{
			name: "engine_sleep_state", kind: gauge, label: "sleep_state",
			help: "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake.",
			values: func(*engine) map[string]float64 {
				return map[string]float64{"awake": 1, "weights_offloaded": 0, "discard_all": 0}
			},
		})
	}
	return out
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
		return []family{
			usage,
			{
				name: "cpu_cache_usage_perc", kind: gauge, help: "CPU KV-cache usage. 1 means 100 percent usage.",
				value: func(e *engine) float64 { return e.tally.cpuKV },
			},
			{name: "cpu_prefix_cache_hit_rate", kind: gauge, help: "CPU prefix cache block hit rate.", value: zero},
			{
				name: "gpu_prefix_cache_hit_rate", kind: gauge, help: "GPU prefix cache block hit rate.",
				value: func(e *engine) float64 { return float64(e.tally.hit) / max(1, float64(e.tally.queried)) },
			},
		}
	case V1Early:
		usage.name, queries.name, hits.name = "gpu_cache_usage_perc", "gpu_prefix_cache_queries", "gpu_prefix_cache_hits"
		return []family{usage, queries, hits}
	case V1, Underscore:
	}
	return []family{
		usage, queries, hits,
		{name: "external_prefix_cache_queries", kind: counter, help: "External prefix cache queries, in terms of number of queried tokens.", value: zero},
		{name: "external_prefix_cache_hits", kind: counter, help: "External prefix cache hits, in terms of number of cached tokens.", value: zero},
		{name: "mm_cache_queries", kind: counter, help: "Multi-modal cache queries, in terms of number of queried items.", value: zero},
		{name: "mm_cache_hits", kind: counter, help: "Multi-modal cache hits, in terms of number of cached items.", value: zero},
	}
}

func zero(*engine) float64 { return 0 }

func tokenCounters(d Dialect) []family {
	out := []family{
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
	if d == V1 || d == Underscore {
		out = append(out, family{
			name: "prompt_tokens_by_source", kind: counter, label: "source", help: "Number of prompt tokens by source.",
			values: func(e *engine) map[string]float64 {
				return map[string]float64{
					"local_compute": float64(e.tally.computed), "local_cache_hit": float64(e.tally.cached), "external_kv_transfer": 0,
				}
			},
		}, family{
			name: "prompt_tokens_cached", kind: counter, help: "Number of cached prompt tokens (local + external).",
			value: func(e *engine) float64 { return float64(e.tally.cached) },
		})
	}
	return out
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
	itl := family{name: "time_per_output_token_seconds", kind: histo, help: "Histogram of time per output token in seconds.", shape: func(e *engine) *histogram { return e.tally.itl }}
	if d == V1 || d == Underscore {
		itl.name, itl.help = "inter_token_latency_seconds", "Histogram of inter-token latency in seconds."
	}
	out := []family{
		{name: "iteration_tokens_total", kind: histo, help: "Histogram of number of tokens per engine_step.", shape: func(e *engine) *histogram { return e.tally.iteration }},
		{name: "time_to_first_token_seconds", kind: histo, help: "Histogram of time to first token in seconds.", shape: func(e *engine) *histogram { return e.tally.ttft }},
		itl,
		{name: "e2e_request_latency_seconds", kind: histo, help: "Histogram of e2e request latency in seconds.", shape: func(e *engine) *histogram { return e.tally.e2e }},
		{name: "request_queue_time_seconds", kind: histo, help: "Histogram of time spent in WAITING phase for request.", shape: func(e *engine) *histogram { return e.tally.queue }},
		{name: "request_inference_time_seconds", kind: histo, help: "Histogram of time spent in RUNNING phase for request.", shape: func(e *engine) *histogram { return e.tally.inference }},
		{name: "request_prefill_time_seconds", kind: histo, help: "Histogram of time spent in PREFILL phase for request.", shape: func(e *engine) *histogram { return e.tally.prefill }},
		{name: "request_decode_time_seconds", kind: histo, help: "Histogram of time spent in DECODE phase for request.", shape: func(e *engine) *histogram { return e.tally.decode }},
	}
	if d == V1 || d == Underscore {
		out = append(out, family{
			name: "request_time_per_output_token_seconds", kind: histo, help: "Histogram of time_per_output_token_seconds per request.",
			shape: func(e *engine) *histogram { return e.tally.tpot },
		})
	}
	return out
}

func requestShapes(d Dialect) []family {
	out := []family{
		{name: "request_prompt_tokens", kind: histo, help: "Number of prefill tokens processed.", shape: func(e *engine) *histogram { return e.tally.promptLen }},
		{name: "request_generation_tokens", kind: histo, help: "Number of generation tokens processed.", shape: func(e *engine) *histogram { return e.tally.generatedLen }},
		{name: "request_max_num_generation_tokens", kind: histo, help: "Histogram of maximum number of requested generation tokens.", shape: func(e *engine) *histogram { return e.tally.maxGenerated }},
		{name: "request_params_n", kind: histo, help: "Histogram of the n request parameter.", shape: func(e *engine) *histogram { return e.tally.n }},
		{name: "request_params_max_tokens", kind: histo, help: "Histogram of the max_tokens request parameter.", shape: func(e *engine) *histogram { return e.tally.maxTokens }},
	}
	if d == V1 || d == Underscore {
		out = append(out, family{
			name: "request_prefill_kv_computed_tokens", kind: histo, help: "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
			shape: func(e *engine) *histogram { return e.tally.computedLen },
		})
	}
	return out
}

// cacheConfig are the labels of cache_config_info: the fields of vLLM's CacheConfig, as Python prints them.
func cacheConfig(d Dialect, e *engine) map[string]string {
	blocks := strconv.Itoa(e.blocks)
	out := map[string]string{
		"block_size": strconv.Itoa(blockSize), "cache_dtype": "auto", "calculate_kv_scales": "False", "cpu_offload_gb": "0",
		"enable_prefix_caching": "True", "gpu_memory_utilization": "0.9", "is_attention_free": "False",
		"num_cpu_blocks": "None", "num_gpu_blocks": blocks, "num_gpu_blocks_override": "None", "sliding_window": "None", "swap_space": "4",
	}
	switch d {
	case V0:
		out["num_cpu_blocks"] = strconv.Itoa(cpuBlocks)
	case V1, Underscore:
		delete(out, "swap_space") // removed in 0.18
		out["gpu_memory_utilization"], out["kv_cache_memory_bytes"], out["prefix_caching_hash_algo"] = "0.92", "None", "sha256"
		out["kv_cache_size_tokens"] = strconv.Itoa(e.blocks * blockSize)
		out["kv_cache_max_concurrency"] = strconv.FormatFloat(float64(e.blocks*blockSize)/maxModelLen, 'f', 2, 64)
	case V1Early:
	}
	return out
}
