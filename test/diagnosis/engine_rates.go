package diagnosis

import "math"

// rates writes what is given as a rate and not as part of a request: answers with 5xx, transfers that fail, leases that
// run out.
func (m *machine) rates() {
	for i := 1; i < m.tp.steps; i++ {
		t := (float64(i) - 0.5) * m.tp.interval
		if !m.alive(t) {
			continue
		}
		s := m.tl.at(t)
		m.tp.add(recFailed, t, s.value(s.Fail, t)*m.tp.interval)
		if m.stalled(t) {
			continue
		}
		m.tp.add(recXferFail, t, s.value(s.XferFailed, t)*m.tp.interval)
		m.tp.add(recExpired, t, s.value(s.Expired, t)*m.tp.interval)
	}
}

func (m *machine) alive(t float64) bool {
	for _, e := range m.tp.epochs {
		if t >= e.from && t < e.to {
			return true
		}
	}
	return false
}

func (m *machine) stalled(t float64) bool {
	for _, e := range m.tp.epochs {
		if t >= e.stall && t < e.to {
			return true
		}
	}
	return false
}

// steps writes what the engine does step by step: one observation for each token after the first, and how many tokens a
// step had.
func (m *machine) steps() {
	running, decoded, computed := m.tp.gauge(recRunning), m.tp.counters[recDecoded], m.tp.counters[recComputed]
	m.tp.tally(histITL, m.b.itl)
	m.tp.tally(histIteration, iterationBounds())
	if decoded == nil || computed == nil {
		return
	}
	for i := 1; i < m.tp.steps; i++ {
		t := (float64(i) - 0.5) * m.tp.interval
		s := m.tl.at(t)
		itl := s.mix(s.ITL, t)
		if decoded[i] > 0 {
			m.tp.observeMix(histITL, m.b.itl, i, itl, decoded[i])
		}
		if decoded[i]+computed[i] == 0 {
			continue
		}
		// The engine steps as long as somebody runs; prompts go in pieces of at most the budget.
		batch := math.Max(1, running[i])
		all := math.Max(1, m.tp.interval*math.Min(1, batch)/itl.mean())
		pieces := math.Ceil(computed[i] / (0.6 * m.budget))
		if pieces > 0 {
			m.tp.observe(histIteration, iterationBounds(), t, math.Min(m.budget, computed[i]/pieces+batch), pieces)
		}
		if plain := all - pieces; plain > 0 && decoded[i] > 0 {
			m.tp.observe(histIteration, iterationBounds(), t, math.Max(1, decoded[i]/all), plain)
		}
	}
}
