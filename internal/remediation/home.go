package remediation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// unrouted is the open incident without a pool, as it is while alerts are folded in.
type unrouted struct {
	e     *Engine
	inc   incident.Incident
	found bool
}

func (u unrouted) outcomeOf(ctx context.Context, pool string, all []news) (outcome, error) {
	return u.e.outcomeOn(ctx, u.inc, u.found, pool, all)
}

// takeHome gives alerts whose labels lead nowhere to the pool in whose open incident they are already. An alert that
// names only its pod leads nowhere once the pod is gone, which is often how it ends; its end, and whatever else is said
// of it, is that incident's. The incident without a pool is read first: what it lets go after that makes the commit
// stale, and what it has let go before is in the incident of its pool by now.
func (e *Engine) takeHome(ctx context.Context, byPool map[string][]news) (unrouted, error) {
	u := unrouted{e: e}
	if len(byPool[""]) == 0 {
		return u, nil
	}
	var err error
	if u.inc, u.found, err = e.deps.Inbox.OpenIncident(ctx, ""); err != nil {
		return u, fmt.Errorf("find the open incident without a pool: %w", err)
	}
	home, err := e.homes(ctx)
	if err != nil {
		return u, err
	}
	here := known(u.inc)
	var left []news
	for _, x := range byPool[""] {
		stay, gone := x, map[string]news{}
		stay.event.Alerts = nil
		for _, a := range x.event.Alerts {
			pool := ""
			if !here(a.Fingerprint) {
				pool = home(a.Fingerprint)
			}
			if pool == "" {
				stay.event.Alerts = append(stay.event.Alerts, a)
				continue
			}
			to := x
			to.event.Alerts = append(gone[pool].event.Alerts, a)
			to.event.Mode, to.event.Note = e.modeOf(pool), incident.Note{}
			gone[pool] = to
		}
		if len(stay.event.Alerts) > 0 {
			left = append(left, stay)
		}
		for pool, to := range gone {
			byPool[pool] = append(byPool[pool], to)
			slices.SortStableFunc(byPool[pool], func(a, b news) int { return cmp.Compare(a.place, b.place) })
		}
	}
	delete(byPool, "")
	if len(left) > 0 {
		byPool[""] = left
	}
	return u, nil
}

// homes answers in which pool's open incident an alert is; "" for none.
func (e *Engine) homes(ctx context.Context) (func(fingerprint string) string, error) {
	type home struct {
		pool  string
		knows func(string) bool
	}
	var all []home
	for _, p := range e.cfg.Pools {
		inc, found, err := e.deps.Inbox.OpenIncident(ctx, p.Name)
		if err != nil {
			return nil, fmt.Errorf("find the open incident of pool %q: %w", p.Name, err)
		}
		if found {
			all = append(all, home{p.Name, known(inc)})
		}
	}
	return func(fingerprint string) string {
		for _, h := range all {
			if h.knows(fingerprint) {
				return h.pool
			}
		}
		return ""
	}, nil
}

// known answers whether an incident has an alert.
func known(inc incident.Incident) func(fingerprint string) bool {
	kept := make(map[string]bool, len(inc.Alerts))
	for _, a := range inc.Alerts {
		kept[a.Fingerprint] = true
	}
	return func(f string) bool { return kept[f] || inc.AlertsNotKept.Has(f) }
}
