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

// foldAtOnce is how many deliveries are claimed, and folded in with one commit.
const foldAtOnce = 256

// In a storm an answered delivery comes before a folded one: Alertmanager gives up on what is not answered, and what is
// answered is safe. After each batch folding gives way for yieldShare times what the batch took, so it keeps a tenth of
// the time, but not longer than yieldLimit at once; and not at all once the oldest of a batch has waited for yieldAge,
// so a storm that does not end holds no incident up.
const (
	yieldShare = 9
	yieldLimit = 2 * time.Second
	yieldAge   = 30 * time.Second
)

// drain folds the deliveries of the inbox in, many at a time. It lets some gather for that long after a batch of new
// ones that was not full.
func (e *Engine) drain(ctx context.Context, gather time.Duration) (int, error) {
	for n := 0; ; {
		now, begun := e.deps.Now(), time.Now()
		ds, err := e.deps.Inbox.ClaimDeliveries(ctx, e.cfg.Owner, now, e.cfg.Timing.Lease, foldAtOnce)
		if err != nil {
			return n, fmt.Errorf("claim deliveries: %w", err)
		}
		if len(ds) == 0 {
			return n, nil
		}
		n += len(ds)
		if err := e.newBatch(ds, now).fold(ctx); err != nil {
			return n, err
		}
		if now.Sub(ds[0].ReceivedAt) < yieldAge {
			e.deps.Inbox.Yield(ctx, min(yieldShare*time.Since(begun), yieldLimit))
		}
		if len(ds) < foldAtOnce && ds[0].Attempts == 1 && gather > 0 {
			select {
			case <-ctx.Done():
				return n, nil
			case <-time.After(gather):
			}
		}
	}
}

// foldTogether commits what deliveries that have been routed do to incidents, all at once, together with their end. It
// may be called again for the same ones.
func (e *Engine) foldTogether(ctx context.Context, in []routed) error {
	for range staleTries {
		f, err := e.folded(ctx, in)
		if err != nil {
			return err
		}
		err = e.deps.Inbox.CommitFolded(ctx, f)
		if !errors.Is(err, incident.ErrStale) && !errors.Is(err, incident.ErrPoolOpen) {
			return err
		}
	}
	return fmt.Errorf("%d deliveries from %d on: %w, too often", len(in), in[0].delivery.ID, incident.ErrStale)
}

