package fleet

import "slices"

// histogram is a classic histogram. The zero value has no bucket but +Inf.
type histogram struct {
	bounds []float64 // ascending, without +Inf
	counts []uint64  // by bound, not cumulative; above the last one is only in count
	sum    float64
	count  uint64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds))}
}

// observe counts v into the first bucket whose bound is not below it.
func (h *histogram) observe(v float64) { h.observeMany(v, 1) }

func (h *histogram) observeMany(v float64, n uint64) {
	if n == 0 {
		return
	}
	if i, _ := slices.BinarySearch(h.bounds, v); i < len(h.counts) {
		h.counts[i] += n
	}
	h.sum += v * float64(n)
	h.count += n
}

// cumulative returns the buckets as Prometheus counts them.
func (h *histogram) cumulative() map[float64]uint64 {
	out := make(map[float64]uint64, len(h.bounds))
	var total uint64
	for i, bound := range h.bounds {
		total += h.counts[i]
		out[bound] = total
	}
	return out
}
