package playbooks_test

import (
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// troublesOfLoad are load and capacity, and what only looks like trouble.
func troublesOfLoad() []trouble {
	return []trouble{
		{
			diagnosis: "dead-alert", alert: "vLLMRequestSwapping",
			readings: with(nil),
			dead: []incident.DeadAlert{{
				Alert: "vLLMRequestSwapping", Missing: []string{"vllm:num_requests_swapped"},
				Why: "it is gone since 0.9.1",
			}},
		},
		{
			diagnosis: "kv-thrash", alert: "vLLMRequestSwapping",
			readings: with(map[string]float64{
				"kv_usage": 0.91, "kv_usage_peak": 0.99, "preemption_rate": 3, "waiting": 60, "waiting_per_engine": 30,
				"waiting_per_engine_mean": 30, "ttft_p95": 9, "tpot_p95": 0.4,
				"queue_time_p95": 6,
			}),
			not:   []map[string]float64{{"preemption_rate": 0}, {"preemption_rate": 0.5}, {"kv_usage_peak": 0.95}},
			needs: []string{"preemption_rate", "kv_usage_peak"},
		},
		{
			diagnosis: "at-capacity", alert: "vLLMGPUCacheFull",
			readings: with(map[string]float64{
				"kv_usage": 0.98, "waiting": 20, "waiting_mean": 18, "waiting_per_engine": 10,
				"waiting_per_engine_mean": 10, "ttft_p95": 2,
			}),
			not: []map[string]float64{
				{"kv_usage": 0.9},
				{"preemption_rate": 1},
				{"waiting": 1, "waiting_mean": 0.4, "waiting_per_engine": 0, "waiting_per_engine_mean": 0},
			},
			needs: []string{"kv_usage", "waiting_mean", "finished_rate"},
		},
		{
			// Three full engines among eight.
			diagnosis: "at-capacity", alert: "vLLMGPUCacheFull",
			readings: with(map[string]float64{
				"kv_usage": 0.7, "kv_usage_held": 0.7, "kv_usage_max": 1, "kv_usage_peak": 1,
				"kv_second_pod": 0.99, "preemption_rate": 0.2,
			}),
			not: []map[string]float64{
				{"preemption_rate": 0},
				{"preemption_rate": 0.06, "kv_second_pod": 0.95},
				{"preemption_rate": 1},
				{"kv_usage_max": 0.9},
			},
			needs: []string{"kv_usage_max", "preemption_rate", "finished_rate"},
		},
		{
			diagnosis: "queueing", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 40, "waiting_per_engine": 20, "waiting_per_engine_mean": 20,
				"queue_time_p95": 7, "ttft_p95": 8,
			}),
			not: []map[string]float64{
				{"waiting": 2, "waiting_per_engine": 1, "waiting_per_engine_mean": 1, "queue_time_p95": 0.4, "ttft_p95": 1.5},
				{"waiting": 0, "waiting_per_engine": 0, "waiting_per_engine_mean": 0, "queue_time_p95": 1, "ttft_p95": 0.4},
				{"waiting": 0, "waiting_per_engine": 0, "waiting_lately": 0}, // a burst that has ended
			},
			needs: []string{"waiting_lately"},
		},
		{
			// The queue's time and the first tokens are of those who finished: after a burst they say nothing of now.
			diagnosis: "queueing", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 4, "waiting_mean": 4, "waiting_per_engine": 2,
				"waiting_per_engine_mean": 2, "queue_time_p95": 7, "ttft_p95": 8,
			}),
			not:   []map[string]float64{{"waiting_mean": 0.5}, {"queue_time_p95": 3}, {"waiting_lately": 1}},
			needs: []string{"waiting_mean"},
		},
		{
			// A batch pool may have a queue as long as first tokens come in time; one that grows they do not tell.
			diagnosis: "queueing", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 40, "waiting_mean": 20, "waiting_per_engine": 20,
				"waiting_per_engine_mean": 10,
			}),
			not:   []map[string]float64{{"waiting_per_engine": 12}},
			needs: []string{"waiting_per_engine", "waiting_per_engine_mean"},
		},
		{
			diagnosis: "long-prefill", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000}),
			not: []map[string]float64{
				{"ttft_p95": 0.4},
				{"prefill_p95": 1},
				{"queue_time_p95": 4},
				{"waiting_per_engine": 9, "waiting_per_engine_mean": 9, "waiting": 18},
				{"preemption_rate": 1},
			},
			needs: []string{"ttft_p95", "prefill_p95", "queue_time_p95", "waiting_per_engine", "preemption_rate"},
		},
		{
			diagnosis: "slower-at-equal-load", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{
				"tpot_p95": 0.3, "tpot_p50": 0.2, "tpot_mean_usual": 0.06, "tpot_mean_fastest": 0.1, "tpot_mean_lately": 0.1,
				"tpot_mean": 0.11, "waiting_per_engine_mean": 0,
			}),
			not: []map[string]float64{
				{"tpot_p95": 0.04, "tpot_p50": 0.03},
				{"tpot_mean_usual": 0.09},
				{"tpot_mean_fastest": 0.06},
				{"tpot_mean_lately": 0.06},
				{"waiting_per_engine_mean": 3},
				{"preemption_rate": 1},
				{"prompt_len_p95": 3000, "prompt_len_usual": 1500},
				{"spec_acceptance": 0.5, "spec_acceptance_usual": 0.7},
			},
			needs: []string{"tpot_mean_fastest", "tpot_mean_lately", "preemption_rate"},
		},
		{
			// A full engine is slower at the same throughput, but not three times as slow.
			diagnosis: "slower-at-equal-load", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"tpot_p95": 0.3, "tpot_p50": 0.2, "ttft_p95": 9, "tpot_mean_usual": 0.03, "tpot_mean_fastest": 0.1,
				"tpot_mean_lately": 0.1, "tpot_mean": 0.11, "waiting": 40, "waiting_mean": 40, "waiting_lately": 40,
				"waiting_per_engine": 20, "waiting_per_engine_mean": 20, "queue_time_p95": 8,
			}),
			not: []map[string]float64{{"tpot_mean_usual": 0.06}},
		},
		{
			diagnosis: "frontend-bound", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"ttft_p95": 6, "ttft_p95_lately": 6, "ttft_mean": 3, "ttft_rest": 2.8, "e2e_rest": 2.7,
				"queue_time_mean": 0.1, "prefill_mean": 0.1, "waiting_per_engine": 0, "waiting_per_engine_mean": 0,
			}),
			not: []map[string]float64{
				{"ttft_p95": 0.4},
				{"ttft_p95_lately": 0.2},
				{"ttft_rest": 1.4},
				{"ttft_rest": 0.2, "ttft_mean": 0.3},
				{"e2e_rest": 0.1},
				{"waiting_per_engine": 9},
				{"waiting_per_engine_mean": 9},
			},
			needs: []string{"ttft_p95", "ttft_mean", "waiting_per_engine"},
		},
		{
			diagnosis: "prefill-interference", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.03}),
			not: []map[string]float64{
				{"tpot_p95": 0.05},
				{"tpot_p50": 0.2},
				{"preemption_rate": 1},
				{"prompt_tokens_rate": 0},
			},
			needs: []string{"tpot_p95", "tpot_p50", "preemption_rate", "prompt_tokens_rate"},
		},
		{
			diagnosis: "big-decode-batch", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.2, "running": 500}),
			not:      []map[string]float64{{"tpot_p95": 0.05, "tpot_p50": 0.04}, {"tpot_p50": 0.04}, {"preemption_rate": 1}},
			needs:    []string{"tpot_p95", "tpot_p50", "preemption_rate", "running"},
		},
		{
			// Nothing in vLLM counts the clients that went away: it is inferred from what never finished.
			diagnosis: "client-timeouts", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"unfinished_ratio": 0.7, "tpot_p95": 0.2, "finished_rate": 0.5}),
			not: []map[string]float64{
				{"unfinished_ratio": 0.1}, {"tpot_p95": 0.03},
			},
		},
		{
			// Where vLLM does count them (its Rust front end), the ratio is enough.
			diagnosis: "client-timeouts", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"abort_ratio": 0.3, "ttft_p95": 40}),
			none:     []string{"unfinished_ratio"},
			not:      []map[string]float64{{"abort_ratio": 0.1, "unfinished_ratio": 0.1}},
			needs:    []string{"abort_ratio"},
		},
		{
			diagnosis: "cancels-without-overload", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"abort_ratio": 0.3}),
			not: []map[string]float64{
				{"abort_ratio": 0.05},
				{"error_ratio": 0.3},
				{"ttft_p95": 9},
				{"tpot_p95": 0.2},
				{"waiting_per_engine": 20, "waiting_per_engine_mean": 20},
			},
			needs: []string{"abort_ratio", "error_ratio", "ttft_p95", "tpot_p95", "waiting_per_engine"},
		},
		{
			diagnosis: "healthy-full-batch", alert: "KVCacheNearFull",
			readings: with(map[string]float64{"kv_usage": 0.97, "kv_usage_max": 0.97, "kv_usage_held": 0.97}),
			not: []map[string]float64{
				{"kv_usage_max": 0.9},
				{"preemption_rate": 0.1},
				{"waiting_mean": 3, "waiting_per_engine": 1.5, "waiting_per_engine_mean": 1.5},
				{"ttft_p95": 3},
				{"tpot_p95": 0.2},
			},
			needs: []string{"kv_usage_max", "preemption_rate", "waiting_mean", "ttft_p95", "tpot_p95"},
		},
		{
			diagnosis: "idle", alert: "LowThroughput",
			readings: with(map[string]float64{
				"running": 0, "requests_held": 0, "generation_tokens_rate": 0,
				"prompt_tokens_rate": 0,
			}),
			none: []string{"ttft_p95", "tpot_p95", "tpot_p50", "queue_time_p95", "prefill_p95"},
			not: []map[string]float64{
				{"running": 1},
				{"waiting": 1},
				{"generation_tokens_rate": 5},
				{"prompt_tokens_rate": 5},
			},
			needs: []string{"running", "waiting", "generation_tokens_rate", "prompt_tokens_rate"},
		},
		{
			diagnosis: "light-load", alert: "LowThroughput",
			readings: with(map[string]float64{"running": 2, "generation_tokens_rate": 40}),
			not: []map[string]float64{
				{"waiting_mean": 4, "waiting_per_engine": 2, "waiting_per_engine_mean": 2},
				{"generation_tokens_rate": 0},
				{"generation_tokens_rate": 100},
				{"ttft_p95": 3},
				{"tpot_p95": 0.2},
			},
			needs: []string{"waiting_mean", "generation_tokens_rate", "ttft_p95", "tpot_p95"},
		},
	}
}
