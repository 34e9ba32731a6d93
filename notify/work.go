package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// work is what one dispatcher has under way: at most Config.Parallel messages, each for itself. One that is slow holds
// up nobody else.
type work struct {
	d *Dispatcher
	// running are the incidents whose messages are under way, with when they were claimed; ended receives each when it is
	// done.
	running map[string]time.Time
	ended   chan ended
	// more says that there may be more to claim when a turn ends than there was before.
	more bool
}

type ended struct {
	incident string
	err      error
}

func (d *Dispatcher) newWork() *work {
	return &work{d: d, running: map[string]time.Time{}, ended: make(chan ended, d.cfg.Parallel)}
}

// claim begins as many messages as there is room for and says how many.
func (w *work) claim(ctx context.Context) (int, error) {
	room := w.d.cfg.Parallel - len(w.running)
	w.more = room == 0
	select {
	case <-ctx.Done():
		return 0, nil // nothing new is begun
	default:
	}
	if room == 0 {
		return 0, nil
	}
	now := w.now()
	claimed, err := w.d.outbox.ClaimMessages(ctx, w.d.cfg.Sink, w.d.cfg.Owner, now, w.d.cfg.Lease, room)
	if err != nil {
		return 0, fmt.Errorf("claim messages: %w", err)
	}
	w.more = len(claimed) == room
	begun := 0
	for _, m := range claimed {
		if began, busy := w.running[m.Incident]; busy {
			err = errors.Join(err, w.giveBack(ctx, m, began))
			continue
		}
		begun++
		w.running[m.Incident] = now
		v := &delivery{d: w.d, m: m, now: w.d.cfg.Now, stop: ctx.Done(), before: m.LastError}
		go func() {
			inner, cancel := w.d.messageContext(ctx)
			defer cancel()
			w.ended <- ended{m.Incident, v.rescued(inner)}
		}()
	}
	return begun, err
}

// giveBack releases the claim on a message whose last turn has not ended here: the store has just seen its end, and the
// message changed again before the dispatcher did. It is claimed once more when it has. The claim is kept when the turn
// has outlived its lease: nothing that it saves is taken any more, but it may still post. The claim runs out, and
// whoever is next finds the intent.
func (w *work) giveBack(ctx context.Context, m incident.Message, began time.Time) error {
	if w.now().Sub(began) >= w.d.cfg.Lease {
		w.d.logger.WarnContext(ctx, "the turn of a message does not end; the message waits for it", "incident", m.Incident)
		return nil
	}
	w.more = true
	err := w.d.outbox.SaveMessage(ctx, m, true)
	if err != nil && !errors.Is(err, incident.ErrFenced) {
		return fmt.Errorf("give a message back: %w", err)
	}
	return nil
}

// now is the wall clock: leases go by it, also when it is set.
func (w *work) now() time.Time { return w.d.cfg.Now().Round(0) }

// end takes note of a message that is done and returns the store's error, if there was one.
func (w *work) end(e ended) error {
	delete(w.running, e.incident)
	return e.err
}

// wait waits for what is under way.
func (w *work) wait() {
	for len(w.running) > 0 {
		w.end(<-w.ended) //nolint:errcheck // the next process reads what was saved
	}
}

// trouble logs an error of the store when it is new, and its end.
type trouble struct {
	logger *slog.Logger
	last   string
}

func (t *trouble) report(ctx context.Context, err error) {
	switch {
	case err != nil && err.Error() != t.last:
		t.logger.ErrorContext(ctx, "messages cannot be read or saved; they will be late", "err", err)
		t.last = err.Error()
	case err == nil && t.last != "":
		t.logger.InfoContext(ctx, "messages can be read and saved again")
		t.last = ""
	}
}
