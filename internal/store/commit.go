package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// pauseLock is the number of the advisory lock that orders pauses and claims on PostgreSQL. SQLite has one writer and
// needs none.
const pauseLock = 0x76_6d_65_64 // "vmed"

// Commit makes all changes or none. The errors are those that incident.Change names. After a nil error the versions are
// Expect+1.
func (s *Store) Commit(ctx context.Context, changes ...incident.Change) error {
	return s.commit(ctx, changes, func(context.Context, *sql.Tx) error { return nil })
}

// commit makes the changes and whatever goes with them, all or nothing.
func (s *Store) commit(ctx context.Context, changes []incident.Change,
	with func(ctx context.Context, tx *sql.Tx) error,
) error {
	var heads []head
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var wants []want
		var tallies []incident.Tally
		for _, ch := range changes {
			h, told, ended, err := s.commitOne(ctx, tx, ch)
			if err != nil {
				return fmt.Errorf("incident %s: %w", ch.Incident.ID, err)
			}
			heads, tallies = append(heads, h), append(append(tallies, ch.Tallies()...), ended...)
			if (ch.Render || told.last > 0) && !ch.Incident.Unshown {
				wants = append(wants, want{ch.Incident, ch.Expect + 1, told, !ch.OnlyCounts()})
			}
		}
		if err := with(ctx, tx); err != nil {
			return err
		}
		if err := s.want(ctx, tx, wants); err != nil {
			return err
		}
		if err := s.tally(ctx, tx, tallies); err != nil {
			return err
		}
		return s.announce(ctx, tx)
	})
	if err == nil {
		s.wake.signal()
		s.logHeads(ctx, heads)
	}
	return err
}

// commitOne makes one change. It returns the writes that it ended, too, to be counted.
func (s *Store) commitOne(ctx context.Context, tx *sql.Tx, ch incident.Change) (head, lines, []incident.Tally, error) {
	if err := s.save(ctx, tx, ch); err != nil {
		return head{}, lines{}, nil, err
	}
	h, told, err := s.addEntries(ctx, tx, ch)
	if err != nil {
		return head{}, lines{}, nil, err
	}
	ended, err := s.writesOf(ctx, tx, ch)
	if err != nil {
		return head{}, lines{}, nil, err
	}
	if err := s.locksOf(ctx, tx, ch); err != nil {
		return head{}, lines{}, nil, err
	}
	return h, told, ended, s.keepSnapshot(ctx, tx, ch)
}

func (s *Store) save(ctx context.Context, tx *sql.Tx, ch incident.Change) error {
	inc := ch.Incident
	inc.Version = ch.Expect + 1
	inc.Journal, inc.Paused = nil, nil
	body, err := json.Marshal(inc)
	if err != nil {
		return fmt.Errorf("write as JSON: %w", err)
	}
	if ch.Expect == 0 {
		_, err := s.changed(ctx, tx,
			`INSERT INTO incidents (id, pool, state, version, opened_at, closed_at, due_at, exercise, body)
				VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)`,
			inc.ID, inc.Pool, string(inc.State), nanos(inc.OpenedAt), nanos(inc.ClosedAt), nanos(ch.DueAt), exercise(inc),
			string(body))
		return existing(err)
	}
	due := nanos(ch.DueAt)
	query := `UPDATE incidents SET state = ?, version = ?, closed_at = ?, exercise = ?, body = ?,
		due_at = CASE WHEN ? = 1 AND due_at > 0 AND (CAST(? AS BIGINT) = 0 OR due_at < ?) THEN due_at ELSE ? END,
		lease_until = CASE WHEN ? = 1 THEN 0 ELSE lease_until END WHERE id = ? AND version = ?`
	args := []any{
		string(inc.State), inc.Version, nanos(inc.ClosedAt), exercise(inc), string(body), flag(ch.Sooner), due, due, due,
		flag(ch.Fence != 0 && ch.Release), inc.ID, ch.Expect,
	}
	if ch.Fence != 0 {
		query, args = query+` AND fence = ?`, append(args, ch.Fence)
	}
	n, err := s.changed(ctx, tx, query, args...)
	switch {
	case err != nil:
		return existing(err)
	case n == 0:
		return s.whyNot(ctx, tx, ch)
	}
	return nil
}

