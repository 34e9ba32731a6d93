package remediation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// mostHung is how many turns that were given up may go on beside claimAtOnce places. Any more keep their places: when
// all of these are taken, no incident is advanced any more, and the process counts as stuck.
const mostHung = 8

// turns are those under way in this process, and those that were given up and have not ended.
type turns struct {
	mu      sync.Mutex
	running map[string]*flight
	hung    int
	gaveUp  int64
}

// flight is one turn: ended is closed when it ends, lost when it is given up.
type flight struct{ ended, lost chan struct{} }

// Turns counts the engine's turns in this process.
type Turns struct {
	// Hung were given up and have not ended.
	Hung int
	// GivenUp is how many were given up so far.
	GivenUp int64
}

// Turns says how the turns go.
func (e *Engine) Turns() Turns {
	e.turns.mu.Lock()
	defer e.turns.mu.Unlock()
	return Turns{Hung: e.turns.hung, GivenUp: e.turns.gaveUp}
}

// begin waits for the turn on this incident that is about to end, and answers nil when there is one that was given up.
func (t *turns) begin(id string) *flight {
	for {
		t.mu.Lock()
		other := t.running[id]
		if other == nil {
			f := &flight{ended: make(chan struct{}), lost: make(chan struct{})}
			if t.running == nil {
				t.running = map[string]*flight{}
			}
			t.running[id] = f
			t.mu.Unlock()
			return f
		}
		t.mu.Unlock()
		select {
		case <-other.ended: // it has given its claim back just before
		case <-other.lost:
			return nil
		}
	}
}

// end takes a turn out that has ended.
func (t *turns) end(id string, f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, id)
	close(f.ended)
	select {
	case <-f.lost:
		t.hung--
	default:
	}
}

// giveUp counts a turn that does not end and says whether its place may be given away; ok is false when it has just
// ended.
func (t *turns) giveUp(f *flight) (free, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-f.ended:
		return true, false
	default:
	}
	close(f.lost)
	t.gaveUp++
	t.hung++
	return t.hung <= mostHung, true
}

// supervise takes a claimed incident one step on, whatever becomes of the turn: a panic is its error, and a turn that
// does not end although its time is over is given up. Both are noted on the incident, which is then tried again ever
// more rarely. A turn that was given up cannot be stopped: its incident is not begun again here before it has ended,
// and its commits come too late.
func (e *Engine) supervise(ctx context.Context, c incident.Claimed) error {
	err := e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.watchOver(ctx, c) },
		slog.String("incident", c.Incident.ID))
	if err != nil {
		return fmt.Errorf("advance incident %s (%s): %w", c.Incident.ID, c.Incident.State, err)
	}
	return nil
}

func (e *Engine) watchOver(ctx context.Context, c incident.Claimed) error {
	id := c.Incident.ID
	f := e.turns.begin(id)
	if f == nil {
		// Its turn has outlived the lease; another replica may have it.
		return e.putOff(ctx, c, e.deps.Now().Add(e.cfg.Timing.Watch))
	}
	done := make(chan error, 1)
	go func() {
		err := e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.turnOn(ctx, c) }, slog.String("incident", id))
		e.turns.end(id, f)
		done <- err
	}()
	limit := e.cfg.Timing.Lease * 19 / 20
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case err := <-done:
		return err
	case <-patience.C:
	}
	free, ok := e.turns.giveUp(f)
	if !ok {
		return <-done
	}
	e.deps.Logger.ErrorContext(ctx, "a turn does not end and was given up", "incident", id, "state", c.Incident.State,
		"after", limit, "place_freed", free)
	err := e.setBack(ctx, c, incident.SetbackHung, "")
	ended := func() {
		e.deps.Logger.WarnContext(ctx, "a turn that had been given up has ended", "incident", id, "err", <-done)
	}
	if free {
		go ended()
	} else {
		ended()
	}
	return err
}

// turnOn is one turn, with what has to be noted before and after it.
func (e *Engine) turnOn(ctx context.Context, c incident.Claimed) error {
	if c.Abandoned && c.Incident.Open() {
		if goOn, err := e.takeOver(ctx, &c); err != nil || !goOn {
			return err
		}
	}
	if s := c.Incident.Setback; s != nil && s.RetryAt.After(e.deps.Now()) {
		return e.putOff(ctx, c, s.RetryAt) // an alert has woken it
	}
	err := e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.Advance(ctx, c) },
		slog.String("incident", c.Incident.ID))
	if caught, ok := errors.AsType[*rescue.PanicError](err); ok {
		return errors.Join(err, e.setBack(ctx, c, incident.SetbackPanic, shorten(caught.Error(), 200)))
	}
	if err == nil && c.Incident.Setback != nil {
		return e.recovered(ctx, c.Incident.ID)
	}
	return err
}
