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
		f, ignored, err := e.folded(ctx, in)
		if err != nil {
			return err
		}
		if err = e.deps.Inbox.CommitFolded(ctx, f); err == nil {
			e.reportIgnored(ctx, ignored)
		}
		if !errors.Is(err, incident.ErrStale) && !errors.Is(err, incident.ErrPoolOpen) {
			return err
		}
	}
	return fmt.Errorf("%d deliveries from %d on: %w, too often", len(in), in[0].delivery.ID, incident.ErrStale)
}

// folded works out what deliveries do: each pool's incident is read once, takes all that is for it in order, and is
// written once.
func (e *Engine) folded(ctx context.Context, in []routed) (incident.Folded, []incident.IgnoredWords, error) {
	var f incident.Folded
	var ignored []incident.IgnoredWords
	byPool := map[string][]news{}
	for n, r := range in {
		f.Deliveries = append(f.Deliveries, r.delivery)
		if order := r.delivery.Drill; order != nil {
			ch, begins, err := e.drillChange(ctx, *order)
			if err != nil {
				return incident.Folded{}, nil, err
			}
			if begins {
				f.Changes = append(f.Changes, ch)
			}
		}
		for pool, alerts := range r.byPool {
			byPool[pool] = append(byPool[pool], news{
				place: n, origin: originOf(r.delivery), received: r.delivery.ReceivedAt,
				event: incident.AlertsReceived{
					Alerts: alerts, Note: r.said.of(pool, r.delivery), Source: r.delivery.Source(),
					Delivery: r.delivery.ID, Mode: e.modeOf(pool), Reopen: e.cfg.Timing.Reopen,
				},
			})
		}
	}
	strays, err := e.takeHome(ctx, byPool)
	if err != nil {
		return incident.Folded{}, nil, err
	}
	for _, pool := range slices.Sorted(maps.Keys(byPool)) {
		outcomeOf := e.outcomeOf
		if pool == "" { // as it was when it was looked whose the alerts are: it may have let some go meanwhile
			outcomeOf = strays.outcomeOf
		}
		out, err := outcomeOf(ctx, pool, byPool[pool])
		if err != nil {
			return incident.Folded{}, nil, err
		}
		f.Changes, f.Ended = append(f.Changes, out.changes...), append(f.Ended, out.ended...)
		ignored = append(ignored, out.ignored...)
	}
	return f, ignored, nil
}

// news are alerts for one pool. The same origin never begins two incidents of a pool.
type news struct {
	origin string
	// place is that of the delivery among those that are folded together.
	place int
	event incident.AlertsReceived
	// received is when the delivery came in; zero for alerts that come from another incident.
	received time.Time
}

// outcome is what news about a pool do. Ended are alerts that have resolved before any incident knew of them: they do
// nothing, but a late word about them does nothing either.
type outcome struct {
	changes []incident.Change
	ended   []incident.Alert
	ignored []incident.IgnoredWords
}

// outcomeOf works out what a pool's alerts do, in order: join the open incident, open the last one again, or begin a
// new one.
func (e *Engine) outcomeOf(ctx context.Context, pool string, all []news) (outcome, error) {
	inc, found, err := e.deps.Inbox.OpenIncident(ctx, pool)
	if err != nil {
		return outcome{}, fmt.Errorf("find the open incident of pool %q: %w", pool, err)
	}
	return e.outcomeOn(ctx, inc, found, pool, all)
}

