package diagnosis

import (
	"math"
	"slices"
)

// tape is what one engine recorded, by scrape: increments of counters and histograms, and levels of gauges.
type tape struct {
	steps    int
	interval float64
	epochs   []epoch
	counters map[string][]float64
	levels   map[string][]float64
	tallies  map[string]*tally
}

// tally is a histogram by scrape. Observations are whole, or parts of one where many of a kind fall into a scrape.
type tally struct {
	bounds  []float64
	buckets [][]float64 // by bound, the last one +Inf; increments by step, not cumulative over bounds
	sum     []float64
}

func newTape(steps int, interval float64, epochs []epoch) *tape {
	return &tape{
		steps: steps, interval: interval, epochs: epochs, counters: map[string][]float64{}, levels: map[string][]float64{},
		tallies: map[string]*tally{},
	}
}

// step is the first scrape that sees what happened at t; false when no scrape does.
func (tp *tape) step(t float64) (int, bool) {
	if t > float64(tp.steps)*tp.interval {
		return tp.steps, false
	}
	n := int(math.Ceil(t / tp.interval))
	return max(n, 0), n < tp.steps
}

func (tp *tape) add(name string, t, n float64) {
	c := tp.counters[name]
	if c == nil {
		c = make([]float64, tp.steps)
		tp.counters[name] = c
	}
	if i, ok := tp.step(t); ok {
		c[i] += n
	}
}

// spreadOver adds n evenly over a time.
func (tp *tape) spreadOver(name string, from, to, n float64) {
	if to <= from || n <= 0 {
		return
	}
	for t := from; t < to && t < float64(tp.steps)*tp.interval; {
		next := min(to, (math.Floor(t/tp.interval)+1)*tp.interval)
		tp.add(name, next-1e-9, n*(next-t)/(to-from))
		t = next
	}
}

func (tp *tape) tally(name string, bounds []float64) *tally {
	h := tp.tallies[name]
	if h == nil {
		h = &tally{bounds: bounds, buckets: make([][]float64, len(bounds)+1), sum: make([]float64, tp.steps)}
		for i := range h.buckets {
			h.buckets[i] = make([]float64, tp.steps)
		}
		tp.tallies[name] = h
	}
	return h
}

func (tp *tape) observe(name string, bounds []float64, t, value, n float64) {
	h := tp.tally(name, bounds)
	i, ok := tp.step(t)
	if !ok || n <= 0 {
		return
	}
	b, _ := slices.BinarySearch(bounds, value)
	h.buckets[b][i] += n
	h.sum[i] += value * n
}

// observeMix adds n observations of a distribution at once.
func (tp *tape) observeMix(name string, bounds []float64, step int, m mix, n float64) {
	h := tp.tally(name, bounds)
	before := 0.0
	for b, bound := range bounds {
		below := m.below(bound)
		h.buckets[b][step] += n * (below - before)
		before = below
	}
	h.buckets[len(bounds)][step] += n * (1 - before)
	h.sum[step] += n * m.mean()
}

// level counts one more in a gauge from one time to another.
func (tp *tape) level(name string, from, to float64) {
	l := tp.levels[name]
	if l == nil {
		l = make([]float64, tp.steps+1)
		tp.levels[name] = l
	}
	i, ok := tp.step(from)
	if !ok || to <= from {
		return
	}
	j, ok := tp.step(to)
	if !ok {
		j = tp.steps
	}
	l[i]++
	l[j]--
}

// gauge is the level at each scrape.
func (tp *tape) gauge(name string) []float64 {
	out := make([]float64, tp.steps)
	if l := tp.levels[name]; l != nil {
		sum := 0.0
		for i := range out {
			sum += l[i]
			out[i] = sum
		}
	}
	return out
}

// total is a counter's value at each scrape: whole, and from nought again with every process.
func (tp *tape) total(increments []float64) []float64 {
	out := make([]float64, tp.steps)
	if increments == nil {
		return out
	}
	sum, e := 0.0, 0
	for i := range out {
		for e+1 < len(tp.epochs) && float64(i)*tp.interval >= tp.epochs[e+1].from {
			e++
			sum = 0
		}
		sum += increments[i]
		out[i] = math.Floor(sum + 1e-6)
	}
	return out
}

// sums is total for a histogram's sum, which is not whole.
func (tp *tape) sums(h *tally) []float64 {
	out := make([]float64, tp.steps)
	sum, e := 0.0, 0
	for i := range out {
		for e+1 < len(tp.epochs) && float64(i)*tp.interval >= tp.epochs[e+1].from {
			e++
			sum = 0
		}
		sum += h.sum[i]
		out[i] = sum
	}
	return out
}

// cumulative are the totals of the buckets as Prometheus counts them, the last one +Inf.
func (tp *tape) cumulative(h *tally) [][]float64 {
	run := make([]float64, tp.steps)
	out := make([][]float64, len(h.buckets))
	for b, increments := range h.buckets {
		for i, v := range increments {
			run[i] += v
		}
		out[b] = tp.total(run)
	}
	return out
}
