package sandbox

import (
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// sample is how the fleet is at one second, as its clients and its engines see it: the truth, of which the bot sees
// what Prometheus scrapes.
type sample struct {
	At int64 `json:"at"` // Unix seconds
	// TTFT is the 95th percentile of the time to the first token of requests that ended in the last window, in seconds;
	// -1 when none did.
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

	mu       sync.Mutex
	outcomes []outcome
	samples  []sample
	marks    []mark
}

type outcome struct {
	at   time.Time
	ttft float64
	lost bool
}

// observe is told of each call that has ended. It is called by the fleet, which must not be called back.
func (m *meter) observe(o fleet.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes = append(m.outcomes, outcome{
		at: m.epoch.Add(o.Ended), ttft: o.FirstToken.Seconds(), lost: o.Result != fleet.Answered,
	})
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
	m.outcomes = slices.DeleteFunc(m.outcomes, func(o outcome) bool { return now.Sub(o.at) > window })
	s := sample{At: now.Unix(), TTFT: -1, Demand: state.Demand, Limit: state.Throttle}
	var ttft []float64
	for _, o := range m.outcomes {
		if o.lost {
			s.Failed += 1 / window.Seconds()
		} else {
			ttft = append(ttft, o.ttft)
		}
	}
	if len(ttft) > 0 {
		slices.Sort(ttft)
		s.TTFT = ttft[(len(ttft)*95+99)/100-1]
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
