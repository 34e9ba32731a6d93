package remediation

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// askTries is how often a delivery is tried whose alerts may lead to a pool but whose owner could not be asked. Then the alerts become
// visible as leading nowhere, with the error: a late incident is worse than an unroutable one that people see.
const askTries = 5

// drain folds the deliveries of the inbox in, one after the other.
func (e *Engine) drain(ctx context.Context) (int, error) {
	for n := 0; ; n++ {
		d, ok, err := e.deps.Inbox.ClaimDelivery(ctx, e.cfg.Owner, e.deps.Now(), e.cfg.Timing.Lease)
		if err != nil {
			return n, fmt.Errorf("claim a delivery: %w", err)
		}
		if !ok {
			return n, nil
		}
		if err := e.fold(ctx, d); err != nil {
			if err := e.putBack(ctx, d, err); err != nil {
				return n, err
			}
		}
	}
}

// putBack has a delivery tried again later. One that was lost to somebody else is theirs now, and no error here.
func (e *Engine) putBack(ctx context.Context, d incident.Delivery, why error) error {
	if errors.Is(why, incident.ErrFenced) {
		return nil
	}
	e.deps.Logger.WarnContext(ctx, "delivery is tried again", "delivery", d.ID, "attempt", d.Attempts, "err", why)
	err := e.deps.Inbox.FailDelivery(ctx, d, why.Error(), e.deps.Now().Add(e.cfg.Timing.Retry))
	if err != nil && !errors.Is(err, incident.ErrFenced) {
		return fmt.Errorf("put delivery %d back: %w", d.ID, err)
	}
	return nil
}

// fold routes a delivery's alerts to pools and commits them all at once, together with the end of the delivery. It may be called again for
// the same delivery.
func (e *Engine) fold(ctx context.Context, d incident.Delivery) error {
	byPool, said, err := e.route(ctx, d)
	if err != nil {
		return err
	}
	for range staleTries {
		changes, err := e.changes(ctx, d, byPool, said)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return e.deps.Inbox.FinishDelivery(ctx, d)
		}
		changes[0].Delivery = &d
		err = e.deps.Incidents.Commit(ctx, changes...)
		if !errors.Is(err, incident.ErrStale) && !errors.Is(err, incident.ErrPoolOpen) {
			return err
		}
	}
	return fmt.Errorf("delivery %d: %w, too often", d.ID, incident.ErrStale)
}

// route finds the pool of each alert; the pool "" gathers those that lead nowhere.
func (e *Engine) route(ctx context.Context, d incident.Delivery) (map[string][]incident.Alert, notes, error) {
	byPool, said := map[string][]incident.Alert{}, notes{}
	asked := &owners{}
	for _, a := range d.Alerts {
		pool, note, err := e.poolOf(ctx, a.Labels, asked)
		if err != nil {
			if d.Attempts < askTries {
				return nil, nil, fmt.Errorf("find the pool of alert %s: %w", a.Name(), err)
			}
			note = fmt.Sprintf("The pool of %s could not be found: %v.", a.Name(), err)
			if pool != "" {
				note = fmt.Sprintf("Whether %s belongs to another pool could not be found out: %v.", a.Name(), err)
			}
		}
		byPool[pool] = append(byPool[pool], a)
		said.add(pool, note)
	}
	if d.Truncated > 0 {
		for pool := range byPool {
			said[pool] = slices.Insert(said[pool], 0, fmt.Sprintf("Alertmanager left %d more alerts out of this group (max_alerts).", d.Truncated))
		}
	}
	return byPool, said, nil
}

func (e *Engine) changes(ctx context.Context, d incident.Delivery, byPool map[string][]incident.Alert, said notes) ([]incident.Change, error) {
	var out []incident.Change
	for _, pool := range slices.Sorted(maps.Keys(byPool)) {
		ch, ok, err := e.change(ctx, strconv.FormatInt(d.ID, 10), pool, incident.AlertsReceived{Alerts: byPool[pool], Note: said.of(pool)})
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, ch)
		}
	}
	return out, nil
}

// change works out what a pool's alerts do: join the open incident, open the last one again, or begin a new one. Alerts that have all
// resolved before anything was known of them do nothing.
//
// origin tells where the alerts come from: the same origin never begins two incidents of a pool.
func (e *Engine) change(ctx context.Context, origin, pool string, ev incident.AlertsReceived) (incident.Change, bool, error) {
	now := e.deps.Now()
	ev.Mode = e.modeOf(pool)
	inc, found, err := e.deps.Inbox.OpenIncident(ctx, pool)
	if err != nil {
		return incident.Change{}, false, fmt.Errorf("find the open incident of pool %q: %w", pool, err)
	}
	if !found {
		inc, found, err = e.deps.Inbox.LastClosed(ctx, pool, now.Add(-incident.ReopenWithin))
		if err != nil {
			return incident.Change{}, false, fmt.Errorf("find the last incident of pool %q: %w", pool, err)
		}
	}
	if found {
		res, err := incident.Apply(inc, ev, now)
		var refused *incident.RefusedError
		switch {
		case err == nil:
			return e.intake(res, inc.Version, now), true, nil
		case !errors.As(err, &refused):
			return incident.Change{}, false, err
		}
	}
	if !slices.ContainsFunc(ev.Alerts, func(a incident.Alert) bool { return a.Firing }) {
		return incident.Change{}, false, nil
	}
	return e.begin(origin, pool, ev, now)
}

// modeOf is the mode that a pool has now.
func (e *Engine) modeOf(pool string) incident.Mode {
	if p, ok := e.pool(pool); ok {
		return p.Mode
	}
	return e.cfg.Mode
}

func (e *Engine) begin(origin, pool string, ev incident.AlertsReceived, now time.Time) (incident.Change, bool, error) {
	inc := incident.New(newID(pool, origin), pool, ev.Mode, ev.Mode == incident.ModeDrill, now)
	res, err := incident.Apply(inc, ev, now)
	if err != nil {
		return incident.Change{}, false, err
	}
	if pool == "" {
		entries := res.Entries
		if res, err = incident.Apply(res.Incident, incident.Quieted{Reason: adviceFor(ev.Alerts)}, now); err != nil {
			return incident.Change{}, false, err
		}
		res.Entries = append(entries, res.Entries...)
	}
	return e.intake(res, 0, now), true, nil
}

func (e *Engine) intake(res incident.Result, expect int64, now time.Time) incident.Change {
	due := e.cfg.Timing.due(res.Incident, now)
	switch res.Incident.State {
	case incident.StateDeciding, incident.StateWatching:
		due = now // the new alert is a reason to look now
	case incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateApplying, incident.StateSettling,
		incident.StateVerifying, incident.StateUndoing, incident.StateClosed:
	}
	return incident.Change{Incident: res.Incident, Expect: expect, Entries: res.Entries, Redraw: res.Redraw, DueAt: due}
}

// newID is the same for the same origin and pool, so that folding a delivery twice cannot make two incidents.
func newID(pool, origin string) string {
	sum := sha256.Sum256([]byte(pool + "/" + origin))
	return "inc-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
