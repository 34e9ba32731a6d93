package report

import (
	"slices"
	"time"
)

// samples are lengths of time, and how many others could have been seen.
type samples struct {
	seen []time.Duration
	not  int
}

// add takes the time between two moments; without an end there is no sample. A clock that was set back gives 0.
func (s *samples) add(from, to time.Time) {
	if to.IsZero() {
		s.missed()
		return
	}
	s.seen = append(s.seen, max(0, to.Sub(from)))
}

func (s *samples) missed() { s.not++ }

// spread is the median, the p90 and the longest, as far as there are samples enough. They are samples themselves: the
// nearest rank, nothing in between.
func (s *samples) spread() Spread {
	out := Spread{Samples: len(s.seen), Of: len(s.seen) + s.not}
	if len(s.seen) == 0 {
		return out
	}
	sorted := slices.Sorted(slices.Values(s.seen))
	rank := func(share int) *Seconds {
		return new(Seconds(sorted[(len(sorted)*share+99)/100-1]))
	}
	if len(sorted) >= LeastMedian {
		out.Median = rank(50)
	}
	if len(sorted) >= LeastP90 {
		out.P90 = rank(90)
	}
	out.Longest = rank(100)
	return out
}
