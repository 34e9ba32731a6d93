package remediation

import (
	"context"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Assessed is what one look at a pool says, kept nowhere.
type Assessed struct {
	incident.Assessment

	Incident incident.Incident
}

// Assess investigates a pool by name without an alert, and says how it is. usual adds how signals compare with the
// pool's own past, at a query for each.
func (i *Investigator) Assess(ctx context.Context, pool string, usual bool) (Assessed, error) {
	p, ok := i.router.pool(pool)
	if !ok {
		return Assessed{}, fmt.Errorf("there is no pool %q in the configuration", pool)
	}
	inc, found := i.look(ctx, p, nil, usual)
	return Assessed{Assessment: found.assessment(), Incident: inc}, nil
}

// assessment says how the pool is. What was not measured is never OK.
func (f Investigation) assessment() incident.Assessment {
	r := f.Result
	out := incident.Assessment{Targets: append([]incident.Condition{}, r.Targets...), Excess: r.Excess, Note: r.Note}
	missed, open := that(r.Targets, incident.False), that(r.Targets, incident.Undecided)
	failed := f.firstError(slices.Concat(open, that(r.Recovery, incident.Undecided)))
	switch {
	case r.Diagnosis != nil && r.Acts:
		out.Health = incident.HealthProblem
	case f.Evidence.Absent != "":
		out.Health, out.Why = incident.HealthNoData, f.Evidence.Absent
	case len(missed) > 0:
		out.Health, out.Because = incident.HealthOverTarget, missed
	case r.Healthy == incident.False:
		out.Health, out.Because = incident.HealthOverLimit, that(r.Recovery, incident.False)
	case failed != "":
		out.Health, out.Why = incident.HealthUnread, failed
	case f.quiet(open):
		out.Health = incident.HealthNoTraffic
	case len(open) > 0 || len(r.Targets) == 0:
		out.Health, out.Because = incident.HealthPartial, open
	default:
		out.Health = incident.HealthOK
	}
	return out
}

// quiet says that nothing runs or waits, and that no target was measured because nothing was.
func (f Investigation) quiet(open []incident.Condition) bool {
	for _, name := range []string{incident.SignalRunning, incident.SignalWaiting} {
		r := f.Evidence.Readings[name]
		if !r.HasValue() || r.Bound != incident.Exact || *r.Value != 0 {
			return false
		}
	}
	return len(open) == len(f.Result.Targets)
}

// firstError is why one of these conditions is undecided: the error of its reading. It is empty when the answer was
// that there is no data.
func (f Investigation) firstError(open []incident.Condition) string {
	for _, c := range open {
		if r := f.Evidence.Readings[c.Signal]; r.Error != "" {
			return r.Error
		}
	}
	return ""
}

func that(all []incident.Condition, t incident.Truth) []incident.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c incident.Condition) bool { return c.Truth != t })
}
