package remediation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// routed is a delivery whose alerts have the pools that their labels lead to; the pool "" gathers the others. Nobody is
// asked for it: a delivery waits for none before it.
type routed struct {
	delivery incident.Delivery
	byPool   map[string][]incident.Alert
	said     routes
}

// batch are claimed deliveries, until they are folded or given back.
type batch struct {
	e       *Engine
	claimed []incident.Delivery
	// until is when the claim runs out.
	until time.Time
}

func (e *Engine) newBatch(ds []incident.Delivery, now time.Time) *batch {
	return &batch{e: e, claimed: slices.Clone(ds), until: now.Add(e.cfg.Timing.Lease)}
}

// fold folds the deliveries in, together. One that has been tried before goes alone, and whatever is behind it in its
// group after it. An order of a drill goes alone, too. When those together fail, each goes alone: one that cannot be
// folded holds up its group only.
func (b *batch) fold(ctx context.Context) error {
	together, alone := b.split()
	each := make([]incident.Delivery, len(together))
	for n, r := range together {
		each[n] = r.delivery
	}
	if err := b.foldMany(ctx, together); err == nil {
		b.forget(each...)
	} else {
		b.e.deps.Logger.DebugContext(ctx, "deliveries are folded one by one", "deliveries", len(each), "err", err)
		alone = append(each, alone...)
	}
	stuck := map[string]bool{}
	for _, d := range alone {
		if stuck[groupKey(d)] {
			continue
		}
		err := b.foldOne(ctx, d)
		if ctx.Err() != nil {
			break // the process is told to end
		}
		if err != nil {
			if err := b.e.putBack(ctx, d, err); err != nil {
				return err
			}
			stuck[groupKey(d)] = true
		}
		b.forget(d)
	}
	return b.release(ctx)
}

// errAlone says that there are not several deliveries to fold together.
var errAlone = errors.New("it is the only one")

func (b *batch) foldMany(ctx context.Context, together []routed) error {
	if len(together) < 2 {
		return errAlone
	}
	return b.e.deps.Panics.Do(ctx, PartInbox, func() error { return b.e.foldTogether(ctx, together) },
		slog.Int("deliveries", len(together)))
}

// release gives back what was not tried: what is behind one that failed, and what a process that is told to end has not
// come to. What is somebody else's, or done, by now is left alone.
func (b *batch) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.e.cfg.Timing.Retry)
	defer cancel()
	for _, d := range b.claimed {
		if err := b.e.deps.Inbox.ReleaseDelivery(ctx, d); err != nil && !errors.Is(err, incident.ErrFenced) {
			return err
		}
	}
	return nil
}

// groupKey names the group of a delivery.
func groupKey(d incident.Delivery) string { return d.Receiver + "\x00" + d.GroupKey }

// split tells those that can go together from those that go alone, both in order.
func (b *batch) split() (together []routed, alone []incident.Delivery) {
	apart := map[string]bool{}
	for _, d := range b.claimed {
		if d.Attempts == 1 && d.Drill == nil && !apart[groupKey(d)] {
			if r, ok := b.byLabels(d); ok {
				together = append(together, r)
				continue
			}
		}
		apart[groupKey(d)] = true
		alone = append(alone, d)
	}
	return together, alone
}

// forget takes out what is folded, or given back.
func (b *batch) forget(gone ...incident.Delivery) {
	ids := make(map[int64]bool, len(gone))
	for _, d := range gone {
		ids[d.ID] = true
	}
	b.claimed = slices.DeleteFunc(b.claimed, func(d incident.Delivery) bool { return ids[d.ID] })
}

// byLabels is Engine.byLabels; a delivery that panics goes alone.
func (b *batch) byLabels(d incident.Delivery) (r routed, ok bool) {
	err := rescue.Do(func() error {
		r = b.e.byLabels(d)
		return nil
	})
	return r, err == nil
}

// byLabels routes a delivery by the labels of its alerts alone.
func (e *Engine) byLabels(d incident.Delivery) routed {
	r := routed{delivery: d, byPool: map[string][]incident.Alert{}, said: routes{}}
	for _, a := range d.Alerts {
		pool, route := e.router.byLabels(a.Labels)
		r.byPool[pool] = append(r.byPool[pool], a)
		r.said.add(pool, route)
	}
	return r
}

// foldOne folds one delivery in. A panic is an error like any other: it is tried again, and parked as dead in the end.
func (b *batch) foldOne(ctx context.Context, d incident.Delivery) error {
	return b.e.deps.Panics.Do(ctx, PartInbox, func() error {
		if err := b.renew(ctx); err != nil {
			return err
		}
		return b.e.foldTogether(ctx, []routed{b.e.byLabels(d)})
	}, slog.Int64("delivery", d.ID))
}

// renew prolongs the claim when less than half of it is left, so that many deliveries that go alone on a slow store do
// not let another replica begin anew.
func (b *batch) renew(ctx context.Context) error {
	now, lease := b.e.deps.Now(), b.e.cfg.Timing.Lease
	if b.until.Sub(now) > lease/2 {
		return nil
	}
	until := now.Add(lease)
	if err := b.e.deps.Inbox.RenewDeliveries(ctx, b.claimed, until); err != nil {
		return err
	}
	b.until = until
	return nil
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
