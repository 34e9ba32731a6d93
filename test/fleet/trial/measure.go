package trial

import (
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// SLO is what clients were promised: so large a Part of the calls of each minute gets its first token and its further
// tokens in time.
type SLO struct {
	FirstToken, PerToken time.Duration
	Part                 float64
}

// DefaultSLO is that of an interactive chat.
func DefaultSLO() SLO {
	return SLO{FirstToken: 2500 * time.Millisecond, PerToken: 100 * time.Millisecond, Part: .95}
}

// Measure is what came of a script.
type Measure struct {
	// Violation is how many minutes the SLO was violated in: those in which more calls arrived that were late or never
	// answered than it allows. A minute without calls is none.
	Violation float64
	// Calls are all that arrived, Lost those of them that were never answered completely: refused, given up by their
	// clients, or gone with a replica, each time they tried.
	Calls, Lost float64
	// GPU is how many minutes GPUs were held, all together.
	GPU float64
	// Changes is how often the hand changed something.
	Changes float64
}

// book counts calls by the minute in which they arrived.
type book struct {
	slo     SLO
	from    time.Duration // calls that arrived before are not counted
	minutes []minute
}

type minute struct{ calls, late, lost int }

func (b *book) observe(o fleet.Outcome) {
	if o.Arrived < b.from {
		return
	}
	m := int((o.Arrived - b.from) / time.Minute)
	for len(b.minutes) <= m {
		b.minutes = append(b.minutes, minute{})
	}
	in := &b.minutes[m]
	in.calls++
	switch {
	case o.Result != fleet.Answered:
		in.lost++
	case o.FirstToken > b.slo.FirstToken, o.PerToken > b.slo.PerToken:
		in.late++
	}
}

// measure sums up the first minutes.
func (b *book) measure(minutes int) Measure {
	var out Measure
	for _, m := range b.minutes[:min(minutes, len(b.minutes))] {
		out.Calls += float64(m.calls)
		out.Lost += float64(m.lost)
		if float64(m.late+m.lost) > (1-b.slo.Part)*float64(m.calls) {
			out.Violation++
		}
	}
	return out
}
