package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Stats counts what waits and what stands in the store.
type Stats struct {
	// DeliveriesWaiting are not yet part of an incident, the oldest since OldestWaiting (zero when there is none);
	// DeliveriesDead were given up.
	DeliveriesWaiting, DeliveriesDead int64
	OldestWaiting                     time.Time
	// LastDelivery is when the newest delivery came in that the store still keeps; zero when there is none.
	LastDelivery time.Time
	// Incidents counts the open ones by state, without drills; OpenWrites the claims that have not ended.
	Incidents  map[string]int64
	OpenWrites int64
	// Tallies are what has happened so far.
	Tallies []incident.Tallied
	// MessagesWaiting have something to send; MessagesGivenUp are among them, and wait for a person.
	MessagesWaiting, MessagesGivenUp int64
	// Drills counts them by how they ended, "running" being those that go on.
	Drills map[string]int64
	// Folded are the open incidents that are shown in a digest only; they wait for nothing.
	Folded int64
	// ClicksWaiting were accepted and not yet decided on.
	ClicksWaiting int64
	// Pauses are in force. Unreadable incidents are left alone until the next start.
	Pauses, Unreadable int64
}

// oldestWaiting asks an index for the first of those that are free, and looks only at the few that are held one by one.
const oldestWaiting = `(SELECT COALESCE(MIN(received_at), 0) FROM (
			SELECT received_at FROM (
				SELECT received_at FROM deliveries WHERE state = 'new' AND held_until = 0 ORDER BY id LIMIT 1) AS free
			UNION ALL SELECT received_at FROM deliveries WHERE state = 'new' AND held_until > 0) AS waiting)`

// Stats counts in one transaction, so that the numbers fit each other.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	out := Stats{}
	err := s.inSnapshot(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.count(ctx, tx, &out) })
	if err != nil {
		return Stats{}, fmt.Errorf("count what is in the store: %w", err)
	}
	return out, nil
}

func (s *Store) count(ctx context.Context, tx *sql.Tx, out *Stats) error {
	var oldest, newest int64
	// Nobody delivers to a sink that is no longer in the configuration.
	ours := ` AND folded = 0 AND sink IN (?` + strings.Repeat(", ?", len(s.opts.Sinks)) + `)`
	sinks := []any{incident.SinkSlack}
	for _, sink := range s.opts.Sinks {
		sinks = append(sinks, sink)
	}
	err := s.row(ctx, tx, []any{
		&out.DeliveriesWaiting, &oldest, &newest, &out.DeliveriesDead, &out.MessagesWaiting, &out.MessagesGivenUp,
		&out.Folded, &out.ClicksWaiting, &out.Pauses, &out.Unreadable, &out.OpenWrites,
	}, `SELECT
		(SELECT COUNT(*) FROM deliveries WHERE state = 'new'),
		`+oldestWaiting+`,
		COALESCE((SELECT received_at FROM deliveries ORDER BY id DESC LIMIT 1), 0),
		(SELECT COUNT(*) FROM deliveries WHERE state = 'dead'),
		(SELECT COUNT(*) FROM messages WHERE (wanted > sent OR thread_wanted > thread_sent)`+ours+`),
		(SELECT COUNT(*) FROM messages
			WHERE (wanted > sent OR thread_wanted > thread_sent) AND gave_up <> 0 AND wanted <= gave_up_wanted`+ours+`),
		(SELECT COUNT(*) FROM messages m JOIN incidents i ON i.id = m.incident WHERE m.folded = 1 AND i.state <> 'closed'),
		(SELECT COUNT(*) FROM clicks WHERE state = 'new'),
		(SELECT COUNT(*) FROM pauses),
		(SELECT COUNT(*) FROM incidents WHERE unreadable = 1),
		(SELECT COUNT(*) FROM writes WHERE ended_at = 0)`, append(slices.Clone(sinks), sinks...)...)
	if err != nil {
		return err
	}
	out.OldestWaiting, out.LastDelivery = moment(oldest), moment(newest)
	if out.Incidents,
		err = s.counts(ctx, tx, `SELECT state, COUNT(*) FROM incidents
			WHERE state <> 'closed' AND exercise = '' GROUP BY state`); err != nil {
		return err
	}
	if out.Drills,
		err = s.counts(ctx, tx, `SELECT exercise, COUNT(*) FROM incidents
			WHERE exercise <> '' GROUP BY exercise`); err != nil {
		return err
	}
	out.Tallies, err = s.tallies(ctx, tx)
	return err
}

func (s *Store) counts(ctx context.Context, db querier, query string) (map[string]int64, error) {
	type count struct {
		name string
		n    int64
	}
	all, err := list(ctx, s, db, func(r *sql.Rows) (count, error) {
		var c count
		return c, r.Scan(&c.name, &c.n)
	}, query)
	out := map[string]int64{}
	for _, c := range all {
		out[c.name] = c.n
	}
	return out, err
}
