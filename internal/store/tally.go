package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// tallyKey is a row of tallies.
type tallyKey struct {
	family, labels string
	edge           int64
}

// tally counts what a transaction makes happen. It comes last in one: its rows belong to everybody, and whoever waits
// for one holds all else.
func (s *Store) tally(ctx context.Context, tx *sql.Tx, all []incident.Tally) error {
	counts, took := map[tallyKey]int64{}, map[tallyKey]time.Duration{}
	var keys []tallyKey
	for _, t := range all {
		labels, err := json.Marshal(t.Labels)
		if err != nil {
			return fmt.Errorf("count %s: %w", t.Family, err)
		}
		k := tallyKey{string(t.Family), string(labels), t.AtEdge()}
		if counts[k]++; counts[k] == 1 {
			keys = append(keys, k)
		}
		took[k] += t.Took
	}
	slices.SortFunc(keys, func(a, b tallyKey) int { // in one order, so that two never wait for each other
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.labels, b.labels), cmp.Compare(a.edge, b.edge))
	})
	for _, k := range keys {
		if _, err := s.changed(ctx, tx, `INSERT INTO tallies (family, labels, edge, n, seconds) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (family, labels, edge)
				DO UPDATE SET n = tallies.n + excluded.n, seconds = tallies.seconds + excluded.seconds`,
			k.family, k.labels, k.edge, counts[k], took[k].Seconds()); err != nil {
			return fmt.Errorf("count %s: %w", k.family, err)
		}
	}
	return nil
}

func (s *Store) tallies(ctx context.Context, tx *sql.Tx) ([]incident.Tallied, error) {
	return list(ctx, s, tx, func(r *sql.Rows) (incident.Tallied, error) {
		var t incident.Tallied
		var family, labels string
		if err := r.Scan(&family, &labels, &t.Edge, &t.Count, &t.Seconds); err != nil {
			return t, err
		}
		t.Family = incident.TallyFamily(family)
		return t, json.Unmarshal([]byte(labels), &t.Labels)
	}, `SELECT family, labels, edge, n, seconds FROM tallies ORDER BY family, labels, edge`)
}
