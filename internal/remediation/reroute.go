package remediation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// watchUnrouted finds out whether alerts without a pool have one by now, and ends their incident when none of them
// fires any more, or none has been heard of for long.
func (e *Engine) watchUnrouted(ctx context.Context, t *turn) error {
	if err := e.reroute(ctx, t); err != nil {
		return err
	}
	var why incident.Note
	switch {
	case len(t.inc.Firing()) == 0:
		why = incident.Note{Kind: incident.NoteNoneFires}
	case e.unheard(t):
		why = incident.Note{Kind: incident.NoteUnheard, Silent: e.cfg.Timing.Stale}
	default:
		return e.advise(ctx, t)
	}
	return e.closeIncident(ctx, t, why)
}

// reroute asks again for the pools of alerts that led nowhere: the API server may have been away when they came, or the
// pool is configured now. An alert whose pool is known goes there although the owners above it were not answered for,
// as after the last try of its delivery; one about which nothing is known waits. The questions get a part of the turn
// only, so that what they found is still moved.
func (e *Engine) reroute(ctx context.Context, t *turn) error {
	byPool, said := map[string][]string{}, routes{}
	asked := &owners{}
	limited, cancel := context.WithTimeout(ctx, e.cfg.Timing.Lease/askShare)
	defer cancel()
	for _, a := range t.inc.Firing() {
		pool, route, err := e.router.poolOf(limited, a.Labels, asked)
		if pool == "" {
			continue
		}
		if err != nil {
			route = unansweredRoute(a, pool, err)
		}
		byPool[pool] = append(byPool[pool], a.Fingerprint)
		said.add(pool, route)
	}
	for _, pool := range slices.Sorted(maps.Keys(byPool)) {
		if err := e.move(ctx, t, pool, byPool[pool], said.of(pool, 0)); err != nil {
			return err
		}
	}
	return nil
}

// move hands alerts over to the incident of their pool. One commit does both, so that it happens once, and the version
// of the incident that lets them go names the episode that begins: a pool may be found again and again while that one
// is open.
func (e *Engine) move(ctx context.Context, t *turn, pool string, fingerprints []string, note incident.Note) error {
	for range staleTries {
		alerts := slices.DeleteFunc(t.inc.Firing(),
			func(a incident.Alert) bool { return !slices.Contains(fingerprints, a.Fingerprint) })
		if len(alerts) == 0 {
			return nil // their end came meanwhile
		}
		left, err := applied(t.inc, t.now, incident.Rerouted{Pool: pool, Fingerprints: fingerprints})
		if err != nil {
			return err
		}
		origin := fmt.Sprintf("%s/%d", t.inc.ID, t.inc.Version)
		taken, err := e.outcomeOf(ctx, pool, []news{{
			origin: origin, event: incident.AlertsReceived{Alerts: alerts, Note: note, Mode: e.modeOf(pool)},
		}})
		if err != nil || len(taken.changes) == 0 {
			return err
		}
		letGo := incident.Change{
			Incident: left.Incident, Expect: t.inc.Version, Fence: t.fence, Entries: left.Entries, Render: left.Render,
			DueAt: e.cfg.Timing.Due(left.Incident, t.now),
		}
		err = e.deps.Incidents.Commit(ctx, letGo, taken.changes[0])
		if err == nil {
			e.reportIgnored(ctx, taken.ignored)
			t.inc = left.Incident
			t.inc.Version = letGo.Expect + 1
			return nil
		}
		if !errors.Is(err, incident.ErrStale) && !errors.Is(err, incident.ErrPoolOpen) {
			return fmt.Errorf("move alerts to pool %s: %w", pool, err)
		}
		if t.inc, err = e.deps.Incidents.Incident(ctx, t.inc.ID); err != nil {
			return fmt.Errorf("read incident again: %w", err)
		}
	}
	return fmt.Errorf("move alerts to pool %s: %w, too often", pool, incident.ErrStale)
}
