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

// listen waits for the other replicas until the context ends, and connects again when the connection breaks. A lost
// notification costs one sweep.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		backoff := retry.WithCappedDuration(30*time.Second, retry.NewExponential(500*time.Millisecond))
		err := retry.Do(ctx, backoff, func(ctx context.Context) error {
			if err := s.listenOnce(ctx); err != nil {
				return retry.RetryableError(err)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "cannot listen to other replicas", "err", s.access.hide(err))
		}
	}
}

// listenEvery is how long a connection that listens may be silent before it is asked whether it is still there.
const listenEvery = 30 * time.Second

func (s *Store) listenOnce(ctx context.Context) error {
	conn, err := s.listening(ctx)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bye) //nolint:errcheck // the connection is given up
	}()
	for ctx.Err() == nil {
		heard, err := s.hear(ctx, conn)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case heard:
			s.wake.signal()
		}
	}
	return nil
}

// listening connects and asks for notifications.
func (s *Store) listening(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout(), ErrTimeout)
	defer cancel()
	cfg := s.server.Copy()
	if err := s.access.renew(ctx, cfg); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+wakeChannel); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// hear waits for a notification. After a silence it asks the server for a sign of life, without which the connection is
// dead.
func (s *Store) hear(ctx context.Context, conn *pgx.Conn) (bool, error) {
	wait, cancel := context.WithTimeout(ctx, listenEvery)
	defer cancel()
	_, err := conn.WaitForNotification(wait)
	if err == nil || wait.Err() == nil {
		return err == nil, err
	}
	alive, done := context.WithTimeoutCause(ctx, s.timeout(), ErrTimeout)
	defer done()
	return false, conn.Ping(alive)
}
