package remediation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// reroute asks again for the pools of alerts that led nowhere: the API server may have been away when they came, or the pool is configured now.
// First the pool's incident takes them, then this one lets them go; after a crash in between the first is repeated and changes nothing. An alert
// about which nobody answers waits.
func (e *Engine) reroute(ctx context.Context, t *turn) error {
	byPool, said := map[string][]incident.Alert{}, notes{}
	asked := &owners{}
	for _, a := range t.inc.Firing() {
		pool, note, err := e.poolOf(ctx, a.Labels, asked)
		if err == nil && pool != "" {
			byPool[pool] = append(byPool[pool], a)
			said.add(pool, note)
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(byPool)) {
		if err := e.move(ctx, t, pool, incident.AlertsReceived{Alerts: byPool[pool], Note: said.of(pool)}); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) move(ctx context.Context, t *turn, pool string, ev incident.AlertsReceived) error {
	for range staleTries {
		ch, ok, err := e.change(ctx, t.inc.ID, pool, ev)
		if err == nil && ok {
			err = e.deps.Incidents.Commit(ctx, ch)
		}
		switch {
		case errors.Is(err, incident.ErrStale), errors.Is(err, incident.ErrPoolOpen):
			continue
		case err != nil:
			return fmt.Errorf("move alerts to pool %s: %w", pool, err)
		}
		gone := incident.Rerouted{Pool: pool}
		for _, a := range ev.Alerts {
			gone.Fingerprints = append(gone.Fingerprints, a.Fingerprint)
		}
		return e.commit(ctx, t, gone, extra{keep: true})
	}
	return fmt.Errorf("move alerts to pool %s: %w, too often", pool, incident.ErrStale)
}
