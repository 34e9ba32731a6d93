package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ErrClosed says that the store has been closed.
var ErrClosed = errors.New("the store is closed")

// batchLimit bounds how many deliveries share one commit, queueLimit how many may wait for one. A full queue is an error, which Alertmanager
// answers by sending again.
const (
	batchLimit = 256
	queueLimit = 1024
)

// committer gathers concurrent deliveries into shared commits: one disk flush instead of one each.
type committer struct {
	store *Store
	queue chan *waiting
	done  chan struct{}
}

type waiting struct {
	delivery incident.Delivery
	body     []byte
	id       int64
	err      error
	ready    chan struct{}
}

func newCommitter(s *Store) *committer {
	return &committer{store: s, queue: make(chan *waiting, queueLimit), done: make(chan struct{})}
}

// run commits what waits until the context ends; what waits then gets ErrClosed.
func (c *committer) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-c.queue:
			c.commit(ctx, c.gather(first))
		}
	}
}

func (c *committer) gather(first *waiting) []*waiting {
	batch := []*waiting{first}
	for len(batch) < batchLimit {
		select {
		case w := <-c.queue:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

func (c *committer) commit(ctx context.Context, batch []*waiting) {
	s := c.store
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		for _, w := range batch {
			row := tx.QueryRowContext(ctx, s.q(`INSERT INTO deliveries (received_at, body) VALUES (?, ?) RETURNING id`), nanos(w.delivery.ReceivedAt), string(w.body))
			if err := row.Scan(&w.id); err != nil {
				return fmt.Errorf("insert a delivery: %w", err)
			}
		}
		return s.announce(ctx, tx)
	})
	for _, w := range batch {
		w.err = err
		close(w.ready)
	}
	if err == nil {
		s.wake.signal()
	}
}

// AddDelivery commits one delivery, together with others that wait at the same time. When the context ends first the delivery may have been
// committed all the same: delivery is at least once.
func (s *Store) AddDelivery(ctx context.Context, d incident.Delivery) (int64, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("write a delivery as JSON: %w", err)
	}
	w := &waiting{delivery: d, body: body, ready: make(chan struct{})}
	select {
	case s.commits.queue <- w:
	case <-s.commits.done:
		return 0, ErrClosed
	default:
		return 0, fmt.Errorf("%d deliveries wait for the disk already", queueLimit)
	}
	select {
	case <-w.ready:
		return w.id, w.err
	case <-s.commits.done:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// ClaimDelivery takes the oldest delivery that nobody works on, and false when there is none. One that cannot be read is logged and parked as dead.
func (s *Store) ClaimDelivery(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Delivery, bool, error) {
	for {
		d, found, bad, err := s.claimDelivery(ctx, owner, now, lease)
		if err != nil {
			return incident.Delivery{}, false, fmt.Errorf("claim a delivery: %w", err)
		}
		if bad == nil {
			return d, found, nil
		}
		s.gaveUp(ctx, d.ID, bad.Error())
	}
}

// claimDelivery looks at one delivery; bad says why that one cannot be read, and that it was parked.
func (s *Store) claimDelivery(ctx context.Context, owner string, now time.Time, lease time.Duration) (d incident.Delivery, found bool, bad, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		var id, attempts, fence int64
		var body string
		row := tx.QueryRowContext(ctx, s.q(`SELECT id, attempts, fence, body FROM deliveries
			WHERE state = 'new' AND next_at <= ? AND lease_until <= ? ORDER BY id LIMIT 1`+s.skipLocked()), nanos(now), nanos(now))
		switch err := row.Scan(&id, &attempts, &fence, &body); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		if bad = json.Unmarshal([]byte(body), &d); bad != nil {
			bad = fmt.Errorf("read it from JSON: %w", bad)
			d = incident.Delivery{ID: id, Fence: fence}
			return s.endDelivery(ctx, tx, d, "dead", bad.Error(), time.Time{})
		}
		d.ID, d.Attempts, d.Fence, found = id, int(attempts)+1, fence+1, true
		_, err := s.changed(ctx, tx, `UPDATE deliveries SET attempts = ?, fence = ?, lease_owner = ?, lease_until = ? WHERE id = ?`,
			d.Attempts, d.Fence, owner, nanos(now.Add(lease)), id)
		return err
	})
	return d, found, bad, err
}

// FailDelivery puts a claimed delivery back until retryAt, or logs it and parks it as dead when it was tried too often. It answers
// incident.ErrFenced when somebody else has it.
func (s *Store) FailDelivery(ctx context.Context, d incident.Delivery, reason string, retryAt time.Time) error {
	if d.Attempts < s.opts.MaxDeliveryAttempts {
		return s.endDelivery(ctx, s.write, d, "new", reason, retryAt)
	}
	if err := s.endDelivery(ctx, s.write, d, "dead", reason, retryAt); err != nil {
		return err
	}
	s.gaveUp(ctx, d.ID, reason)
	return nil
}

// FinishDelivery ends a claimed delivery that changed nothing.
func (s *Store) FinishDelivery(ctx context.Context, d incident.Delivery) error {
	return s.endDelivery(ctx, s.write, d, "done", "", time.Time{})
}

// endDelivery stores what became of a delivery. The body of one that is done, up to 10 MiB, is in its incidents by now and is dropped.
func (s *Store) endDelivery(ctx context.Context, db querier, d incident.Delivery, state, reason string, next time.Time) error {
	n, err := s.changed(ctx, db, `UPDATE deliveries SET state = ?, reason = ?, next_at = ?, lease_until = 0, body = CASE WHEN ? = 1 THEN '' ELSE body END
		WHERE id = ? AND fence = ? AND state = 'new'`, state, reason, nanos(next), flag(state == "done"), d.ID, d.Fence)
	if err != nil {
		return fmt.Errorf("end delivery %d: %w", d.ID, err)
	}
	if n == 0 {
		return fmt.Errorf("delivery %d: %w", d.ID, incident.ErrFenced)
	}
	return nil
}

// DeadDeliveries counts the deliveries that were given up. Stats has the same number among others; this is for those who ask for nothing else.
func (s *Store) DeadDeliveries(ctx context.Context) (int64, error) {
	var n int64
	err := s.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM deliveries WHERE state = 'dead'`).Scan(&n)
	return n, err
}
