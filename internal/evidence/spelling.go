package evidence

import (
	"slices"
	"strings"
)

// Spelling is one way in which vLLM's metrics are found in a Prometheus, to write series in: the other direction of a Dialect.
type Spelling struct {
	// Name is what people call it: "vllm", "underscore", "ray".
	Name string
	// Who says where it is found.
	Who string

	prefix     string
	generation Generation
}

// Spellings are the ways of every dialect that is recognised, today's own names first.
func Spellings() []Spelling {
	return []Spelling{
		{Name: "vllm", Who: "vLLM 0.10.2 and later", prefix: canonicalPrefix, generation: V1},
		{Name: "vllm-0.10", Who: "vLLM 0.9.2 to 0.10.1", prefix: canonicalPrefix, generation: V1Middle},
		{Name: "vllm-0.9", Who: "vLLM before 0.9.2, V1 engine", prefix: canonicalPrefix, generation: V1Early},
		{Name: "vllm-v0", Who: "vLLM's V0 engine", prefix: canonicalPrefix, generation: V0},
		{Name: "underscore", Who: "OTLP, older collectors and relabelling: vllm_", prefix: "vllm_", generation: V1},
		{Name: "ray", Who: "Ray Serve: ray_vllm_", prefix: "ray_vllm_", generation: V1},
		{Name: "ray-colon", Who: "Ray Serve before 2025-09-26: ray_vllm:", prefix: "ray_vllm:", generation: V1},
		{Name: "kserve", Who: "KServe's relabelled twins: kserve_vllm:", prefix: "kserve_vllm:", generation: V1},
		{Name: "nim", Who: "NVIDIA NIM: no prefix", prefix: "", generation: V0},
	}
}

// Spell writes a metric in this way, which may be given in any other. ok is false when it does not exist there. A metric that is not vLLM's stays as
// it is.
func (s Spelling) Spell(metric string) (name string, ok bool) {
	canonical, isVLLM := Canonical(metric)
	if !isVLLM {
		return metric, true
	}
	base, suffix := splitSuffix(strings.TrimPrefix(canonical, canonicalPrefix))
	old, renamed := olderName(base)
	switch {
	case s.generation == V0 && strings.HasPrefix(base, "prefix_cache_"):
		return "", false
	case renamed && (s.generation != V1Middle && s.generation != V1 || s.generation == V1Middle && base == "inter_token_latency_seconds"):
		base = old
	}
	if s.prefix != "" {
		return s.prefix + base + suffix, true
	}
	base = strings.Replace(base, "request_success_total", "request_finish_total", 1)
	return base + suffix, slices.Contains(bareNames(), base)
}
