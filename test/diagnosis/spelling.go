package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// spelling is how a dialect writes metrics.
type spelling struct {
	dialect string
	prefix  string
	// engine says that series carry the data-parallel rank.
	engine bool
	// server says that the API server's own metrics are scraped too.
	server bool
	// only are the metrics that exist; nil: all.
	only []string
	// renamed are names that differ in more than the prefix.
	renamed map[string]string
}

func (inc *Incident) spelling() spelling {
	e := inc.edition()
	s := spelling{dialect: inc.Dialect, prefix: "vllm:", engine: e.from(8, 3) && !e.v0, server: e.from(8, 3)}
	switch inc.Dialect {
	case underscore:
		s.prefix = "vllm_"
	case ray:
		s.prefix, s.server = "ray_vllm_", false
	case rayColon:
		s.prefix, s.server = "ray_vllm:", false
	case nim:
		s.prefix, s.engine, s.server = "", false, false
		s.only = []string{
			"num_requests_running", "num_requests_waiting", "gpu_cache_usage_perc", "prompt_tokens_total",
			"generation_tokens_total",
			"time_to_first_token_seconds", "time_per_output_token_seconds", "e2e_request_latency_seconds",
			"request_prompt_tokens",
			"request_generation_tokens", "request_success_total",
		}
		s.renamed = map[string]string{"request_success_total": "request_finish_total"}
	case simulator:
		s.engine, s.server = false, false
		s.only = []string{
			"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prompt_tokens_total",
			"generation_tokens_total",
			"time_to_first_token_seconds", "time_per_output_token_seconds", "inter_token_latency_seconds",
			"e2e_request_latency_seconds",
			"request_queue_time_seconds", "request_inference_time_seconds", "request_prefill_time_seconds",
			"request_decode_time_seconds",
			"request_prompt_tokens", "request_generation_tokens", "request_params_max_tokens",
			"request_max_num_generation_tokens",
			"request_success_total", "cache_config_info", "prefix_cache_hits", "prefix_cache_queries_total",
			"lora_requests_info",
		}
	}
	return s
}

func (s spelling) exports(c column) bool {
	if s.only == nil {
		return true
	}
	base := c.name
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return slices.Contains(s.only, base)
}

func (s spelling) name(c column) string {
	if to, ok := s.renamed[c.name]; ok {
		return s.prefix + to
	}
	return s.prefix + c.name
}

func (s spelling) labels(c column, rank string, pod int) []string {
	out := slices.Clone(c.extra)
	if c.model {
		out = append(out, "model_name", model)
	}
	if s.engine && (c.model || c.name == "cache_config_info") {
		out = append(out, "engine", rank)
	}
	if s.dialect == ray || s.dialect == rayColon {
		out = append(out, "WorkerId", fmt.Sprintf("%032x", seed("worker"+strconv.Itoa(pod))), "SessionName",
			"session_2026-11-15_08-12-44_120031_1",
			"Component", "core_worker", "Version", "2.49.1", "NodeAddress", fmt.Sprintf("10.42.0.%d", 17+pod))
		if s.dialect == ray {
			out = append(out, "ReplicaId", fmt.Sprintf("%08x", uint32(seed("replica"+strconv.Itoa(pod)))))
		}
	}
	return out
}
