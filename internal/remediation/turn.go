package remediation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// turn is one step of one claimed incident: what was read, and the fence that its commits carry.
type turn struct {
	inc   incident.Incident
	fence int64
	pool  incident.Pool
	now   time.Time
	// lostRace says that somebody else committed during the turn.
	lostRace bool
}

// Advance takes one claimed incident one step on. An error means that nothing was decided: the claim runs out or was
// given back, and the next sweep starts from what is committed.
func (e *Engine) Advance(ctx context.Context, c incident.Claimed) error {
	limit := e.cfg.Timing.Lease * 9 / 10
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("incident %s: one turn took longer than %s", c.Incident.ID, limit))
	defer cancel()
	t := &turn{inc: c.Incident, fence: c.Fence, now: e.deps.Now()}
	ctx, end := e.deps.Within(ctx, c.Incident)
	err := e.advance(ctx, t)
	end(err)
	var refused *incident.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, incident.ErrFenced):
		return nil // somebody else has it now
	case errors.As(err, &refused) && t.lostRace:
		e.deps.Logger.InfoContext(ctx, "a turn was superseded", "incident", t.inc.ID, "reason", refused.Reason)
		err = e.retryLater(ctx, t, 0)
		if errors.Is(err, incident.ErrFenced) {
			return nil
		}
		return err
	}
	// A refusal of what was claimed, with nobody in between, comes again at once: it waits like any other error.
	return errors.Join(err, e.releaseClaim(ctx, t))
}

func (e *Engine) advance(ctx context.Context, t *turn) error {
	if t.inc.State == incident.StateClosed {
		return e.deps.Incidents.ReleaseClaim(ctx, t.inc.ID, t.fence, t.inc.Version, time.Time{})
	}
	if since := t.inc.AlertsSince; !since.IsZero() && t.now.Sub(since) >= e.cfg.Timing.Gather {
		if err := e.commit(ctx, t, incident.Gathered{}, extra{keep: true}); err != nil {
			return err
		}
	}
	if t.inc.Drill != nil {
		if over, err := e.drill(ctx, t); over || err != nil {
			return err
		}
	}
	if t.inc.Pool == "" {
		return e.watchUnrouted(ctx, t)
	}
	pool, ok := e.router.pool(t.inc.Pool)
	if !ok {
		return e.orphan(ctx, t)
	}
	t.pool = pool
	switch t.inc.State {
	case incident.StateReceived:
		return e.receive(ctx, t)
	case incident.StateInvestigating:
		return e.investigate(ctx, t)
	case incident.StateProposed:
		return e.ask(ctx, t)
	case incident.StateDeciding:
		return e.waitForPeople(ctx, t)
	case incident.StateApplying, incident.StateUndoing:
		return e.run(ctx, t)
	case incident.StateSettling:
		return e.settle(ctx, t)
	case incident.StateVerifying:
		return e.verify(ctx, t)
	case incident.StateWatching:
		return e.watch(ctx, t)
	case incident.StateClosed: // has ended above, with or without a pool
		return nil
	default:
		return fmt.Errorf("the state %q is not known", t.inc.State)
	}
}

// receive waits until the group is gathered, then begins.
func (e *Engine) receive(ctx context.Context, t *turn) error {
	if wait := t.inc.OpenedAt.Add(e.cfg.Timing.GroupWait).Sub(t.now); wait > 0 {
		return e.retryLater(ctx, t, wait)
	}
	return e.commit(ctx, t, incident.InvestigationStarted{}, extra{})
}

// orphan holds an incident whose pool is no longer configured: nothing is read or written for it until the pool is back
// or a person ends it.
func (e *Engine) orphan(ctx context.Context, t *turn) error {
	e.deps.Logger.WarnContext(ctx, "pool is not configured any more; the incident is held",
		"incident", t.inc.ID, "pool", t.inc.Pool)
	var inPlace []string
	for _, s := range t.inc.Mitigations() {
		inPlace = append(inPlace, s.Title)
	}
	gone := incident.Note{Kind: incident.NotePoolGone, Pool: t.inc.Pool, Names: strings.Join(inPlace, "; ")}
	return e.waitWithReason(ctx, t, gone, e.cfg.Timing.Watch)
}

