package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Stats counts what waits and what stands in the store.
type Stats struct {
	// DeliveriesWaiting are not yet part of an incident, the oldest since OldestWaiting (zero when there is none); DeliveriesDead were given up.
	DeliveriesWaiting, DeliveriesDead int64
	OldestWaiting                     time.Time
	// Incidents counts the open ones by state, Writes all by result, "open" being a claim that has not ended.
	Incidents, Writes map[string]int64
	// MessagesWaiting have something to send; MessagesGivenUp are among them, and wait for a person.
	MessagesWaiting, MessagesGivenUp int64
	// ClicksWaiting were accepted and not yet decided on.
	ClicksWaiting int64
	// Pauses are in force. Unreadable incidents are left alone until the next start.
	Pauses, Unreadable int64
}

// Stats counts in one transaction, so that the numbers fit each other.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.snapshot()})
	if err != nil {
		return Stats{}, fmt.Errorf("count what is in the store: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // only read from
	out := Stats{}
	var oldest int64
	err = tx.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM deliveries WHERE state = 'new'),
		(SELECT COALESCE(MIN(received_at), 0) FROM deliveries WHERE state = 'new'),
		(SELECT COUNT(*) FROM deliveries WHERE state = 'dead'),
		(SELECT COUNT(*) FROM messages WHERE wanted > sent OR thread_wanted > thread_sent),
		(SELECT COUNT(*) FROM messages WHERE (wanted > sent OR thread_wanted > thread_sent) AND gave_up = 1 AND wanted <= gave_up_wanted),
		(SELECT COUNT(*) FROM clicks WHERE state = 'new'),
		(SELECT COUNT(*) FROM pauses),
		(SELECT COUNT(*) FROM incidents WHERE unreadable = 1)`).Scan(
		&out.DeliveriesWaiting, &oldest, &out.DeliveriesDead, &out.MessagesWaiting, &out.MessagesGivenUp, &out.ClicksWaiting, &out.Pauses, &out.Unreadable)
	if err == nil {
		out.OldestWaiting = moment(oldest)
		out.Incidents, err = counts(ctx, tx, `SELECT state, COUNT(*) FROM incidents WHERE state <> 'closed' GROUP BY state`)
	}
	if err == nil {
		out.Writes, err = counts(ctx, tx, `SELECT CASE WHEN ended_at = 0 THEN 'open' ELSE result END, COUNT(*) FROM writes GROUP BY 1`)
	}
	if err != nil {
		return Stats{}, fmt.Errorf("count what is in the store: %w", err)
	}
	return out, nil
}

// snapshot is the isolation in which several queries see one state. SQLite's transactions do by themselves.
func (s *Store) snapshot() sql.IsolationLevel {
	if s.postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func counts(ctx context.Context, db querier, query string) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	type count struct {
		name string
		n    int64
	}
	list, err := collect(rows, func(r *sql.Rows) (count, error) {
		var c count
		return c, r.Scan(&c.name, &c.n)
	})
	out := map[string]int64{}
	for _, c := range list {
		out[c.name] = c.n
	}
	return out, err
}
