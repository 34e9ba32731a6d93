package vllm

import (
	"slices"
	"strings"
)

// Spelling is one way in which vLLM's metrics are found in a Prometheus, to write series in: the other direction
// of reading a dialect.
type Spelling struct {
	// Name is what people call it: "vllm", "underscore", "ray".
	Name string
	// Who says where it is found.
	Who string

	// Prefix is empty for NVIDIA NIM, whose names have none.
	Prefix     string
	Generation Generation
}

// Spellings are the ways of every dialect that is recognised, today's own names first.
func Spellings() []Spelling {
	return []Spelling{
		{Name: "vllm", Who: "vLLM 0.10.2 and later", Prefix: CanonicalPrefix, Generation: V1},
		{Name: "vllm-0.10", Who: "vLLM 0.9.2 to 0.10.1", Prefix: CanonicalPrefix, Generation: V1Middle},
		{Name: "vllm-0.9", Who: "vLLM before 0.9.2, V1 engine", Prefix: CanonicalPrefix, Generation: V1Early},
		{Name: "vllm-v0", Who: "vLLM's V0 engine", Prefix: CanonicalPrefix, Generation: V0},
		{Name: "underscore", Who: "OTLP, older collectors and relabelling: vllm_", Prefix: "vllm_", Generation: V1},
		{Name: "ray", Who: "Ray Serve: ray_vllm_", Prefix: "ray_vllm_", Generation: V1},
		{Name: "ray-colon", Who: "Ray Serve before 2025-09-26: ray_vllm:", Prefix: "ray_vllm:", Generation: V1},
		{Name: "kserve", Who: "KServe's relabelled twins: kserve_vllm:", Prefix: "kserve_vllm:", Generation: V1},
		{Name: "nim", Who: "NVIDIA NIM: no prefix", Prefix: "", Generation: V0},
	}
}

// Spell writes a metric in this way, which may be given in any other. ok is false when it does not exist there. A
// metric that is not vLLM's stays as it is.
func (s Spelling) Spell(metric string) (name string, ok bool) {
	canonical, isVLLM := Canonical(metric)
	if !isVLLM {
		return metric, true
	}
	base, suffix := SplitSeries(strings.TrimPrefix(canonical, CanonicalPrefix))
	base, has := nameIn(s.Generation, base)
	switch {
	case !has:
		return "", false
	case s.Prefix != "":
		return s.Prefix + base + suffix, true
	}
	base = strings.Replace(base, finished, nimFinished, 1)
	return base + suffix, slices.Contains(bareNames(), base)
}
