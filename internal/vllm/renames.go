package vllm

import "slices"

// Generation says which engine and age a server's metric names are of (vLLM's own history of renames).
type Generation string

// The generations.
const (
	// V1 is what vLLM exports today.
	V1 Generation = "V1"
	// V1Middle is 0.9.2 to 0.10.1: the cache is kv_, the time between tokens is still time_per_output_token_seconds.
	V1Middle Generation = "V1 of 0.9.2 to 0.10.1"
	// V1Early is the V1 engine before 0.9.2: gpu_cache_usage_perc, gpu_prefix_cache_*.
	V1Early Generation = "V1 before 0.9.2"
	// V0 is the engine that was removed in 0.11.
	V0 Generation = "V0"
)

// has says whether servers of this generation know what came with another one.
func (g Generation) has(from Generation) bool {
	order := []Generation{V0, V1Early, V1Middle, V1}
	return slices.Index(order, g) >= slices.Index(order, from)
}

// GenerationOf tells the generation by the names that exist, without prefix and histograms without suffix.
func GenerationOf(has func(base string) bool) Generation {
	switch {
	case has("kv_cache_usage_perc") && !has("inter_token_latency_seconds") && has("time_per_output_token_seconds"):
		return V1Middle
	case has("kv_cache_usage_perc"), has("inter_token_latency_seconds"):
		return V1
	case has("gpu_prefix_cache_queries_total"):
		return V1Early
	case has("gpu_cache_usage_perc"):
		return V0
	}
	return V1
}

// Telling are the metrics by which a prefix is recognized: every vLLM since 0.3 exports them.
func Telling() []string {
	return []string{
		"num_requests_running", "num_requests_waiting", "time_to_first_token_seconds", "prompt_tokens_total",
		"generation_tokens_total", "kv_cache_usage_perc", "gpu_cache_usage_perc",
	}
}

// Rename is a metric that has another name now; the samples are the same. Names are without prefix.
type Rename struct {
	Old, New string
	// Since is the version that brought the new name, Removed the one that dropped the old one.
	Since, Removed string
	// From is the first generation that has the new name.
	From Generation
}

// Renames is the table: what reads metrics, what writes them for tests and what examines alert rules is derived from
// it. Sources: vLLM commits d1e34cc9ac (0.9.2), 2942970d44, 9cf4edae6e (0.12), 2417798471 (0.10.2), bb9172030e (0.15).
func Renames() []Rename {
	return []Rename{
		{"gpu_cache_usage_perc", "kv_cache_usage_perc", "0.9.2", "0.12", V1Middle},
		{"gpu_prefix_cache_queries_total", "prefix_cache_queries_total", "0.9.2", "0.12", V1Middle},
		{"gpu_prefix_cache_hits_total", "prefix_cache_hits_total", "0.9.2", "0.12", V1Middle},
		{"time_per_output_token_seconds", "inter_token_latency_seconds", "0.10.2", "0.15", V1},
	}
}

// OlderName is what a metric was called before it was renamed, by its name without prefix.
func OlderName(base string) (old string, renamed bool) {
	for _, r := range Renames() {
		if r.New == base {
			return r.Old, true
		}
	}
	return "", false
}

// newerName is what a metric is called now; a name that was never changed stays.
func newerName(base string) string {
	for _, r := range Renames() {
		if r.Old == base {
			return r.New
		}
	}
	return base
}

// nameIn is what servers of a generation call a metric; has is false when they do not have it.
func nameIn(g Generation, base string) (name string, has bool) {
	for _, r := range Renames() {
		if r.New == base && !g.has(r.From) {
			// The V0 engine had rates of its prefix cache, no counters.
			return r.Old, g != V0 || base != "prefix_cache_queries_total" && base != "prefix_cache_hits_total"
		}
	}
	return base, true
}