// extra is what goes into a commit beside the event.
type extra struct {
	claim, finish *incident.Write
	lock          string
	// keep holds the claim, because this turn goes on.
	keep bool
	// asRead says that the event is a conclusion from the incident as it was read: when somebody commits meanwhile, it is
	// not worked out again but given up, and the incident read again. "None of these alerts fires" is not true any
	// more when one has joined.
	asRead bool
	// found is the investigation behind the event, which may be worth keeping; nil: there was none.
	found *Investigation
}

// staleTries bounds how often a change is worked out again because somebody else committed in between. Commits on one
// incident come from people and alerts; eight in a row within one turn mean that something is wrong.
const staleTries = 8

// commit applies an event to the claimed incident and commits it. When the incident changed meanwhile (an alert joined,
// a person decided) the event is applied to the new one; a refusal there means that the event has been superseded, and
// is returned as *incident.RefusedError.
func (e *Engine) commit(ctx context.Context, t *turn, ev incident.Event, x extra) error {
	for range staleTries {
		res, err := applied(t.inc, t.now, ev)
		if err != nil {
			return err
		}
		ch := incident.Change{
			Incident: res.Incident, Expect: t.inc.Version, Fence: t.fence, Entries: res.Entries, Render: res.Render,
			DueAt: e.due(res.Incident, t), Release: !x.keep,
			Claim: x.claim, Finish: x.finish, Lock: x.lock, Unlock: releasedLock(t.inc, res.Incident),
			Snapshot: x.found.snapshot(t.inc, res.Incident, t.pool, ev),
		}
		if t.inc.Drill != nil { // it takes no part in what is written
			ch.Claim, ch.Finish, ch.Lock, ch.Unlock = nil, nil, "", ""
		}
		err = e.deps.Incidents.Commit(ctx, ch)
		if err == nil {
			t.inc = res.Incident
			t.inc.Version = ch.Expect + 1
			e.logUnrecorded(ctx, t.inc, res.Entries)
			return nil
		}
		if !errors.Is(err, incident.ErrStale) {
			return err
		}
		t.lostRace = true
		if t.inc, err = e.deps.Incidents.Incident(ctx, t.inc.ID); err != nil {
			return fmt.Errorf("read incident again: %w", err)
		}
		if x.asRead {
			return present.FillRefusal(&incident.RefusedError{Said: incident.Note{
				Kind: incident.RefusedStale, Event: ev.Kind(), During: t.inc.State,
			}})
		}
	}
	return fmt.Errorf("incident %s: %s: %w, %d times in a row", t.inc.ID, ev.Kind(), incident.ErrStale, staleTries)
}

// releasedLock names the lock that falls with the end of a step: the active step's target, when no step is active any
// more.
func releasedLock(before, after incident.Incident) string {
	if before.Active == nil || after.Active != nil {
		return ""
	}
	s, _ := before.Step(before.Active.Step)
	return s.Target.Key()
}

// retryLater gives the claim back without a change.
func (e *Engine) retryLater(ctx context.Context, t *turn, after time.Duration) error {
	due := e.drillDue(t.inc, t.now, e.soonerForNews(t.inc, t.now, t.now.Add(after)))
	return e.deps.Incidents.ReleaseClaim(ctx, t.inc.ID, t.fence, t.inc.Version, due)
}

// releaseClaim releases the claim after an error, so that the retry does not wait for the lease. The store may be what
// failed: then the lease runs out by itself.
func (e *Engine) releaseClaim(ctx context.Context, t *turn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timing.Retry)
	defer cancel()
	if err := e.retryLater(ctx, t, e.cfg.Timing.Retry); err != nil && !errors.Is(err, incident.ErrFenced) {
		return fmt.Errorf("give the claim back: %w", err)
	}
	return nil
}

// waitWithReason waits, and says why the first time.
func (e *Engine) waitWithReason(ctx context.Context, t *turn, why incident.Note, wait time.Duration) error {
	if !t.inc.Said.Same(why) {
		if err := e.commit(ctx, t, incident.Noted{Note: why}, extra{keep: true}); err != nil {
			return err
		}
	}
	return e.retryLater(ctx, t, wait)
}
