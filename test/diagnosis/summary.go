package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// window is how much of the end of an incident an EngineSummary covers, in seconds: that of the usual rates.
const window = 300

// EngineSummary is one engine in the last five minutes of an incident, from the simulated requests themselves and not
// from any metric.
type EngineSummary struct {
	Engine                               string
	Rate, Waiting, Running, KV           float64
	TTFT50, TTFT95, Queue95, Prefill95   float64
	ITL50, ITL99, E2E95                  float64
	Preemptions, HitRate, Finished, Left float64
	MostRunning                          float64
	Capacity                             float64
}

// Summaries simulates an incident and sums up every engine's last minutes: for whoever writes incidents.
func (inc *Incident) Summaries() []EngineSummary {
	f := inc.simulate()
	var out []EngineSummary
	for _, pod := range inc.Pods {
		for rank, m := range f.machines[pod] {
			l := m.summary()
			l.Engine = pod
			if inc.Ranks > 1 {
				l.Engine = fmt.Sprintf("%s/%d", pod, rank)
			}
			out = append(out, l)
		}
	}
	return out
}

func (m *machine) summary() EngineSummary {
	tp := m.tp
	end := float64(tp.steps-1) * tp.interval
	from := max(0, end-window)
	var ttft, queue, prefill, e2e []float64
	for _, p := range m.exact {
		if p.first >= from && p.first <= end {
			ttft = append(ttft, p.first-p.arrived)
		}
		if p.finished >= from && p.finished <= end {
			queue, prefill, e2e = append(queue, p.queue), append(prefill, p.prefill), append(e2e, p.finished-p.arrived)
		}
	}
	last := m.tl[len(m.tl)-1]
	itl := last.mix(last.ITL, end)
	running, waiting, usage := m.inBatch(), tp.gauge(recWaiting), m.usage()
	n := tp.steps - 1
	return EngineSummary{
		Rate: m.over5(recArrived), Waiting: waiting[n], Running: running[n], KV: usage[n], TTFT50: quantile(ttft, .5),
		TTFT95:  quantile(ttft, .95),
		Queue95: quantile(queue, .95), Prefill95: quantile(prefill, .95), E2E95: quantile(e2e, .95), ITL50: itl.quantile(.5),
		ITL99:       itl.quantile(.99),
		Preemptions: m.over5(recPreempt), HitRate: m.over5(recHit) / m.over5(recQueried), Finished: m.over5(recServed),
		Left:        m.over5(recLeft),
		MostRunning: slices.Max(running), Capacity: m.capacity(),
	}
}

// over5 is a counter's rate over the window.
func (m *machine) over5(rec string) float64 {
	sum, c := 0.0, m.tp.counters[rec]
	from := max(0, len(c)-int(window/m.tp.interval))
	for _, v := range c[from:] {
		sum += v
	}
	return sum / window
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// quantile is found by halving: a mix has no formula.
func (m mix) quantile(q float64) float64 {
	low, high := 0.0, 10_000.0
	for range 60 {
		mid := (low + high) / 2
		if m.below(mid) < q {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// Table lays summaries out for a person.
func Table(summaries []EngineSummary) (string, error) {
	rows := [][]string{{
		"engine", "req/s", "waiting", "running", "max run", "kv", "ttft50", "ttft95", "queue95", "prefill95", "itl50",
		"itl99", "e2e95", "preempt/s", "hit", "done/s",
		"left/s", "kv tokens",
	}}
	for _, l := range summaries {
		rows = append(rows,
			strings.Fields(fmt.Sprintf("%s %.2f %.0f %.0f %.0f %.2f %.3f %.3f %.3f %.3f %.3f %.3f %.1f %.3f %.2f %.2f %.2f %.0f",
				l.Engine, l.Rate, l.Waiting, l.Running, l.MostRunning, l.KV, l.TTFT50, l.TTFT95, l.Queue95, l.Prefill95, l.ITL50,
				l.ITL99, l.E2E95, l.Preemptions,
				l.HitRate, l.Finished, l.Left, l.Capacity)))
	}
	return Aligned(rows, true)
}
