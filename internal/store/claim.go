package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ClaimDue takes incidents that are due and that nobody works on, the longest due first. Each claim raises the fence,
// so that a late commit of an earlier holder is refused. One that cannot be read is logged and left alone until the
// next start; it holds nobody up.
func (s *Store) ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Claimed, error) {
	s.clock.lease(lease)
	var out []incident.Claimed
	bad := map[string]error{}
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		found, err := list(ctx, s, tx, scanClaim, `SELECT id, fence, lease_until, body FROM incidents
			WHERE due_at > 0 AND due_at <= ? AND lease_until <= ? AND unreadable = 0 ORDER BY due_at LIMIT ?`+s.skipLocked(),
			nanos(now), nanos(now), limit)
		if err != nil {
			return err
		}
		for _, r := range found {
			inc, err := decode(r.body)
			if err != nil {
				bad[r.id] = err
				if _, err := s.changed(ctx, tx, `UPDATE incidents SET unreadable = 1 WHERE id = ?`, r.id); err != nil {
					return err
				}
				continue
			}
			c := incident.Claimed{Incident: inc, Fence: r.fence + 1, Abandoned: r.lease > 0}
			if _, err := s.changed(ctx, tx, `UPDATE incidents SET fence = ?, lease_owner = ?, lease_until = ? WHERE id = ?`,
				c.Fence, owner, nanos(now.Add(lease)), r.id); err != nil {
				return err
			}
			out = append(out, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim due incidents: %w", err)
	}
	for id, err := range bad {
		s.unreadable(ctx, id, err)
	}
	return out, nil
}

// body is an incident as it stands in the database.
type body struct {
	id           string
	fence, lease int64
	body         string
}

func scanClaim(r *sql.Rows) (body, error) {
	var b body
	return b, r.Scan(&b.id, &b.fence, &b.lease, &b.body)
}

func scanBody(r *sql.Rows) (body, error) {
	var b body
	return b, r.Scan(&b.id, &b.fence, &b.body)
}

// ReleaseClaim gives a claim back without a change; the incident is due again at dueAt, never when that is zero.
// incident.ErrFenced says that the claim was lost. When somebody committed since the version that was read, their due
// time stays: they had a reason to look.
func (s *Store) ReleaseClaim(ctx context.Context, id string, fence, version int64, dueAt time.Time) error {
	n, err := s.changed(ctx, s.write,
		`UPDATE incidents SET lease_until = 0, due_at = CASE WHEN version = ? THEN ? ELSE due_at END
			WHERE id = ? AND fence = ?`,
		version, nanos(dueAt), id, fence)
	if err != nil {
		return fmt.Errorf("release incident %s: %w", id, err)
	}
	if n == 0 {
		return fmt.Errorf("release incident %s: %w", id, incident.ErrFenced)
	}
	return nil
}

func decode(body string) (incident.Incident, error) {
	var inc incident.Incident
	if err := json.Unmarshal([]byte(body), &inc); err != nil {
		return incident.Incident{}, fmt.Errorf("read an incident from JSON: %w", err)
	}
	if inc.Journal == nil {
		inc.Journal = []incident.Entry{}
	}
	return inc, nil
}