// exercise is how a drill has ended, or that it goes on; empty for every other incident.
func exercise(inc incident.Incident) string {
	if inc.Drill == nil {
		return ""
	}
	return cmp.Or(string(inc.Drill.Result), exerciseRunning)
}

const exerciseRunning = "running"

// existing tells the two ways of a duplicate apart: the same incident again, or a second open one, or a second drill,
// of the pool.
func existing(err error) error {
	index, dup := duplicate(err)
	switch {
	case !dup:
		return err
	case strings.Contains(index, "incidents_open_") || strings.Contains(index, "incidents.pool"):
		return incident.ErrPoolOpen
	default:
		return incident.ErrStale
	}
}

func (s *Store) whyNot(ctx context.Context, tx *sql.Tx, ch incident.Change) error {
	var version, fence int64
	err := s.row(ctx, tx, []any{&version, &fence}, `SELECT version, fence FROM incidents WHERE id = ?`, ch.Incident.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return incident.ErrNotFound
	case err != nil:
		return err
	case ch.Fence != 0 && ch.Fence != fence:
		return incident.ErrFenced
	default:
		return incident.ErrStale
	}
}

// writesOf claims and ends writes, and returns those that ended, to be counted.
func (s *Store) writesOf(ctx context.Context, tx *sql.Tx, ch incident.Change) ([]incident.Tally, error) {
	if err := s.claimWrite(ctx, tx, ch.Claim); err != nil || ch.Finish == nil {
		return nil, err
	}
	w := ch.Finish
	var kind, op string
	err := s.row(ctx, tx, []any{&kind, &op}, `UPDATE writes SET ended_at = ?, result = ? WHERE id = ? RETURNING kind, op`,
		nanos(w.EndedAt), string(w.Result), w.ID)
	if errors.Is(err, sql.ErrNoRows) {
		err = incident.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("end write %s: %w", w.ID, err)
	}
	return []incident.Tally{{Family: incident.TallyWrites, Labels: []string{kind, op, string(w.Result)}}}, nil
}

func (s *Store) claimWrite(ctx context.Context, tx *sql.Tx, w *incident.Write) error {
	if w == nil {
		return nil
	}
	if s.postgres {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, pauseLock); err != nil {
			return err
		}
	}
	pauses, err := s.pauses(ctx, tx)
	if err != nil {
		return err
	}
	if p := incident.PauseOf(pauses, w.Pool); p != nil {
		return &incident.PausedError{Pause: *p}
	}
	if _, err := s.changed(ctx, tx,
		`INSERT INTO writes (id, incident, step, pool, kind, target, op, drill, started_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.ID, w.Incident, w.Step, w.Pool, string(w.Kind), w.Target, string(w.Op), flag(w.DryRun),
		nanos(w.StartedAt)); err != nil {
		return fmt.Errorf("claim write %s: %w", w.ID, err)
	}
	return nil
}

func (s *Store) locksOf(ctx context.Context, tx *sql.Tx, ch incident.Change) error {
	if ch.Lock != "" {
		// The insert waits for a concurrent one, so that the row read after it is the truth.
		if _, err := s.changed(ctx, tx, `INSERT INTO locks (target, incident) VALUES (?, ?) ON CONFLICT (target) DO NOTHING`,
			ch.Lock, ch.Incident.ID); err != nil {
			return fmt.Errorf("lock %s: %w", ch.Lock, err)
		}
		var holder string
		if err := s.row(ctx, tx, []any{&holder}, `SELECT incident FROM locks WHERE target = ?`, ch.Lock); err != nil {
			return fmt.Errorf("lock %s: %w", ch.Lock, err)
		}
		if holder != ch.Incident.ID {
			return &incident.LockedError{Target: ch.Lock, Incident: holder}
		}
	}
	if ch.Unlock != "" {
		if _, err := s.changed(ctx, tx, `DELETE FROM locks WHERE target = ? AND incident = ?`, ch.Unlock,
			ch.Incident.ID); err != nil {
			return fmt.Errorf("unlock %s: %w", ch.Unlock, err)
		}
	}
	return nil
}
