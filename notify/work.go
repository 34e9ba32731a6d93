package notify

import (
	"context"
	"fmt"
	"log/slog"
)

// work is what one dispatcher has under way: at most Config.Parallel messages, each for itself. One that is slow holds
// up nobody else.
type work struct {
	d *Dispatcher
	// running are the incidents whose messages are under way; ended receives each when it is done.
	running map[string]bool
	ended   chan ended
	// more says that there may be more to claim than there was room for.
	more bool
}

type ended struct {
	incident string
	err      error
}

func (d *Dispatcher) newWork() *work {
	return &work{d: d, running: map[string]bool{}, ended: make(chan ended, d.cfg.Parallel)}
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
	claimed, err := w.d.outbox.ClaimMessages(ctx, w.d.cfg.Owner, w.d.cfg.Now(), w.d.cfg.Lease, room)
	if err != nil {
		return 0, fmt.Errorf("claim messages: %w", err)
	}
	w.more = len(claimed) == room
	for _, m := range claimed {
		if w.running[m.Incident] {
			// Its turn has outlived its lease, and nothing it saves is taken any more. The new claim runs out, and whoever is
			// next finds the intent.
			w.d.logger.WarnContext(ctx, "the turn of a message does not end; the message waits for it", "incident", m.Incident)
			continue
		}
		w.running[m.Incident] = true
		v := &delivery{d: w.d, m: m, now: w.d.cfg.Now, stop: ctx.Done(), before: m.LastError}
		go func() {
			inner, cancel := w.d.messageContext(ctx)
			defer cancel()
			w.ended <- ended{m.Incident, v.rescued(inner)}
		}()
	}
	return len(claimed), nil
}

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
