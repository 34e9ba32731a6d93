package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// The canonical prefix, as vLLM itself exports it and as signals are written.
const canonicalPrefix = "vllm:"

// Generation says which engine and age the metric names are of (vLLM's own history of renames).
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

// Dialect is how one Prometheus spells vLLM's metrics for one pool. The zero Dialect is the canonical one, with nothing known about which
// metrics exist.
type Dialect struct {
	// Prefix is "vllm:", "vllm_", "ray_vllm_" and the like. Empty means canonical, unless Bare.
	Prefix string
	// Bare says that there is no prefix at all: NVIDIA NIM's own names.
	Bare bool
	// Generation is empty when nothing is known.
	Generation Generation
	// podLabel is the label that tells pods apart: "pod", or "instance" where the scrape gives none. Empty: unknown.
	podLabel string
	// names are the vLLM metrics seen, each histogram as its _count. Nil: unknown.
	names map[string]bool
	// series is how many series each has. Nil: unknown.
	series map[string]float64
	// buckets are the finite bucket bounds seen, by the histogram's spelled name without suffix.
	buckets map[string]edges
}

// prefixes in order of preference: vLLM's own before relabelled twins (a KServe on Open Data Hub scrapes both).
func prefixes() []string {
	return []string{canonicalPrefix, "vllm_", "ray_vllm_", "ray_vllm:", "kserve_vllm:", "kserve_vllm_"}
}

// olderName is what a metric was called before it was renamed, by its name after the prefix. The samples are the same.
// Sources: vLLM commits d1e34cc9ac (0.9.2), 2942970d44, 9cf4edae6e, 2417798471 (0.10.2), bb9172030e (0.15).
func olderName(base string) (string, bool) {
	switch base {
	case "kv_cache_usage_perc":
		return "gpu_cache_usage_perc", true
	case "prefix_cache_queries_total":
		return "gpu_prefix_cache_queries_total", true
	case "prefix_cache_hits_total":
		return "gpu_prefix_cache_hits_total", true
	case "inter_token_latency_seconds":
		return "time_per_output_token_seconds", true
	}
	return "", false
}

// newerName is the inverse of olderName.
func newerName(base string) string {
	for _, current := range []string{"kv_cache_usage_perc", "prefix_cache_queries_total", "prefix_cache_hits_total", "inter_token_latency_seconds"} {
		if old, _ := olderName(current); old == base {
			return current
		}
	}
	return base
}

// telling are the metrics by which a prefix is recognised: every vLLM since 0.3 exports them.
func telling() []string {
	return []string{
		"num_requests_running", "num_requests_waiting", "time_to_first_token_seconds", "prompt_tokens_total", "generation_tokens_total",
		"kv_cache_usage_perc", "gpu_cache_usage_perc",
	}
}

// DialectOf chooses the dialect by the metric names that exist. ok is false when none of them is vLLM's.
func DialectOf(names []string) (d Dialect, ok bool) {
	d.names = make(map[string]bool, len(names))
	for _, n := range names {
		d.names[n] = true
	}
	best := 0
	for _, prefix := range prefixes() {
		count := 0
		for _, base := range telling() {
			if d.has(prefix + base) {
				count++
			}
		}
		if count > best { // equal counts keep the preferred prefix
			best, d.Prefix = count, prefix
		}
	}
	if best == 0 {
		// One name without a prefix could be anybody's.
		for _, base := range telling() {
			if d.has(base) {
				best++
			}
		}
		if d.Bare = best > 1; !d.Bare {
			return Dialect{}, false
		}
	}
	d.Generation = d.generation()
	return d, true
}

