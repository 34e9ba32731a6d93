package remediation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// claimAtOnce bounds how many incidents one sweep takes; they are advanced side by side.
const claimAtOnce = 8

// Sweep folds every waiting delivery in and advances every due incident once, and again while there is work. It returns how many turns it
// took. A failing incident does not hold up the others; their errors are joined.
func (e *Engine) Sweep(ctx context.Context) (int, error) {
	var errs []error
	folded, err := e.drain(ctx, 0)
	errs = append(errs, err)
	advanced, err := e.advanceDue(ctx)
	return folded + advanced, errors.Join(append(errs, err)...)
}

// advanceDue advances every due incident, and again while there are some, at most claimAtOnce side by side. It returns how many turns it took. A slow
// turn holds nobody up: what becomes due meanwhile is taken as soon as it is noticed. Suspects are taken one at a time, so that those which only share the end of
// a process with its reason are told from it.
func (e *Engine) advanceDue(ctx context.Context) (turns int, err error) {
	var errs []error
	type end struct {
		suspect bool
		err     error
	}
	running, ended, suspected := 0, make(chan end, claimAtOnce), false
	tick := time.NewTicker(e.cfg.Timing.Sweep)
	defer tick.Stop()
	for {
		wake := e.deps.Incidents.Wake()
		claimed, err := e.claim(ctx, claimAtOnce-running)
		errs = append(errs, err)
		for _, c := range claimed {
			is := suspect(c)
			if is && suspected {
				errs = append(errs, e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.standAside(ctx, c) }, slog.String("incident", c.Incident.ID)))
				continue
			}
			suspected = suspected || is
			turns, running = turns+1, running+1
			go func() { ended <- end{is, e.supervise(ctx, c)} }()
		}
		if running == 0 {
			return turns, errors.Join(errs...)
		}
		select {
		case done := <-ended:
			errs, suspected = append(errs, done.err), suspected && !done.suspect
			running--
		case <-tick.C:
		case <-wake:
		}
	}
}

func (e *Engine) claim(ctx context.Context, limit int) ([]incident.Claimed, error) {
	select {
	case <-ctx.Done():
		return nil, nil // nothing new is begun
	default:
	}
	if limit == 0 {
		return nil, nil
	}
	claimed, err := e.deps.Incidents.ClaimDue(ctx, e.cfg.Owner, e.deps.Now(), e.cfg.Timing.Lease, limit)
	if err != nil {
		return nil, fmt.Errorf("claim due incidents: %w", err)
	}
	slices.SortStableFunc(claimed, func(a, b incident.Claimed) int { return cmp.Compare(cuts(a), cuts(b)) })
	return claimed, nil
}

// Advance takes one claimed incident one step on. An error means that nothing was decided: the claim runs out or was given back, and the
// next sweep starts from what is committed.
func (e *Engine) Advance(ctx context.Context, c incident.Claimed) error {
	limit := e.cfg.Timing.Lease * 9 / 10
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("incident %s: one turn took longer than %s", c.Incident.ID, limit))
	defer cancel()
	t := &turn{inc: c.Incident, fence: c.Fence, now: e.deps.Now()}
	err := e.advance(ctx, t)
	var refused *incident.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, incident.ErrFenced):
		return nil // somebody else has it now
	case errors.As(err, &refused) && t.overtaken:
		e.deps.Logger.InfoContext(ctx, "overtaken", "incident", t.inc.ID, "reason", refused.Reason)
		err = e.later(ctx, t, 0)
		if errors.Is(err, incident.ErrFenced) {
			return nil
		}
		return err
	}
	// A refusal of what was claimed, with nobody in between, comes again at once: it waits like any other error.
	return errors.Join(err, e.giveBack(ctx, t))
}

// giveBack releases the claim after an error, so that the retry does not wait for the lease. The store may be what failed: then the
// lease runs out by itself.
func (e *Engine) giveBack(ctx context.Context, t *turn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timing.Retry)
	defer cancel()
	if err := e.later(ctx, t, e.cfg.Timing.Retry); err != nil && !errors.Is(err, incident.ErrFenced) {
		return fmt.Errorf("give the claim back: %w", err)
	}
	return nil
}

func (e *Engine) advance(ctx context.Context, t *turn) error {
	if t.inc.State == incident.StateClosed {
		return e.deps.Incidents.ReleaseClaim(ctx, t.inc.ID, t.fence, t.inc.Version, time.Time{})
	}
	if t.inc.Pool == "" {
		return e.watchUnrouted(ctx, t)
	}
	pool, ok := e.pool(t.inc.Pool)
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
		if p := t.inc.Plan; p != nil && !p.ExpiresAt.IsZero() && !t.now.Before(p.ExpiresAt) {
			return e.commit(ctx, t, incident.Expired{}, extra{})
		}
		return e.investigate(ctx, t)
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
		return e.later(ctx, t, wait)
	}
	return e.commit(ctx, t, incident.InvestigationStarted{}, extra{})
}

// orphan holds an incident whose pool is no longer configured: nothing is read or written for it until the pool is back or a person ends it.
func (e *Engine) orphan(ctx context.Context, t *turn) error {
	e.deps.Logger.WarnContext(ctx, "pool is not configured any more; the incident is held", "incident", t.inc.ID, "pool", t.inc.Pool)
	said := []string{fmt.Sprintf("The pool %s is not in the configuration any more: I neither read nor change anything for it.", t.inc.Pool)}
	for _, s := range t.inc.StopGaps() {
		said = append(said, s.Title+" still stands and I do not take it back.")
	}
	return e.hold(ctx, t, strings.Join(said, " "), e.cfg.Timing.Watch)
}
