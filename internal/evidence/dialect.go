package evidence

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Dialect is how one Prometheus spells vLLM's metrics for one pool. The zero Dialect is the canonical one, with nothing
// known about which metrics exist.
type Dialect struct {
	// Prefix is "vllm:", "vllm_", "ray_vllm_" and the like. Empty means canonical, unless Bare.
	Prefix string
	// Bare says that there is no prefix at all: NVIDIA NIM's own names.
	Bare bool
	// Generation is empty when nothing is known.
	Generation vllm.Generation
	// podLabel is the label that tells pods apart: "pod", or "instance" where the scrape gives none. Empty: unknown.
	podLabel string
	// names are the vLLM metrics seen, each histogram as its _count. Nil: unknown.
	names map[string]bool
	// series is how many series each has. Nil: unknown.
	series map[string]float64
	// buckets are the finite bucket bounds seen, by the histogram's spelled name without suffix.
	buckets map[string]edges
}

// DialectOf chooses the dialect by the metric names that exist. ok is false when none of them is vLLM's.
func DialectOf(names []string) (d Dialect, ok bool) {
	d.names = make(map[string]bool, len(names))
	for _, n := range names {
		d.names[n] = true
	}
	best := 0
	for _, prefix := range vllm.Prefixes() {
		count := 0
		for _, base := range vllm.Telling() {
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
		for _, base := range vllm.Telling() {
			if d.has(base) {
				best++
			}
		}
		if d.Bare = best > 1; !d.Bare {
			return Dialect{}, false
		}
	}
	d.Generation = vllm.GenerationOf(func(base string) bool { return d.has(d.prefix() + base) })
	return d, true
}

// has says whether the metric exists, a histogram by its count.
func (d Dialect) has(name string) bool { return d.names[name] || d.names[name+"_count"] }

// prefix is Prefix or the canonical one.
func (d Dialect) prefix() string {
	if d.Bare {
		return ""
	}
	if d.Prefix == "" {
		return vllm.CanonicalPrefix
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
	case vllm.CanonicalPrefix:
		return "vLLM " + string(d.Generation) + " names " + shape
	case "vllm_":
		return "underscore names " + shape + ", vLLM " + string(d.Generation)
	case "ray_vllm_", "ray_vllm:":
		return "Ray Serve names " + shape + ", vLLM " + string(d.Generation)
	default:
		return "relabelled names " + shape + ", vLLM " + string(d.Generation)
	}
}

// spell returns the dialect's name for a metric; the metric may be written in any dialect. Foreign metrics and
// recording rules stay as they are.
func (d Dialect) spell(name string) string {
	canonical, ok := vllm.Canonical(name)
	if !ok {
		return name
	}
	base, suffix := vllm.SplitSeries(strings.TrimPrefix(canonical, vllm.CanonicalPrefix))
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

// instead is the name under which this Prometheus has a metric whose usual name it has not; else the usual one.
func (d Dialect) instead(base, spelled string) string {
	names := vllm.OtherNames(d.prefix(), base, d.Bare)
	if i := slices.IndexFunc(names, d.has); i >= 0 {
		return names[i]
	}
	return spelled
}

// count is how many series a metric has, a histogram those of its count.
func (d Dialect) count(name string) float64 { return max(d.series[name], d.series[name+"_count"]) }

// absent lists those of the spelled metrics that are vLLM's and that were not seen; nil when nothing is known.
func (d Dialect) absent(spelled []string) []string {
	if d.names == nil {
		return nil
	}
	var out []string
	for _, name := range spelled {
		base, _ := vllm.SplitSeries(name)
		if _, own := vllm.BareName(name); own && !d.has(base) && !d.has(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
