package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"
)

// wakeChannel is the name under which replicas tell each other that something may be due.
const wakeChannel = "vllm_medic_wake"

// waker tells everybody who waits that something may be due, by closing the channel they hold.
type waker struct {
	mu sync.Mutex
	ch chan struct{}
}

func newWaker() *waker { return &waker{ch: make(chan struct{})} }

func (w *waker) channel() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ch
}

func (w *waker) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.ch)
	w.ch = make(chan struct{})
}

// announce tells the other replicas, when the transaction commits.
func (s *Store) announce(ctx context.Context, tx querier) error {
	if !s.postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, '')`, wakeChannel)
	return err
}

// listen waits for the other replicas until the context ends, and connects again when the connection breaks. A lost notification costs one sweep.
func (s *Store) listen(ctx context.Context, cfg *pgx.ConnConfig) {
	for ctx.Err() == nil {
		backoff := retry.WithCappedDuration(30*time.Second, retry.NewExponential(500*time.Millisecond))
		err := retry.Do(ctx, backoff, func(ctx context.Context) error {
			if err := s.listenOnce(ctx, cfg); err != nil {
				return retry.RetryableError(err)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "cannot listen to other replicas", "err", redact(err, cfg.Password))
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is given up
	if _, err := conn.Exec(ctx, "LISTEN "+wakeChannel); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		s.wake.signal()
	}
}
