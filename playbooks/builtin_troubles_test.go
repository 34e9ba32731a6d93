package playbooks_test

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// troublesOfEngines are engines and replicas that fail.
func troublesOfEngines() []trouble {
	return []trouble{
		{
			diagnosis: "stalled", alert: "vLLMNotServing",
			readings: with(map[string]float64{
				"running": 12, "waiting": 30, "requests_held": 42, "generation_tokens_rate": 0,
				"prompt_tokens_rate": 0,
			}),
			none: []string{
				"ttft_p95", "tpot_p95", "tpot_p50", "queue_time_p95", "prefill_p95", "e2e_p95", "abort_ratio",
				"error_ratio", "unfinished_ratio",
			},
			not:   []map[string]float64{{"generation_tokens_rate": 3}, {"prompt_tokens_rate": 3}, {"requests_held": 0}},
			needs: []string{"generation_tokens_rate", "prompt_tokens_rate"},
		},
		{
			// The tokens are those of the pods that still serve.
			diagnosis: "stalled", alert: "vLLMNotServing",
			readings: with(map[string]float64{"stalled_pods": 6}),
			not:      []map[string]float64{{"stalled_pods": 1}},
		},
		{
			diagnosis: "engine-errors", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"error_ratio": 0.4, "abort_ratio": 0.4}),
			not:      []map[string]float64{{"error_ratio": 0.1}},
		},
		{
			// Refusals by vLLM's own queue limit are answers with 503, too, and no errors.
			diagnosis: "engine-errors", alert: "HighHTTP5xx",
			readings: with(map[string]float64{"http_5xx_ratio": 0.4}),
			not:      []map[string]float64{{"http_5xx_ratio": 0.1}, {"rejected_rate": 3}},
		},
		{
			diagnosis: "scattered-errors", alert: "HighErrorRate",
			readings: with(map[string]float64{"error_ratio": 0.05, "abort_ratio": 0.05}),
			not:      []map[string]float64{{"error_ratio": 0.01}},
		},
		{
			diagnosis: "scattered-errors", alert: "HighHTTP5xx",
			readings: with(map[string]float64{"http_5xx_ratio": 0.08}),
			not:      []map[string]float64{{"http_5xx_ratio": 0.01}, {"rejected_rate": 3}},
		},
		{
			diagnosis: "oom-at-batch-expansion", alert: "vLLMEngineDown",
			readings: with(nil),
			cluster: &incident.Cluster{
				Pods: []incident.Pod{{Name: "a", Ready: true}, {Name: "b"}},
				Crashes: []incident.Crash{{
					Pod: "b", At: at().Add(-5 * time.Minute), Reason: "Error", ExitCode: 1,
					OutOfMemory: "gpu",
				}},
			},
		},
		{
			diagnosis: "engine-dead", alert: "vLLMEngineDown",
			readings: with(map[string]float64{"engines_lost": 1}),
			cluster:  &incident.Cluster{Pods: []incident.Pod{{Name: "a", Ready: true}, {Name: "b", CrashLooping: true}}},
		},
		{
			// It came back; while it is young, it explains what is slow.
			diagnosis: "engine-dead", alert: "vLLMHighTTFT",
			readings: with(nil),
			cluster: &incident.Cluster{
				Pods:    []incident.Pod{{Name: "a", Ready: true, Started: at().Add(-24 * time.Hour)}},
				Crashes: []incident.Crash{{Pod: "a", At: at().Add(-4 * time.Minute), Reason: "OOMKilled", ExitCode: 137}},
			},
		},
		{
			diagnosis: "long-answers", alert: "HighE2ELatency",
			readings: with(map[string]float64{"e2e_p95": 60, "decode_p95": 58}),
			not: []map[string]float64{
				{"e2e_p95": 9},
				{"decode_p95": 20},
				{"ttft_p95": 3},
				{"tpot_p95": 0.2},
				{"waiting_per_engine": 9, "waiting_per_engine_mean": 9},
			},
			needs: []string{"e2e_p95", "ttft_p95", "tpot_p95", "waiting_per_engine"},
		},
		{
			// Without Kubernetes a pool that shrank is no death unless a target is there that can't be scraped.
			diagnosis: "engine-dead", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"engines_lost": 1, "targets_down": 1, "waiting": 30, "waiting_per_engine": 15,
				"waiting_per_engine_mean": 15, "ttft_p95": 6,
			}),
			not: []map[string]float64{{"targets_down": 0}},
		},
		{
			diagnosis: "engine-dead", alert: "vLLMRestarting",
			readings: with(map[string]float64{"engine_restarts_repeated": 3}),
			not:      []map[string]float64{{"engine_restarts_repeated": 1}},
		},
		{
			diagnosis: "engine-dead", alert: "vLLMRestarting",
			readings: with(map[string]float64{"engine_resets": 1}),
			not:      []map[string]float64{{"engine_resets": 0}},
		},
		{
			// Nine of ten requests go to one rank. What the other one has must be next to nothing.
			diagnosis: "uneven-ranks", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 40, "waiting_per_engine": 20, "waiting_per_engine_mean": 20, "ttft_p95": 3,
				"waiting_worst_rank": 39, "waiting_second_rank": 1,
			}),
			not: []map[string]float64{{"waiting_second_rank": 12}, {"waiting_worst_rank": 4}},
		},
		{
			diagnosis: "uneven-ranks", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{
				"tpot_p95": .06, "tpot_worst_rank": .08, "tpot_second_rank": .03,
				"tpot_mean_worst_rank": .05, "tpot_mean_second_rank": .02,
			}),
			not: []map[string]float64{
				{"tpot_second_rank": .052}, {"tpot_worst_rank": .05}, {"tpot_p95": .05}, {"tpot_mean_second_rank": .04},
			},
		},
		{
			diagnosis: "uneven-ranks", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{"ttft_p95": 3, "ttft_worst_rank": 6, "ttft_second_rank": .4}),
			not:      []map[string]float64{{"ttft_second_rank": 2}, {"ttft_worst_rank": .5}},
		},
		{
			// If the other rank stands still as well, it is the pod.
			diagnosis: "uneven-ranks", alert: "vLLMRankSlow",
			readings: with(map[string]float64{"stuck_worst_rank": 7, "stuck_second_rank": 0}),
			not:      []map[string]float64{{"stuck_worst_rank": 0}, {"stuck_second_rank": 3}},
		},
		{
			diagnosis: "mixed-versions", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{
				"tpot_p95": 0.06, "tpot_worst_pod": 0.08, "tpot_second_pod": 0.08, "tpot_mean_worst_pod": 0.06,
				"tpot_mean_second_pod": 0.06,
			}),
			versions: []incident.ServedVersion{
				{Version: "0.23.0", Pods: []string{"a", "b"}}, {Version: "0.24.0", Pods: []string{"c", "d"}},
			},
			pods: map[string][]incident.PodValue{
				"tpot_mean_pod_lately": {{Pod: "c", Value: 0.06}, {Pod: "d", Value: 0.06}, {Pod: "a", Value: 0.02}},
			},
			not: []map[string]float64{{"tpot_worst_pod": 0.04, "tpot_p95": 0.04}},
		},
		{
			diagnosis: "role-starved", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "waiting_mean": 60, "ttft_p95": 6,
			}),
			pods: map[string][]incident.PodValue{
				"running":            {{Pod: "p", Value: 1}, {Pod: "d", Value: 8}},
				"prefill_pods":       {{Pod: "p", Value: 1}, {Pod: "d", Value: 0}},
				"waiting":            {{Pod: "p", Value: 60}, {Pod: "d", Value: 0}},
				"waiting_worst_rank": {{Pod: "p", Rank: "0", Value: 60}, {Pod: "d", Rank: "0", Value: 0}},
				"kv_usage":           {{Pod: "p", Value: 0.1}, {Pod: "d", Value: 0.2}},
				"ttft_worst_pod":     {{Pod: "p", Value: 6}, {Pod: "d", Value: 0.1}},
			},
			not: []map[string]float64{{"prefix_hit_rate": .05, "prefix_hit_rate_usual": .5, "prompt_len_usual": 2000}},
		},
		{
			diagnosis: "one-bad-replica", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 40, "waiting_per_engine": 5, "waiting_per_engine_mean": 5,
				"waiting_worst_pod": 39, "waiting_second_pod": 1, "ttft_p95": 3,
			}),
			not: []map[string]float64{
				{"waiting_second_pod": 12}, {"waiting_worst_pod": 4}, {"kv_second_pod": 1},
			},
			needs: []string{"kv_second_pod"},
		},
		{
			diagnosis: "one-bad-replica", alert: "vLLMPodSlow",
			readings: with(map[string]float64{
				"tpot_worst_pod": 0.4, "tpot_second_pod": 0.04, "tpot_mean_worst_pod": 0.1, "tpot_mean_second_pod": 0.02,
			}),
			// Below twice the target one pod counts only where it puts the whole pool beyond the target. Percentiles differ by
			// chance where the means don't.
			not: []map[string]float64{{"tpot_second_pod": 0.2}, {"tpot_worst_pod": 0.08}, {"tpot_mean_second_pod": 0.07}},
		},
		{
			diagnosis: "one-bad-replica", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{
				"tpot_p95": 0.06, "tpot_worst_pod": 0.08, "tpot_second_pod": 0.03,
				"tpot_mean_worst_pod": 0.05, "tpot_mean_second_pod": 0.02,
			}),
			not: []map[string]float64{{"tpot_second_pod": 0.049}, {"tpot_worst_pod": 0.05}, {"tpot_p95": 0.05}},
		},
		{
			// A slow first token of one pod while the cache of another is full as well is load.
			diagnosis: "one-bad-replica", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{"ttft_p95": 3, "ttft_worst_pod": 6, "ttft_second_pod": 0.4}),
			not:      []map[string]float64{{"kv_second_pod": 0.98}, {"ttft_second_pod": 2}},
		},
		{
			// Requests are thrown out of one cache while the others are at most half as full.
			diagnosis: "one-bad-replica", alert: "vLLMRequestSwapping",
			readings: with(map[string]float64{
				"kv_usage": 0.5, "kv_usage_max": 1, "kv_usage_peak": 1, "kv_worst_pod": 1, "kv_second_pod": 0.3,
				"preemption_rate": 0.1,
			}),
			not: []map[string]float64{{"kv_second_pod": 0.97}, {"preemption_rate": 0}, {"kv_usage_max": 0.9}},
		},
		{
			diagnosis: "one-bad-replica", alert: "vLLMBadReplica",
			readings: with(map[string]float64{"stalled_pods": 1}),
			not:      []map[string]float64{{"stalled_pods": 0}, {"stalled_pods": 6}},
		},
	}
}

