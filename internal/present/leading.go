package present

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// felt are the latencies that users feel, in the order in which they meet them: the wait for the answer, the pace at
// which it comes, the whole of it. The time in the queue is a part of the first.
func felt() []string { return []string{incident.SignalTTFT, incident.SignalTPOT, incident.SignalE2E} }

// Worst is the reading to name first: what users feel, before what the bot infers it from. ok is false when no reading
// is beyond its threshold.
//
// What is lost comes first where the diagnosis is about it: no answer is worse than a late one, and where requests fail
// or engines are gone, the latency of the rest says little. Then comes a target of the pool that is missed: the latency
// that the diagnosis wants back before others, so that an incident about TPOT is not headed by a TTFT that suffers
// along. Only then come limits, of which those that must recover count first, and of the rest the one that is exceeded
// most.
func Worst(inc incident.Incident) (worst incident.Reading, ok bool) {
	return first(inc.Readings, recovering(inc))
}

// AskedAbout is the reading that was named first when people were asked about a change, of the readings before it and
// the signals that must recover by it. ok is false when none was beyond its threshold.
func AskedAbout(before map[string]incident.Reading, recovering []string) (asked incident.Reading, ok bool) {
	return first(before, recovering)
}

// recovering are the signals that must be back within their thresholds, in the order of the playbook.
func recovering(inc incident.Incident) []string {
	if inc.Diagnosis == nil {
		return nil
	}
	return inc.Diagnosis.Healthy
}

func first(readings map[string]incident.Reading, recovering []string) (worst incident.Reading, ok bool) {
	all := slices.Sorted(maps.Keys(readings))
	wanted := slices.DeleteFunc(slices.Clone(recovering), func(name string) bool { return !slices.Contains(felt(), name) })
	lost := func(name string) bool { return losing(name, readings[name]) }
	missed := func(name string) bool {
		return readings[name].ThresholdFrom == incident.OriginSLO && Beyond(readings[name])
	}
	for _, rule := range []struct {
		names []string
		holds func(string) bool
	}{
		{recovering, lost},
		{slices.Concat(wanted, felt(), recovering, all), missed},
		{recovering, func(name string) bool { return Beyond(readings[name]) }},
	} {
		if n := slices.IndexFunc(rule.names, rule.holds); n >= 0 {
			return named(readings, rule.names[n]), true
		}
	}
	most := 0.0
	for _, name := range all {
		if by := excess(readings[name]); by > most {
			worst, most = named(readings, name), by
		}
	}
	return worst, most > 0
}

// losing says that requests get no answer: they fail, engines are down or stalled, or nothing is generated.
func losing(name string, r incident.Reading) bool {
	if !Beyond(r) {
		return false
	}
	g := GroupOf(name)
	return g == GroupErrors || g == GroupPods || name == incident.SignalGenerated && *r.Value == 0
}

// named is a reading with the name of its signal.
func named(readings map[string]incident.Reading, name string) incident.Reading {
	r := readings[name]
	r.Signal = cmp.Or(r.Signal, name)
	return r
}

// mostBeyond stands for what is beyond a threshold of 0, of which it can be no share.
const mostBeyond = 1e6

// excess is how far a reading is beyond its threshold, as a share of it; 0 when it is not.
func excess(r incident.Reading) float64 {
	if !Beyond(r) {
		return 0
	}
	share := *r.Value / *r.Threshold
	if r.Direction == incident.LowerIsWorse {
		share = 1 / share
	}
	if share > 1 && share < mostBeyond {
		return share - 1
	}
	return mostBeyond
}

// Drawn is the reading whose past shows how the incident goes, of those that have a threshold and can be drawn. After a
// change it stays the one that the change was decided by, so that one line is seen to fall; else it is the one that is
// named first. Where neither can be drawn, it is what would have been named at the worst moment of the past, then what
// users feel. ok is false when nothing can be drawn.
func Drawn(inc incident.Incident, can func(incident.Reading) bool) (drawn incident.Reading, ok bool) {
	able := map[string]incident.Reading{}
	for name, r := range inc.Readings {
		if r.Threshold != nil && can(r) {
			able[name] = r
		}
	}
	names := felt()
	if at, ok := first(peaks(able), recovering(inc)); ok {
		names = slices.Insert(names, 0, at.Signal)
	}
	if now, ok := Worst(inc); ok {
		names = slices.Insert(names, 0, now.Signal)
	}
	if then, ok := decidedBy(inc); ok {
		names = slices.Insert(names, 0, then.Signal)
	}
	for _, name := range slices.Concat(names, slices.Sorted(maps.Keys(able))) {
		if _, ok := able[name]; ok {
			return named(able, name), true
		}
	}
	return incident.Reading{}, false
}

