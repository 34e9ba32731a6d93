package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// AddClick keeps a click until it is finished. It answers false when one with the same identity has been kept before,
// finished or not (see Keep.Done); an empty identity is nobody's.
func (s *Store) AddClick(ctx context.Context, at time.Time, identity string, payload []byte) (bool, error) {
	n, err := s.changed(ctx, s.write,
		`INSERT INTO clicks (received_at, identity, payload) VALUES (?, ?, ?) ON CONFLICT (identity) DO NOTHING`, nanos(at),
		sql.NullString{String: identity, Valid: identity != ""}, payload)
	if err != nil {
		return false, fmt.Errorf("keep a click: %w", err)
	}
	return n > 0, nil
}

// ClaimClick takes the oldest click that nobody works on, and false when there is none.
func (s *Store) ClaimClick(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Click, bool,
	error,
) {
	s.clock.lease(lease)
	var c incident.Click
	found := false
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var at int64
		row := tx.QueryRowContext(ctx,
			s.q(`SELECT id, received_at, payload, fence FROM clicks WHERE state = 'new' AND lease_until <= ?
				ORDER BY id LIMIT 1`+s.skipLocked()), nanos(now))
		switch err := row.Scan(&c.ID, &at, &c.Payload, &c.Fence); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		c.ReceivedAt, found = moment(at), true
		c.Fence++
		_, err := s.changed(ctx, tx, `UPDATE clicks SET fence = ?, lease_owner = ?, lease_until = ? WHERE id = ?`, c.Fence,
			owner, nanos(now.Add(lease)), c.ID)
		return err
	})
	if err != nil {
		return incident.Click{}, false, fmt.Errorf("claim a click: %w", err)
	}
	return c, found, nil
}

// FinishClick ends a claimed click and forgets its payload. It answers incident.ErrFenced when somebody else has it.
func (s *Store) FinishClick(ctx context.Context, c incident.Click) error {
	n, err := s.changed(ctx, s.write,
		`UPDATE clicks SET state = 'done', payload = ?, lease_until = 0 WHERE id = ? AND fence = ? AND state = 'new'`,
		[]byte{}, c.ID, c.Fence)
	if err != nil {
		return fmt.Errorf("end click %d: %w", c.ID, err)
	}
	if n == 0 {
		return fmt.Errorf("click %d: %w", c.ID, incident.ErrFenced)
	}
	return nil
}
