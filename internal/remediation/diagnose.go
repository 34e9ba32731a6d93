package remediation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Diagnose is one look at a pool by name, or at the pools that alerts lead to, as incidents that are kept nowhere.
func (e *Engine) Diagnose(ctx context.Context, pool string, alerts []incident.Alert) ([]incident.Incident, error) {
	byPool := map[string][]incident.Alert{}
	said := notes{}
	if pool != "" {
		if _, ok := e.pool(pool); !ok {
			return nil, fmt.Errorf("there is no pool %q in the configuration", pool)
		}
		byPool[pool] = nil
	}
	asked := &owners{}
	for _, a := range alerts {
		name, note, err := e.poolOf(ctx, a.Labels, asked)
		if err != nil {
			note = unansweredNote(a, name, err)
		}
		byPool[name] = append(byPool[name], a)
		said.add(name, note)
	}
	var out []incident.Incident
	for _, name := range slices.Sorted(maps.Keys(byPool)) {
		out = append(out, e.diagnoseOne(ctx, name, byPool[name], said.of(name)))
	}
	return out, nil
}

func (e *Engine) diagnoseOne(ctx context.Context, name string, alerts []incident.Alert, note string) incident.Incident {
	inc := incident.New("", name, incident.ModeDrill, true, e.deps.Now())
	inc.Alerts, inc.Note = alerts, note
	p, ok := e.pool(name)
	if !ok {
		inc.State, inc.Note = incident.StateWatching, join(note, adviceFor(alerts))
		return inc
	}
	l := e.Look(ctx, p, inc)
	inc.State = incident.StateInvestigating
	res, err := incident.Apply(inc, incident.Investigated{
		Evidence: l.Evidence, Diagnosis: l.Result.Diagnosis, Others: l.Result.Others, Steps: l.Steps, Healthy: l.Result.Healthy, Note: l.Result.Note,
	}, inc.OpenedAt)
	if err != nil {
		inc.Note = err.Error()
		return inc
	}
	res.Incident.Note = join(note, res.Incident.Note)
	return res.Incident
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