// decidedBy is the reading that was named first when the latest change was made, while that change is what the incident
// is about: it runs, it has helped, or it is to be rolled back. When something else is asked or wrong meanwhile, that
// counts. It is as it was then; ok is false when there was none.
func decidedBy(inc incident.Incident) (worst incident.Reading, ok bool) {
	switch _, offered := Offered(inc); {
	case inc.State == incident.StateDeciding && !offered:
		return incident.Reading{}, false
	case !offered && inc.State != incident.StateClosed && !Outdated(inc):
		return incident.Reading{}, false
	}
	if a := inc.Active; a != nil && a.Op == incident.OpApply {
		return first(a.Before, recovering(inc)) // empty until the write: those of now are those that were decided by
	}
	s, ran := Latest(inc)
	if !ran || s.Verification == nil || inc.OnlyDryRun(s) {
		return incident.Reading{}, false
	}
	return first(s.Verification.Before, judgedBy(inc, s))
}

// judgedBy are the signals that had to recover by a step. The diagnosis may be another one since.
func judgedBy(inc incident.Incident, s incident.Step) []string {
	for _, m := range inc.History {
		if m.Step == s.ID && inc.Diagnosis != nil && m.Cause.Name == inc.Diagnosis.Name {
			return inc.Diagnosis.Healthy
		}
	}
	var out []string
	for _, m := range Moves(inc, *s.Verification) {
		out = append(out, m.Signal)
	}
	return out
}

// leastPoints make a line worth looking at.
const leastPoints = 3

// Past is what of a reading's past can be drawn, the oldest first; nil where that is too little.
func Past(r incident.Reading) []incident.Point {
	var out []incident.Point
	for _, p := range r.Series {
		if !math.IsNaN(p.Value) && math.Abs(p.Value) < 1e15 && !p.At.IsZero() {
			out = append(out, p)
		}
	}
	if len(out) < leastPoints {
		return nil
	}
	slices.SortStableFunc(out, func(a, b incident.Point) int { return a.At.Compare(b.At) })
	if !out[len(out)-1].At.After(out[0].At) {
		return nil
	}
	return out
}

// peaks are the readings as they were at the worst moment of their past, each at its own.
func peaks(readings map[string]incident.Reading) map[string]incident.Reading {
	out := map[string]incident.Reading{}
	for name, r := range readings {
		past := Past(r)
		if len(past) == 0 {
			continue
		}
		worst := slices.MaxFunc(past, func(a, b incident.Point) int {
			if r.Direction == incident.LowerIsWorse {
				a, b = b, a
			}
			return cmp.Compare(a.Value, b.Value)
		})
		r.Value, r.Bound, r.Error = &worst.Value, incident.Exact, ""
		out[name] = r
	}
	return out
}

// gapFrom is how many times as far apart as most are two points when something is missing between them: points of a
// range query are on a grid, so twice is one that is missing.
const gapFrom = 1.5

// Runs cuts points, the oldest first, where data is missing: between two runs nothing is known, and no line belongs
// there. At least two points are needed for the distance.
func Runs(points []incident.Point) [][]incident.Point {
	if len(points) < 2 {
		return [][]incident.Point{points}
	}
	var apart []time.Duration
	for n, p := range points[1:] {
		apart = append(apart, p.At.Sub(points[n].At))
	}
	most := float64(slices.Sorted(slices.Values(apart))[(len(apart)-1)/2])
	var out [][]incident.Point
	begin := 0
	for n, d := range apart {
		if float64(d) > gapFrom*most {
			out, begin = append(out, points[begin:n+1]), n+1
		}
	}
	return append(out, points[begin:])
}
