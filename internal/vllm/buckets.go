package vllm

import (
	"slices"
	"strings"
)

// LatencyPattern is a regular expression for the bucket series, without prefix, of the histograms that percentiles are
// read from.
const LatencyPattern = "((time_to_first_token|inter_token_latency|time_per_output_token|" +
	"request_time_per_output_token|e2e_request_latency|request_queue_time|request_prefill_time|request_decode_time|" +
	"request_inference_time)_seconds|request_(prompt|generation)_tokens)_bucket"

// Bounds are the finite bucket bounds of one of vLLM's histograms (vllm/v1/metrics/loggers.py), written in any dialect;
// nil when it has none of that name. early asks for those of vLLM before 0.8.4, which end earlier (commit 86fc2321ff).
func Bounds(metric string, early bool) []float64 {
	canonical, _ := Canonical(metric)
	switch strings.TrimPrefix(canonical, CanonicalPrefix) {
	case "time_to_first_token_seconds":
		return until(10, early, []float64{
			.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
		})
	case "inter_token_latency_seconds", "request_time_per_output_token_seconds":
		return until(2.5, early, []float64{
			.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
		})
	case "e2e_request_latency_seconds", "request_queue_time_seconds", "request_prefill_time_seconds",
		"request_decode_time_seconds", "request_inference_time_seconds":
		return until(60, early, []float64{
			.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
		})
	case "iteration_tokens_total":
		return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	case "request_prompt_tokens", "request_generation_tokens", "request_max_num_generation_tokens",
		"request_params_max_tokens", "request_prefill_kv_computed_tokens":
		// 1, 2, 5 times powers of ten up to max_model_len; here that of a model with 128 Ki.
		return []float64{
			1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
		}
	default:
		return nil
	}
}

func until(last float64, early bool, bounds []float64) []float64 {
	if !early {
		return bounds
	}
	return slices.DeleteFunc(bounds, func(b float64) bool { return b > last })
}
