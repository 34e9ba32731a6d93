package remediation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// claimAtOnce bounds how many incidents one sweep takes; they are advanced side by side.
const claimAtOnce = 8

// Sweep folds every waiting delivery in and advances every due incident once, and again while there is work. It returns
// how many turns it took. A failing incident does not hold up the others; their errors are joined.
func (e *Engine) Sweep(ctx context.Context) (int, error) {
	var errs []error
	folded, err := e.drain(ctx, 0)
	errs = append(errs, err)
	advanced, err := e.advanceDue(ctx)
	return folded + advanced, errors.Join(append(errs, err)...)
}

// advanceDue advances every due incident, and again while there are some, at most claimAtOnce side by side. It returns
// how many turns it took. A slow turn holds nobody up: what becomes due meanwhile is taken as soon as it is noticed.
// Suspects are taken one at a time, so that those which only share the end of a process with its reason are told from
// it.
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
				errs = append(errs, e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.standAside(ctx, c) },
					slog.String("incident", c.Incident.ID)))
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
	slices.SortStableFunc(claimed, func(a, b incident.Claimed) int { return cmp.Compare(cutTurns(a), cutTurns(b)) })
	return claimed, nil
}

// cutTurns is how often in a row the turns on an incident were cut off.
func cutTurns(c incident.Claimed) int {
	n := 0
	if s := c.Incident.Setback; s != nil && s.Kind == incident.SetbackLost {
		n = s.Count
	}
	if c.Abandoned {
		n++ // the last one is not noted yet
	}
	return n
}

// suspect says whether an incident may be what ends the process: turns on it were cut off more than once.
func suspect(c incident.Claimed) bool { return cutTurns(c) > 1 }

// standAside gives a claim back until the suspect before it has had its turn. What is known of the last turn is noted
// first: a claim that is given back does not tell any more that the one before was cut off.
func (e *Engine) standAside(ctx context.Context, c incident.Claimed) error {
	if c.Abandoned && c.Incident.Open() {
		if goOn, err := e.takeOver(ctx, &c); err != nil || !goOn {
			return err
		}
	}
	return e.putOff(ctx, c, e.deps.Now().Add(e.cfg.Timing.Sweep))
}

// putOff gives a claim back without a turn.
func (e *Engine) putOff(ctx context.Context, c incident.Claimed, until time.Time) error {
	return unlessFenced(e.deps.Incidents.ReleaseClaim(ctx, c.Incident.ID, c.Fence, c.Incident.Version, until))
}