func (d Dialect) generation() Generation {
	has := func(base string) bool { return d.has(d.prefix() + base) }
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

// has says whether the metric exists, a histogram by its count.
func (d Dialect) has(name string) bool { return d.names[name] || d.names[name+"_count"] }

// prefix is Prefix or the canonical one.
func (d Dialect) prefix() string {
	if d.Bare {
		return ""
	}
	if d.Prefix == "" {
		return canonicalPrefix
	}
	return d.Prefix
}

// String says in a person's words which names are used; empty when nothing is known.
func (d Dialect) String() string {
	if d.Generation == "" {
		return ""
	}
	shape := "(" + d.prefix() + "...)"
	switch d.prefix() {
	case "":
		return "NVIDIA NIM names (without a prefix), vLLM " + string(d.Generation)
	case canonicalPrefix:
		return "vLLM " + string(d.Generation) + " names " + shape
	case "vllm_":
		return "underscore names " + shape + ", vLLM " + string(d.Generation)
	case "ray_vllm_", "ray_vllm:":
		return "Ray Serve names " + shape + ", vLLM " + string(d.Generation)
	default:
		return "relabelled names " + shape + ", vLLM " + string(d.Generation)
	}
}

// spell returns the dialect's name for a metric; the metric may be written in any dialect. Foreign metrics and recording rules stay as they
// are.
func (d Dialect) spell(name string) string {
	canonical, ok := Canonical(name)
	if !ok {
		return name
	}
	base, suffix := splitSuffix(strings.TrimPrefix(canonical, canonicalPrefix))
	if d.Bare && !d.has(base) && d.instead(base, "") == "" {
		return canonical // NIM does not have it, and without a prefix it could be anybody's
	}
	spelled := d.prefix() + base
	if !d.has(spelled) {
		spelled = d.instead(base, spelled)
	}
	if !d.has(spelled) && (d.names[name] || d.names[strings.TrimSuffix(name, suffix)+"_count"]) {
		return name // not vLLM's, but somebody's recording rule of that name
	}
	return spelled + suffix
}

// instead is the name under which this Prometheus has a metric whose usual name it has not; else the usual one. Beside renamed metrics these are NIM's
// count of finished requests, and counters without their suffix as llm-d-inference-sim wrote them until 2026-08 (llm-d-inference-sim#615).
func (d Dialect) instead(base, spelled string) string {
	var names []string
	if old, renamed := olderName(base); renamed {
		names = append(names, d.prefix()+old)
	}
	if d.Bare && base == "request_success_total" {
		names = append(names, "request_finish_total")
	}
	if plain, counter := strings.CutSuffix(base, "_total"); counter {
		names = append(names, d.prefix()+plain)
	}
	if i := slices.IndexFunc(names, d.has); i >= 0 {
		return names[i]
	}
	return spelled
}

// mixed says which of the spelled metrics some engines of the pool export under the older name only: a rollout of a new vLLM under way. They are missing
// in the value then.
func (d Dialect) mixed(spelled []string) string {
	engines := d.count(d.prefix() + "num_requests_running")
	for _, name := range spelled {
		base, _ := splitSuffix(name)
		old, renamed := olderName(strings.TrimPrefix(base, d.prefix()))
		if !renamed || !d.has(d.prefix()+old) {
			continue
		}
		if have := d.count(base); have > 0 && have < engines {
			return fmt.Sprintf("%g of %g engines export %s, the others still %s: they are not in this value", have, engines, base, d.prefix()+old)
		}
	}
	return ""
}

// count is how many series a metric has, a histogram those of its count.
func (d Dialect) count(name string) float64 { return max(d.series[name], d.series[name+"_count"]) }

// Canonical returns today's name of a vLLM metric written in any dialect. ok is false for anything else.
func Canonical(name string) (canonical string, ok bool) {
	bare, ok := bareName(name)
	if !ok {
		return "", false
	}
	base, suffix := splitSuffix(bare)
	return canonicalPrefix + newerName(base) + suffix, true
}

// bareName is what follows a dialect's prefix. A name with a colon inside is a recording rule and not vLLM's.
func bareName(name string) (bare string, ok bool) {
	for _, prefix := range prefixes() {
		bare, ok := strings.CutPrefix(name, prefix)
		if ok && bare != "" && !strings.Contains(bare, ":") {
			return bare, true
		}
	}
	if base, _ := splitSuffix(name); slices.Contains(bareNames(), base) {
		return strings.Replace(name, "request_finish_total", "request_success_total", 1), true
	}
	return "", false
}

// bareNames are vLLM's metrics as NVIDIA NIM exports them (docs.nvidia.com/nim, observability). A closed list: without a prefix any other name could be
// anybody's.
func bareNames() []string {
	return []string{
		"num_requests_running", "num_requests_waiting", "gpu_cache_usage_perc", "time_to_first_token_seconds", "time_per_output_token_seconds",
		"e2e_request_latency_seconds", "prompt_tokens_total", "generation_tokens_total", "request_finish_total", "request_prompt_tokens",
		"request_generation_tokens", "num_request_max",
	}
}

// splitSuffix separates a histogram's series suffix.
func splitSuffix(name string) (base, suffix string) {
	for _, s := range []string{"_bucket", "_sum", "_count"} {
		if b, ok := strings.CutSuffix(name, s); ok {
			return b, s
		}
	}
	return name, ""
}

// absent lists those of the spelled metrics that are vLLM's and that were not seen; nil when nothing is known.
func (d Dialect) absent(spelled []string) []string {
	if d.names == nil {
		return nil
	}
	var out []string
	for _, name := range spelled {
		base, _ := splitSuffix(name)
		if _, vllm := bareName(name); vllm && !d.has(base) && !d.has(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
