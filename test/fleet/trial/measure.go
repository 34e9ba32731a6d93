package trial

import (
	"math"
	"slices"
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

// Course is what came of a script, and how: by the minute in which calls arrived.
type Course struct {
	Measure

	Minutes []Minute
}

// Minute is what became of the calls that arrived in one minute. Late ones got their first token or the further ones
// too late, Lost ones never got all of them.
type Minute struct {
	Calls, Late, Lost int
	// FirstToken is the 95th percentile of the time to the first token, where that of a lost call is the longest of all; 0
	// without calls, and Forever where more than one in twenty is lost.
	FirstToken time.Duration
}

// Forever is how long a call waits that is never answered.
const Forever = time.Duration(math.MaxInt64)

// Violates says whether more calls were late or lost than the SLO allows.
func (m Minute) Violates(slo SLO) bool {
	return float64(m.Late+m.Lost) > (1-slo.Part)*float64(m.Calls)
}

// book counts calls by the minute in which they arrived.
type book struct {
	slo     SLO
	from    time.Duration // calls that arrived before are not counted
	minutes []minute
}

type minute struct {
	Minute

	firstTokens []time.Duration
}

func (b *book) observe(o fleet.Outcome) {
	if o.Arrived < b.from {
		return
	}
	m := int((o.Arrived - b.from) / time.Minute)
	for len(b.minutes) <= m {
		b.minutes = append(b.minutes, minute{})
	}
	in := &b.minutes[m]
	in.Calls++
	switch {
	case o.Result != fleet.Answered:
		in.Lost++
		in.firstTokens = append(in.firstTokens, Forever)
		return
	case o.FirstToken > b.slo.FirstToken, o.PerToken > b.slo.PerToken:
		in.Late++
	}
	in.firstTokens = append(in.firstTokens, o.FirstToken)
}

// course sums up the first minutes.
func (b *book) course(minutes int) Course {
	var out Course
	for _, m := range b.minutes[:min(minutes, len(b.minutes))] {
		out.Calls += float64(m.Calls)
		out.Lost += float64(m.Lost)
		if m.Violates(b.slo) {
			out.Violation++
		}
		if n := len(m.firstTokens); n > 0 {
			slices.Sort(m.firstTokens)
			m.FirstToken = m.firstTokens[(95*n+99)/100-1]
		}
		out.Minutes = append(out.Minutes, m.Minute)
	}
	return out
}
