package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// writeResult is how a write ended. A dry run's was once called "drilled", and rows of older versions still say so.
const writeResult = `CASE result WHEN 'drilled' THEN 'dry-run' ELSE result END`

const writeColumns = `SELECT id, incident, step, pool, kind, target, op, drill, started_at, ended_at, ` + writeResult +
	` FROM writes`

// WritesSince returns the writes of a pool that began at or after since, the oldest first, dry runs included.
func (s *Store) WritesSince(ctx context.Context, pool string, since time.Time) ([]incident.Write, error) {
	return s.listWrites(ctx, writeColumns+` WHERE pool = ? AND started_at >= ? ORDER BY started_at, id`, pool,
		nanos(since))
}

// OpenWrites returns the writes that were claimed and have not ended.
func (s *Store) OpenWrites(ctx context.Context) ([]incident.Write, error) {
	return s.listWrites(ctx, writeColumns+` WHERE ended_at = 0 ORDER BY started_at, id`)
}

func (s *Store) listWrites(ctx context.Context, query string, args ...any) ([]incident.Write, error) {
	out, err := list(ctx, s, s.read, func(r *sql.Rows) (incident.Write, error) {
		var w incident.Write
		var kind, op, result string
		var dryRun, started, ended int64
		err := r.Scan(&w.ID, &w.Incident, &w.Step, &w.Pool, &kind, &w.Target, &op, &dryRun, &started, &ended, &result)
		w.Kind, w.Op, w.Result = incident.StepKind(kind), incident.Op(op), incident.WriteResult(result)
		w.DryRun, w.StartedAt, w.EndedAt = dryRun == 1, moment(started), moment(ended)
		return w, err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list writes: %w", err)
	}
	return out, nil
}

// Locks maps the key of each locked object to the incident that holds it.
func (s *Store) Locks(ctx context.Context) (map[string]string, error) {
	pairs, err := list(ctx, s, s.read, func(r *sql.Rows) ([2]string, error) {
		var p [2]string
		return p, r.Scan(&p[0], &p[1])
	}, `SELECT target, incident FROM locks`)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	out := map[string]string{}
	for _, p := range pairs {
		out[p[0]] = p[1]
	}
	return out, nil
}

// SetPause stops writes of the scope; a later one (by Pause.At) for the same scope replaces the earlier one, never the
// other way around. When it returns, every claim either is in OpenWrites or will be refused.
func (s *Store) SetPause(ctx context.Context, p incident.Pause) error {
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if s.postgres {
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, pauseLock); err != nil {
				return err
			}
		}
		_, err := s.changed(ctx, tx, `INSERT INTO pauses (pool, reason, by_kind, by_id, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (pool) DO UPDATE
				SET reason = excluded.reason, by_kind = excluded.by_kind, by_id = excluded.by_id, at = excluded.at
				WHERE excluded.at >= pauses.at`,
			p.Pool, p.Reason, string(p.By.Kind), p.By.ID, nanos(p.At))
		return err
	})
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// ClearPause ends the pause of a scope that was set until asked, which is when a person asked for it in the store's
// time, and says whether there was one. A pause that was set after that stays, so that it may be called twice.
func (s *Store) ClearPause(ctx context.Context, pool string, asked time.Time) (bool, error) {
	n, err := s.changed(ctx, s.write, `DELETE FROM pauses WHERE pool = ? AND at <= ?`, pool, nanos(asked))
	if err != nil {
		return false, fmt.Errorf("resume: %w", err)
	}
	s.wake.signal()
	return n > 0, nil
}

// Pauses lists the pauses in force.
func (s *Store) Pauses(ctx context.Context) ([]incident.Pause, error) { return s.pauses(ctx, s.read) }

func (s *Store) pauses(ctx context.Context, db querier) ([]incident.Pause, error) {
	out, err := list(ctx, s, db, func(r *sql.Rows) (incident.Pause, error) {
		var p incident.Pause
		var at int64
		err := r.Scan(&p.Pool, &p.Reason, &p.By.Kind, &p.By.ID, &at)
		p.At = moment(at)
		return p, err
	}, `SELECT pool, reason, by_kind, by_id, at FROM pauses ORDER BY pool`)
	if err != nil {
		return nil, fmt.Errorf("list pauses: %w", err)
	}
	return out, nil
}