// troublesOfPrefill are waits before the first token, and what the hardware and the arguments allow.
func troublesOfPrefill() []trouble {
	return []trouble{
		{
			diagnosis: "deferred-waits", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"waiting": 40, "waiting_per_engine": 20, "waiting_per_engine_mean": 20,
				"waiting_worst_pod": 20, "waiting_second_pod": 20, "waiting_deferred": 36,
			}),
			not: []map[string]float64{
				{"waiting_deferred": 10},
				{"waiting": 6, "waiting_per_engine": 3, "waiting_per_engine_mean": 3, "waiting_deferred": 4},
			},
		},
		{
			diagnosis: "warming-up", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"ttft_p95": 4, "prefill_p95": 3, "engine_age": 300, "prefix_hit_rate": 0.1,
				"preemption_rate": 0.1,
			}),
			not: []map[string]float64{
				{"prompt_len_p95": 4000},
				{"engine_age": 3600},
				{"prefix_hit_rate": 0.5},
				{"prefix_hit_rate": 0.69, "prefix_hit_rate_usual": 0.78},
				{"ttft_p95": 0.4},
				{"waiting_per_engine": 9, "waiting_per_engine_mean": 9},
				{"preemption_rate": 1},
			},
			needs: []string{"ttft_p95", "waiting_per_engine", "preemption_rate", "finished_rate"},
		},
		{
			diagnosis: "prefix-cache-miss", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1, "preemption_rate": 0.1}),
			not: []map[string]float64{
				{"preemption_rate": 1},
				{"prefix_hit_rate": 0.4},
				{"prompt_len_p95": 4000},
				{"ttft_p95": 0.4},
				{"waiting_per_engine": 9, "waiting_per_engine_mean": 9},
			},
			needs: []string{"ttft_p95", "waiting_per_engine", "preemption_rate", "finished_rate"},
		},
		{
			diagnosis: "nixl-transfer-failing", alert: "NixlTransferFailing",
			readings: with(map[string]float64{"nixl_failed_rate": 0.2, "error_ratio": 0.3}),
			not:      []map[string]float64{{"nixl_failed_rate": 0}, {"nixl_failed_rate": 0.01}},
		},
		{
			diagnosis: "slow-kv-offload", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"ttft_p95": 6, "ttft_p95_lately": 6, "ttft_mean": 3, "nixl_xfer_mean": 2.5, "queue_time_mean": 2.6,
			}),
			not: []map[string]float64{
				{"ttft_p95": 0.4},
				{"ttft_p95_lately": 0.4},
				{"nixl_xfer_mean": 1.4},
				{"ttft_mean": 0.3, "nixl_xfer_mean": 0.2},
			},
			needs: []string{"ttft_p95", "ttft_mean"},
		},
		{
			// The connector has no times, and the engine no reasons for what waits.
			diagnosis: "slow-kv-offload", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{
				"ttft_p95": 6, "ttft_mean": 3, "queue_time_mean": 2.6, "external_hit_share": 0.6, "waiting_mean": 9,
				"waiting_lately": 9, "kv_usage_max": 0.4, "running_per_engine": 6, "running_peak_usual": 9,
				"kv_capacity": 400000,
			}),
			not: []map[string]float64{
				{"queue_time_mean": 1},
				{"external_hit_share": 0.1},
				{"waiting_mean": 0.5},
				{"waiting_lately": 0},
				{"kv_usage_max": 0.9},
				{"running_per_engine": 9},
				{"lora_slots": 1},
				{"waiting": 9, "waiting_deferred": 2},
				{"nixl_xfer_mean": 0.03},
			},
			needs: []string{"ttft_p95", "ttft_mean", "queue_time_mean", "running_per_engine"},
		},
		{
			diagnosis: "nixl-lease-expiring", alert: "NixlLeaseExpired",
			readings: with(map[string]float64{"nixl_expired_rate": 0.2}),
			not:      []map[string]float64{{"nixl_expired_rate": 0}},
		},
		{
			diagnosis: "prefill-starvation", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"ttft_p95": 8, "waiting": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "waiting_worst_pod": 31,
				"waiting_second_pod": 29, "queue_time_p95": 7, "running_per_engine": 300,
			}),
			cluster: &incident.Cluster{Args: map[string]float64{"max_num_batched_tokens": 512}},
			not: []map[string]float64{
				{"running_per_engine": 40},
				{"tpot_p50": 0.2},
				{"waiting_per_engine": 9, "waiting_per_engine_mean": 9},
				{"ttft_p95": 4},
			},
			needs: []string{"ttft_p95", "tpot_p50", "waiting_per_engine"},
		},
		{
			diagnosis: "prefill-saturation", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{
				"ttft_p95": 12, "waiting": 16, "waiting_per_engine": 8, "waiting_per_engine_mean": 8, "waiting_worst_pod": 9,
				"waiting_second_pod": 7, "queue_time_p95": 6, "prefill_p95": 5, "kv_usage": 0.32,
			}),
			not: []map[string]float64{
				{"kv_usage": 0.9},
				{"prefill_p95": 0.3},
				{"waiting_per_engine": 5, "waiting_per_engine_mean": 5},
				{"preemption_rate": 1},
			},
			needs: []string{"ttft_p95", "waiting_per_engine", "kv_usage", "prefill_p95", "preemption_rate"},
		},
		{
			diagnosis: "batch-capped", alert: "GPUUnderutilized",
			readings: with(map[string]float64{
				"waiting": 4, "waiting_per_engine": 2, "waiting_per_engine_mean": 2,
				"running_per_engine": 16, "kv_usage": 0.2, "gpu_util": 0.3,
			}),
			cluster: &incident.Cluster{Args: map[string]float64{"max_num_seqs": 16}},
			not: []map[string]float64{
				{"gpu_util": 0.9},
				{"running_per_engine": 8},
				{"kv_usage": 0.8},
				{"waiting": 0, "waiting_per_engine": 0, "waiting_per_engine_mean": 0},
			},
		},
		{
			diagnosis: "gpu-underutilised", alert: "GPUUnderutilized",
			readings: with(map[string]float64{"running": 6, "running_per_engine": 3, "gpu_util": 0.1}),
			not: []map[string]float64{
				{"gpu_util": 0.6},
				{"running_per_engine": 9},
				{"waiting": 5},
				{"ttft_p95": 6},
				{"tpot_p95": 0.2},
			},
			needs: []string{"ttft_p95", "tpot_p95"},
		},
		{
			diagnosis: "memory-leak", alert: "vLLMMemoryGrowing",
			readings: with(map[string]float64{"rss_growth": 0.2}),
			not:      []map[string]float64{{"rss_growth": 0.01}},
		},
		{
			diagnosis: "gpu-memory-by-design", alert: "GPUMemoryHigh",
			readings: with(map[string]float64{"gpu_memory_used": 0.95, "gpu_memory_growth": 0}),
			not:      []map[string]float64{{"gpu_memory_used": 0.5}, {"gpu_memory_growth": 0.05}, {"rss_growth": 0.1}},
		},
		{
			diagnosis: "spec-decode-unprofitable", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{
				"tpot_p95": 0.2, "tpot_p50": 0.1, "spec_acceptance": 0.2,
				"spec_acceptance_usual": 0.7,
			}),
			not: []map[string]float64{{"spec_acceptance": 0.6}},
		},
	}
}
