package diagnosis

import (
	"fmt"
	"math"
	"slices"
)

// targets are latencies in seconds that a profile allows.
type targets struct{ ttft, itl, e2e float64 }

// targetsOf is the table of latency targets by use case of seed S4.
func targetsOf(slo string) targets {
	switch slo {
	case "completion":
		return targets{0.2, 0.03, 3}
	case "batch":
		return targets{5, 0.1, 60}
	case "rag":
		return targets{1, 0.08, 15}
	case "agentic":
		return targets{2, 0.1, 30}
	}
	return targets{0.5, 0.05, 10} // chat
}

// calm are the truths whose stories say that requests are served as they should be.
func calm() []string {
	return []string{
		None, "idle", "light-load", "dead-alert", "gpu-memory-by-design", "healthy-full-batch", "cancels-without-overload",
		"gpu-underutilised", "memory-leak",
		"nixl-lease-expiring",
	}
}

// calmProblems hold a calm incident against its own profile: who says that nothing is wrong must not miss a target.
func (m *machine) calmProblems() []string {
	if !slices.Contains(calm(), m.inc.Truth) {
		return nil
	}
	l, want := m.summary(), targetsOf(m.inc.SLO)
	last := m.tl[len(m.tl)-1]
	itl := last.mix(last.ITL, last.to).quantile(0.95)
	if m.inBatch()[m.tp.steps-1] == 0 {
		itl = math.NaN() // nobody decodes
	}
	var out []string
	for _, x := range []struct {
		what      string
		got, most float64
	}{
		{"time to first token", l.TTFT95, want.ttft},
		{"time between tokens", itl, want.itl},
		{"end-to-end time", l.E2E95, want.e2e},
	} {
		if x.got > x.most {
			out = append(out,
				fmt.Sprintf("the story is calm, and the 95th percentile of the %s is %.3g s, above the %g s of %s", x.what, x.got,
					x.most, m.inc.SLO))
		}
	}
	return out
}
