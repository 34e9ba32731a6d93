package sandbox

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// sample is how the fleet is at one second, as its clients and its engines see it: the truth, of which the bot sees
// what Prometheus scrapes.
type sample struct {
	At int64 `json:"at"` // Unix seconds
	// TTFT is the 95th percentile of the time to the first tokens that came in the last window, in seconds; -1 when none
	// came. It is counted when they come, as vLLM does: an answer ends many seconds later, and its TTFT says how it was
	// before a change.
	TTFT    float64 `json:"ttft"`
	Waiting int     `json:"waiting"`
	// Limit is how many requests the gateway lets be in flight.
	Limit    int `json:"limit"`
	Running  int `json:"running"`
	Replicas int `json:"replicas"`
	Loading  int `json:"loading"`
	// Demand and Failed are requests per second: what clients ask for, and what they did not get.
	Demand float64 `json:"demand"`
	Failed float64 `json:"failed"`
	KV     float64 `json:"kv"`
}

// keptSamples is more than the charts show.
const keptSamples = 600

// window is how far back a sample looks.
const window = 5 * time.Second

// meter keeps the samples of the last minutes.
type meter struct {
	// epoch is when the time of the fleet began.
	epoch time.Time

	mu sync.Mutex
	// first are the first tokens of the last window, and lost when calls ended without an answer.
	first   []firstToken
	lost    []time.Time
	samples []sample
	marks   []mark
}

// firstToken is when one came, and after how many seconds.
type firstToken struct {
	at   time.Time
	ttft float64
}

// began is told of each first token. It is called by the fleet, which must not be called back.
func (m *meter) began(at, waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = append(m.first, firstToken{at: m.epoch.Add(at), ttft: waited.Seconds()})
}

// observe is told of each call that has ended. It is called by the fleet, which must not be called back.
func (m *meter) observe(o fleet.Outcome) {
	if o.Result == fleet.Answered {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = append(m.lost, m.epoch.Add(o.Ended))
}

// mark is something that happened, for the charts.
type mark struct {
	At   int64  `json:"at"` // Unix seconds
	Text string `json:"text"`
}

// remembers how many marks the charts get.
const shownMarks = 20

func (m *meter) mark(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks, mark{At: time.Now().Unix(), Text: text})
	if over := len(m.marks) - shownMarks; over > 0 {
		m.marks = slices.Clone(m.marks[over:])
	}
}

func (m *meter) marked() []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]mark{}, m.marks...)
}

// take adds the sample of now.
func (m *meter) take(now time.Time, state fleet.State, desired int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = slices.DeleteFunc(m.first, func(f firstToken) bool { return now.Sub(f.at) > window })
	m.lost = slices.DeleteFunc(m.lost, func(at time.Time) bool { return now.Sub(at) > window })
	s := sample{
		At: now.Unix(), TTFT: -1, Demand: state.Demand, Limit: state.Throttle,
		Failed: float64(len(m.lost)) / window.Seconds(),
	}
	if n := len(m.first); n > 0 {
		sorted := slices.SortedFunc(slices.Values(m.first), func(a, b firstToken) int { return cmp.Compare(a.ttft, b.ttft) })
		s.TTFT = sorted[(n*95+99)/100-1].ttft
	}
	for _, r := range state.Replicas {
		s.Waiting += r.Waiting
		s.Running += r.Running
		s.KV = max(s.KV, r.KVUsage)
		if r.Ready {
			s.Replicas++
		}
	}
	s.Loading = max(0, desired-s.Replicas)
	m.samples = append(m.samples, s)
	if over := len(m.samples) - keptSamples; over > 0 {
		m.samples = slices.Clone(m.samples[over:])
	}
}

// last are the newest samples, the oldest first.
func (m *meter) last(n int) []sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.samples[max(0, len(m.samples)-n):])
}
