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
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
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
	err := s.row(ctx, s.read, []any{&n}, `SELECT COUNT(*) FROM deliveries WHERE state = 'dead'`)
	return n, err
}