// folded works out what deliveries do: each pool's incident is read once, takes all that is for it in order, and is
// written once.
func (e *Engine) folded(ctx context.Context, in []routed) (incident.Folded, error) {
	var f incident.Folded
	byPool := map[string][]news{}
	for _, r := range in {
		f.Deliveries = append(f.Deliveries, r.delivery)
		if order := r.delivery.Drill; order != nil {
			ch, begins, err := e.drillChange(ctx, *order)
			if err != nil {
				return incident.Folded{}, err
			}
			if begins {
				f.Changes = append(f.Changes, ch)
			}
		}
		for pool, alerts := range r.byPool {
			byPool[pool] = append(byPool[pool], news{
				origin: strconv.FormatInt(r.delivery.ID, 10), received: r.delivery.ReceivedAt,
				event: incident.AlertsReceived{
					Alerts: alerts, Note: r.said.of(pool, r.delivery.Truncated), Source: r.delivery.Source(), Mode: e.modeOf(pool),
				},
			})
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(byPool)) {
		changes, ended, err := e.changesOf(ctx, pool, byPool[pool])
		if err != nil {
			return incident.Folded{}, err
		}
		f.Changes, f.Ended = append(f.Changes, changes...), append(f.Ended, ended...)
	}
	return f, nil
}

// news are alerts for one pool. The same origin never begins two incidents of a pool.
type news struct {
	origin string
	event  incident.AlertsReceived
	// received is when the delivery came in; zero for alerts that come from another incident.
	received time.Time
}

// poolChange works out what alerts from one origin do to a pool.
func (e *Engine) poolChange(
	ctx context.Context, origin, pool string, ev incident.AlertsReceived,
) (incident.Change, bool, error) {
	ev.Mode = e.modeOf(pool)
	changes, _, err := e.changesOf(ctx, pool, []news{{origin: origin, event: ev}})
	if err != nil || len(changes) == 0 {
		return incident.Change{}, false, err
	}
	return changes[0], true, nil
}

// changesOf works out what a pool's alerts do, in order: join the open incident, open the last one again, or begin a
// new one. Alerts that have resolved before anything was known of them do nothing; they are returned, so that a late
// word about them does nothing either.
func (e *Engine) changesOf(ctx context.Context, pool string, all []news) ([]incident.Change, []incident.Alert, error) {
	now := e.deps.Now()
	inc, found, err := e.deps.Inbox.OpenIncident(ctx, pool)
	if err != nil {
		return nil, nil, fmt.Errorf("find the open incident of pool %q: %w", pool, err)
	}
	var snoozes []incident.Snooze
	if !found {
		inc, found, err = e.deps.Inbox.LastClosed(ctx, pool, now.Add(-incident.MaxSnooze))
		if err != nil {
			return nil, nil, fmt.Errorf("find the last incident of pool %q: %w", pool, err)
		}
		snoozes = inc.SnoozesAt(now)
		found = found && now.Sub(inc.ClosedAt) <= incident.ReopenWithin
	}
	if found {
		_, heard, err := e.heard(ctx, all, inc.Alerts)
		if err != nil {
			return nil, nil, err
		}
		ch, err := e.joiningChange(inc, heard, now)
		if _, refused := errors.AsType[*incident.RefusedError](err); !refused {
			return []incident.Change{ch}, nil, err
		}
	}
	early, heard, err := e.heard(ctx, all, nil)
	if err != nil {
		return nil, nil, err
	}
	first := slices.IndexFunc(heard, func(x news) bool {
		return slices.ContainsFunc(x.event.Alerts, func(a incident.Alert) bool { return a.Firing })
	})
	if first < 0 {
		return nil, early.ended(), nil
	}
	ch, err := e.openingChange(pool, heard[first], heard[first+1:], snoozes, now)
	return []incident.Change{ch}, early.ended(), err
}

// joiningChange folds alerts into an incident. A refusal says that it does not take them: it has been closed for too
// long.
func (e *Engine) joiningChange(inc incident.Incident, all []news, now time.Time) (incident.Change, error) {
	events := make([]incident.Event, len(all))
	for n, x := range all {
		events[n] = x.event
	}
	res, err := applied(inc, now, events...)
	if err != nil {
		return incident.Change{}, err
	}
	return e.alertsChange(res, inc.Version, now), nil
}

// unknown are alerts of which no incident knows, as they have been heard of so far.
type unknown struct {
	known map[string]incident.Alert
	heard []string
	// here are those that the incident at hand knows.
	here map[string]bool
}

// heard is the news as it is with what was known before of alerts that are not among these.
func (e *Engine) heard(ctx context.Context, all []news, here []incident.Alert) (*unknown, []news, error) {
	u := &unknown{known: map[string]incident.Alert{}, here: map[string]bool{}}
	for _, a := range here {
		u.here[a.Fingerprint] = true
	}
	var fingerprints []string
	for _, x := range all {
		for _, a := range x.event.Alerts {
			if !u.here[a.Fingerprint] {
				fingerprints = append(fingerprints, a.Fingerprint)
			}
		}
	}
	if len(fingerprints) == 0 {
		return u, all, nil
	}
	slices.Sort(fingerprints)
	known, err := e.deps.Inbox.EndedAlerts(ctx, slices.Compact(fingerprints))
	if err != nil {
		return nil, nil, err
	}
	for _, a := range known {
		u.known[a.Fingerprint] = a
	}
	out := slices.Clone(all)
	for n := range out {
		out[n].event.Alerts = u.hear(out[n].event)
	}
	return u, out, nil
}

// hear returns alerts as they are with what was known of them: one that fires may have ended already.
func (u *unknown) hear(ev incident.AlertsReceived) []incident.Alert {
	out := slices.Clone(ev.Alerts)
	for n, a := range out {
		old, ok := u.known[a.Fingerprint]
		if !ok && a.Firing || u.here[a.Fingerprint] {
			continue
		}
		if !ok {
			old = incident.Alert{Fingerprint: a.Fingerprint, StartsAt: a.StartsAt}
		}
		out[n] = old.Heard(a, ev.Source)
		u.known[a.Fingerprint] = out[n]
		u.heard = append(u.heard, a.Fingerprint)
	}
	return out
}

// ended are those that have ended.
func (u *unknown) ended() []incident.Alert {
	var out []incident.Alert
	slices.Sort(u.heard)
	for _, f := range slices.Compact(u.heard) {
		if a := u.known[f]; !a.Firing {
			out = append(out, a)
		}
	}
	return out
}

// modeOf is the mode that a pool has now.
func (e *Engine) modeOf(pool string) incident.Mode {
	if p, ok := e.router.pool(pool); ok {
		return p.Mode
	}
	return e.cfg.Mode
}

// openingChange makes an incident of the first alerts, and folds the others into it. What is snoozed for the pool stays
// so.
func (e *Engine) openingChange(
	pool string, first news, others []news, snoozes []incident.Snooze, now time.Time,
) (incident.Change, error) {
	mode := first.event.Mode
	events := []incident.Event{first.event}
	if pool == "" {
		events = append(events, incident.Muted{Note: adviceFor(first.event.Alerts)})
	}
	for _, x := range others {
		events = append(events, x.event)
	}
	inc := incident.New(newID(pool, first.origin), pool, mode, mode == incident.ModeDryRun, now)
	inc.Snoozes, inc.ReceivedAt = snoozes, first.received
	res, err := applied(inc, now, events...)
	if err != nil {
		return incident.Change{}, err
	}
	return e.alertsChange(res, 0, now), nil
}

// alertsChange is the change that alerts make. They may make the incident due sooner, and never later.
func (e *Engine) alertsChange(res incident.Result, expect int64, now time.Time) incident.Change {
	due := e.cfg.Timing.Due(res.Incident, now)
	switch res.Incident.State {
	case incident.StateDeciding, incident.StateWatching:
		due = now // the new alert is a reason to investigate now
	case incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateApplying,
		incident.StateSettling,
		incident.StateVerifying, incident.StateUndoing, incident.StateClosed:
	}
	return incident.Change{
		Incident: res.Incident, Expect: expect, Entries: res.Entries, Render: res.Render, DueAt: due, Sooner: true,
	}
}

// newID is the same for the same origin and pool, so that folding a delivery twice cannot make two incidents.
func newID(pool, origin string) string {
	sum := sha256.Sum256([]byte(pool + "/" + origin))
	return "inc-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
