package store

import (
	"context"
	"database/sql"
	"fmt"

	json "github.com/go-json-experiment/json/v1"
)

// oversized is how large a stored incident may be before it is looked at whether it is within the bounds of one
// (internal/incident/bounds.go): larger than those with everything that they have room for, as a rule.
const oversized = 1 << 20

// boundStored writes what earlier versions, which had no bounds, have stored of alerts anew within them, one incident
// after the other: read by several at once, a large one would end the process, and again at the next start. What is
// committed by others meanwhile stays.
func (s *Store) boundStored(ctx context.Context) error {
	ids, err := list(ctx, s, s.read, func(r *sql.Rows) (string, error) {
		var id string
		return id, r.Scan(&id)
	}, `SELECT id FROM incidents WHERE octet_length(body) > ?`, oversized)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.boundOne(ctx, id); err != nil {
			return fmt.Errorf("incident %s: %w", id, err)
		}
	}
	return nil
}

func (s *Store) boundOne(ctx context.Context, id string) error {
	var version int64
	var body string
	if err := s.row(ctx, s.read, []any{&version, &body}, `SELECT version, body FROM incidents WHERE id = ?`,
		id); err != nil {
		return err
	}
	before := len(body)
	inc, err := decode(body)
	if err != nil {
		return nil //nolint:nilerr // whoever has to work on it says so
	}
	inc.Journal = nil
	smaller, err := json.Marshal(inc)
	if err != nil || len(smaller) >= before {
		return err
	}
	n, err := s.changed(ctx, s.write, `UPDATE incidents SET body = ? WHERE id = ? AND version = ?`, string(smaller), id,
		version)
	if err == nil && n == 1 {
		s.opts.Logger.WarnContext(ctx, "an incident held more alerts than are kept; the worst and newest are left",
			"incident", id, "bytes", before, "left", len(smaller), "alerts", len(inc.Alerts),
			"not_kept", inc.AlertsNotKept.Firing)
	}
	return err
}
