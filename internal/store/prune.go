package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Keep says for how long what is over stays in the store.
type Keep struct {
	// Done is how long deliveries and clicks stay that are done; their content is dropped at once.
	Done time.Duration
	// Incidents is how long closed incidents stay, with their journal, writes and messages; and deliveries that were given
	// up.
	Incidents time.Duration
	// Writes is the longest window over which writes are counted: an incident with a younger write stays, whatever
	// Incidents says.
	Writes time.Duration
}

// DefaultKeep is what the bot uses: a week to look into what Alertmanager sent, a quarter of a year to look back at
// incidents. The guardrails count writes over a day.
var DefaultKeep = Keep{Done: 7 * 24 * time.Hour, Incidents: 90 * 24 * time.Hour, Writes: 24 * time.Hour}

// pruneBatch bounds what one call removes of each kind, so that it never holds the writer for long, and pruneEnded the
// ends of unknown alerts, which are small and may be many.
const (
	pruneBatch = 200
	pruneEnded = 1000
)

// Pruned counts what a call of Prune removed. Ended are the remembered ends of alerts that no incident knew of.
type Pruned struct{ Deliveries, Ended, Clicks, Incidents int64 }

// All is the sum.
func (p Pruned) All() int64 { return p.Deliveries + p.Ended + p.Clicks + p.Incidents }

// Prune removes some of what is over for longer than keep says, and says how much; call it again until that is nothing.
// An incident goes whole or not at all. One that is open, was reopened, holds a lock, has a write that has not ended,
// or one inside keep.Writes, stays.
func (s *Store) Prune(ctx context.Context, now time.Time, keep Keep) (Pruned, error) {
	var out Pruned
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		done, old := nanos(now.Add(-keep.Done)), nanos(now.Add(-keep.Incidents))
		if out.Deliveries, err = s.changed(ctx, tx, `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
			WHERE (state = 'done' AND received_at < ?) OR (state = 'dead' AND received_at < ?) ORDER BY id LIMIT ?)`, done, old,
			pruneBatch); err != nil {
			return err
		}
		if out.Ended,
			err = s.changed(ctx, tx, `DELETE FROM ended_alerts WHERE fingerprint IN (SELECT fingerprint FROM ended_alerts
			WHERE seen_at < ? ORDER BY seen_at LIMIT ?)`, nanos(now.Add(-endedFor)), pruneEnded); err != nil {
			return err
		}
		out.Clicks, err = s.changed(ctx, tx,
			`DELETE FROM clicks WHERE id IN (
				SELECT id FROM clicks WHERE state = 'done' AND received_at < ? ORDER BY id LIMIT ?)`, done, pruneBatch)
		return err
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("prune deliveries and clicks: %w", err)
	}
	var gone []head
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		gone, err = s.pruneIncidents(ctx, tx, now, keep)
		return err
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("prune incidents: %w", err)
	}
	s.logRemoved(ctx, gone)
	out.Incidents = int64(len(gone))
	return out, nil
}

// pruneIncidents locks the rows that it removes, so that an incident cannot be reopened meanwhile. Of each journal a
// note stays, by which its removal differs from somebody else's.
func (s *Store) pruneIncidents(ctx context.Context, tx *sql.Tx, now time.Time, keep Keep) ([]head, error) {
	// The incident must be gone before its journal may go, which the triggers demand; the reference is checked at the
	// commit.
	later := `PRAGMA defer_foreign_keys = ON`
	if s.postgres {
		later = `SET CONSTRAINTS journal_incident_fkey DEFERRED`
	}
	if _, err := tx.ExecContext(ctx, later); err != nil {
		return nil, err
	}
	ids, err := list(ctx, s, tx, scanID, `SELECT id FROM incidents
			WHERE state = 'closed' AND closed_at > 0 AND closed_at < ?
			AND NOT EXISTS (SELECT 1 FROM locks l WHERE l.incident = incidents.id)
			AND NOT EXISTS (SELECT 1 FROM writes w WHERE w.incident = incidents.id AND (w.ended_at = 0 OR w.started_at >= ?))
		ORDER BY opened_at, id LIMIT ?`+s.skipLocked(), nanos(now.Add(-keep.Incidents)), nanos(now.Add(-keep.Writes)),
		pruneBatch)
	if err != nil {
		return nil, err
	}
	gone := make([]head, len(ids))
	for n, id := range ids {
		if gone[n], err = s.noteRemoved(ctx, tx, id, now); err != nil {
			return nil, fmt.Errorf("incident %s: %w", id, err)
		}
		for _, q := range []string{
			`DELETE FROM messages WHERE incident = ?`, `DELETE FROM writes WHERE incident = ?`,
			`DELETE FROM incidents WHERE id = ?`,
			`DELETE FROM journal WHERE incident = ?`,
		} {
			if _, err := s.changed(ctx, tx, q, id); err != nil {
				return nil, fmt.Errorf("incident %s: %w", id, err)
			}
		}
	}
	return gone, s.pruneDigests(ctx, tx, now.Add(-keep.Incidents))
}

// emptyDigests lists digests without incidents.
const emptyDigests = `SELECT incident FROM messages WHERE kind = ? AND joined_at < ?
	AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.digest = messages.incident AND m.digest <> '')
	ORDER BY joined_at, incident LIMIT ?`

// pruneDigests removes what nobody can see any more: digests that no incident in the store has joined.
func (s *Store) pruneDigests(ctx context.Context, tx *sql.Tx, before time.Time) error {
	ids, err := list(ctx, s, tx, scanID, emptyDigests+s.skipLocked(), incident.KindDigest, nanos(before), pruneBatch)
	if err != nil {
		return fmt.Errorf("digests: %w", err)
	}
	for _, id := range ids {
		for _, q := range []string{`DELETE FROM digest_calls WHERE digest = ?`, `DELETE FROM messages WHERE incident = ?`} {
			if _, err := s.changed(ctx, tx, q, id); err != nil {
				return fmt.Errorf("digest %s: %w", id, err)
			}
		}
	}
	return nil
}
