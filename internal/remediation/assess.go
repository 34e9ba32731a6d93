package remediation

import (
	"context"
	"fmt"

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

// assessment says how the pool is.
func (f Investigation) assessment() incident.Assessment {
	r := f.Result
	out := incident.Assess(incident.Measured{
		Readings: f.Evidence.Readings, Absent: f.Evidence.Absent, Targets: r.Targets, Excess: r.Excess,
		Limits: r.Recovery, Healthy: r.Healthy, Acts: r.Diagnosis != nil && r.Acts,
	})
	out.Note = r.Note
	return out
}