// outcomeOn is outcomeOf for the open incident that was found. Without a pool none is opened again: the alerts may have
// one, which is looked for first (reroute.go).
func (e *Engine) outcomeOn(
	ctx context.Context, inc incident.Incident, found bool, pool string, all []news,
) (outcome, error) {
	now := e.deps.Now()
	var snoozes []incident.Snooze
	if !found && pool != "" {
		var err error
		inc, found, err = e.deps.Inbox.LastClosed(ctx, pool, now.Add(-incident.MaxSnooze))
		if err != nil {
			return outcome{}, fmt.Errorf("find the last incident of pool %q: %w", pool, err)
		}
		snoozes = inc.SnoozesAt(now)
		found = found && now.Sub(inc.ClosedAt) <= e.cfg.Timing.Reopen
	}
	if found {
		_, heard, err := e.heard(ctx, all, inc.Alerts)
		if err != nil {
			return outcome{}, err
		}
		out, err := e.joining(inc, heard, now)
		if _, refused := errors.AsType[*incident.RefusedError](err); !refused {
			return out, err
		}
	}
	early, heard, err := e.heard(ctx, all, nil)
	if err != nil {
		return outcome{}, err
	}
	if early.first < 0 {
		return outcome{ended: early.ended(), ignored: early.ignored}, nil
	}
	out, err := e.opening(pool, heard[early.first], heard[early.first+1:], snoozes, now)
	out.ended, out.ignored = early.ended(), append(early.ignored, out.ignored...)
	return out, err
}

// joining folds alerts into an incident. A refusal says that it does not take them: it has been closed for too long.
func (e *Engine) joining(inc incident.Incident, all []news, now time.Time) (outcome, error) {
	events := make([]incident.Event, len(all))
	for n, x := range all {
		events[n] = x.event
	}
	res, err := applied(inc, now, events...)
	if err != nil {
		return outcome{}, err
	}
	return e.alertsOutcome(res, inc.Version, now), nil
}

// modeOf is the mode that a pool has now.
func (e *Engine) modeOf(pool string) incident.Mode {
	if p, ok := e.router.pool(pool); ok {
		return p.Mode
	}
	return e.cfg.Mode
}

// opening makes an incident of the first alerts, and folds the others into it. What is snoozed for the pool stays so.
// People are shown one without a pool when it has been looked for.
func (e *Engine) opening(
	pool string, first news, others []news, snoozes []incident.Snooze, now time.Time,
) (outcome, error) {
	mode := first.event.Mode
	events := []incident.Event{first.event}
	if pool == "" {
		events = append(events, incident.Muted{})
	}
	for _, x := range others {
		events = append(events, x.event)
	}
	inc := incident.New(newID(pool, first.origin), pool, mode, mode == incident.ModeDryRun, now)
	inc.Snoozes, inc.ReceivedAt, inc.Unshown = snoozes, first.received, pool == ""
	res, err := applied(inc, now, events...)
	if err != nil {
		return outcome{}, err
	}
	return e.alertsOutcome(res, 0, now), nil
}

// alertsOutcome is the change that alerts make. They may make the incident due sooner, and never later.
func (e *Engine) alertsOutcome(res incident.Result, expect int64, now time.Time) outcome {
	due := e.cfg.Timing.Due(res.Incident, now)
	switch res.Incident.State {
	case incident.StateDeciding, incident.StateWatching:
		due = now // the new alert is a reason to investigate now
	case incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateApplying,
		incident.StateSettling,
		incident.StateVerifying, incident.StateUndoing, incident.StateClosed:
	}
	ch := incident.Change{
		Incident: res.Incident, Expect: expect, Entries: res.Entries, Render: res.Render, DueAt: due, Sooner: true,
	}
	return outcome{changes: []incident.Change{ch}, ignored: res.Ignored}
}

// originOf names a delivery the same however often it is folded. Its number alone would not do: a database that was
// restored from a backup gives the numbers since then again, and an incident must not get the id of another one, whose
// messages are still in Slack.
func originOf(d incident.Delivery) string {
	return strconv.FormatInt(d.ID, 10) + "@" + strconv.FormatInt(d.ReceivedAt.UnixNano(), 10)
}

// newID is the same for the same origin and pool, so that folding a delivery twice cannot make two incidents.
func newID(pool, origin string) string {
	sum := sha256.Sum256([]byte(pool + "/" + origin))
	return "inc-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
