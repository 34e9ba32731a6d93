package remediation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Diagnose investigates a pool by name, or the pools that alerts lead to, and answers with incidents that are kept
// nowhere.
func (i *Investigator) Diagnose(
	ctx context.Context, pool string, alerts []incident.Alert,
) ([]incident.Incident, error) {
	byPool := map[string][]incident.Alert{}
	said := routes{}
	if pool != "" {
		if _, ok := i.router.pool(pool); !ok {
			return nil, fmt.Errorf("there is no pool %q in the configuration%s", pool, i.router.known())
		}
		byPool[pool] = nil
	}
	asked := &owners{}
	for _, a := range alerts {
		name, route, err := i.router.poolOf(ctx, a.Labels, asked)
		if err != nil {
			route = unansweredRoute(a, name, err)
		}
		byPool[name] = append(byPool[name], a)
		said.add(name, route)
	}
	var out []incident.Incident
	for _, name := range slices.Sorted(maps.Keys(byPool)) {
		out = append(out, i.diagnoseOne(ctx, name, byPool[name], present.Said(said.of(name, incident.Delivery{}))))
	}
	return out, nil
}

func (i *Investigator) diagnoseOne(
	ctx context.Context, name string, alerts []incident.Alert, note string,
) incident.Incident {
	p, ok := i.router.pool(name)
	if !ok {
		inc := i.unstored(name, alerts)
		inc.State, inc.Note = incident.StateWatching, joinNotes(note, present.Said(adviceFor(alerts)))
		return inc
	}
	inc, _ := i.look(ctx, p, alerts, true)
	inc.Note = joinNotes(note, inc.Note)
	return inc
}

// unstored is an incident that is stored nowhere.
func (i *Investigator) unstored(pool string, alerts []incident.Alert) incident.Incident {
	inc := incident.New("", pool, incident.ModeDryRun, true, i.deps.Now())
	inc.Alerts = alerts
	return inc
}

// look investigates a pool for such an incident. usual is as in incident.Scope.
func (i *Investigator) look(
	ctx context.Context, p incident.Pool, alerts []incident.Alert, usual bool,
) (incident.Incident, Investigation) {
	inc := i.unstored(p.Name, alerts)
	inc.State = incident.StateInvestigating
	found := i.investigate(ctx, p, inc, usual)
	res, err := applied(inc, inc.OpenedAt, found.event())
	if err != nil {
		inc.Note = err.Error()
		return inc, found
	}
	return res.Incident, found
}

// joinNotes puts one note under another; either may be empty.
func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
