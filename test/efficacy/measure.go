package efficacy

import (
	"math"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// Results are many plays.
type Results []Result

// of are the plays of a script under a hand, by seed; of all scripts when it is empty.
func (r Results) of(script, hand string) Results {
	return slices.DeleteFunc(slices.Clone(r), func(p Result) bool {
		return script != "" && p.Script != script || p.Hand != hand
	})
}

// scripts are the names, in the order of the plays.
func (r Results) scripts() []string {
	var out []string
	for _, p := range r {
		if !slices.Contains(out, p.Script) {
			out = append(out, p.Script)
		}
	}
	return out
}

// each is a value of each play.
func (r Results) each(of func(Result) float64) []float64 {
	out := make([]float64, len(r))
	for i, p := range r {
		out[i] = of(p)
	}
	return out
}

// bySeed sums a value of the plays up over the scripts, for each seed.
func (r Results) bySeed(of func(Result) float64) []float64 {
	sums := map[uint64]float64{}
	for _, p := range r {
		sums[p.Seed] += of(p)
	}
	out := make([]float64, 0, len(sums))
	for seed := uint64(1); len(out) < len(sums); seed++ {
		if v, ok := sums[seed]; ok {
			out = append(out, v)
		}
	}
	return out
}

// fewer is by which share the second has less than the first, with the half width of its 95% interval over the seeds.
func fewer(first, second []float64) (mean, half float64) {
	shares := make([]float64, len(first))
	for i := range first {
		shares[i] = 1 - second[i]/first[i]
	}
	return trial.Interval(shares)
}

func violation(p Result) float64 { return p.Violation }
func gpu(p Result) float64       { return p.GPU }
func lost(p Result) float64      { return p.Lost }

// count is how many steps of a play are so.
func count(is func(Step) bool) func(Result) float64 {
	return func(p Result) float64 {
		n := 0.
		for _, s := range p.Steps {
			if is(s) {
				n++
			}
		}
		return n
	}
}

// standing says that a step was harmful and was not taken back in the play.
func standing(s Step) bool { return s.Effect == Harmful && !s.Back }

// calm is for how long the SLO must hold at the end of a play that counts as cured.
const calm = 5

// cured is when the SLO began to hold for the rest of the play, in minutes since the script began to hurt; false when
// that was not at least calm before the end. Nothing was to cure where no minute is violated.
func (r Result) cured(s trial.Script) (minutes float64, ok bool) {
	begin := max(0, int((onset(s)-trial.WarmUp)/time.Minute))
	last := -1
	for i, m := range r.Minutes {
		if m.Violates(trial.DefaultSLO()) {
			last = i
		}
	}
	return float64(last + 1 - begin), last >= 0 && last < len(r.Minutes)-calm
}

// median is that of some values; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	values = slices.Clone(values)
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// minutes are those of the times that there are.
func minutes(plays Results, of func(Result) time.Duration) []float64 {
	var out []float64
	for _, p := range plays {
		if d := of(p); d != Never {
			out = append(out, d.Minutes())
		}
	}
	return out
}
