package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// endedFor is how long the end of an alert that no incident knows of is remembered. A late "firing" of the same episode
// comes within some minutes.
const endedFor = time.Hour

// keepEnded remembers alerts that ended before any incident knew of them; the latest end counts. One statement does it,
// because a delivery may hold tens of thousands, and in one order, so that two replicas never wait for each other.
func (s *Store) keepEnded(ctx context.Context, tx *sql.Tx, alerts []incident.Alert) error {
	latest := map[string]incident.Alert{}
	for _, a := range alerts {
		if old, known := latest[a.Fingerprint]; !known || !a.EndsAt.Before(old.EndsAt) {
			latest[a.Fingerprint] = a
		}
	}
	if len(latest) == 0 {
		return nil
	}
	rows := make([][]any, 0, len(latest))
	for _, f := range slices.Sorted(maps.Keys(latest)) {
		a := latest[f]
		body, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("write an alert as JSON: %w", err)
		}
		rows = append(rows, []any{f, nanos(a.EndsAt), nanos(a.SeenAt), string(body)})
	}
	all, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("write alerts as JSON: %w", err)
	}
	from := `SELECT r->>0, CAST(r->>1 AS BIGINT), CAST(r->>2 AS BIGINT), r->>3
			FROM json_array_elements(CAST(? AS json)) AS r`
	if !s.postgres {
		from = `SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?) WHERE true`
	}
	if _, err := s.exec(ctx, tx, `INSERT INTO ended_alerts (fingerprint, ended_at, seen_at, body) `+from+`
		ON CONFLICT (fingerprint) DO UPDATE
			SET ended_at = excluded.ended_at, seen_at = excluded.seen_at, body = excluded.body
			WHERE excluded.ended_at >= ended_alerts.ended_at`,
		string(all)); err != nil {
		return fmt.Errorf("remember the end of an alert: %w", err)
	}
	return nil
}

// EndedAlerts returns what is remembered of those alerts: that they ended before any incident knew of them.
func (s *Store) EndedAlerts(ctx context.Context, fingerprints []string) ([]incident.Alert, error) {
	condition := `fingerprint IN (SELECT value FROM json_each(?))`
	var wanted any = fingerprints
	if s.postgres {
		condition = `fingerprint = ANY(?)`
	} else {
		b, err := json.Marshal(fingerprints)
		if err != nil {
			return nil, err
		}
		wanted = string(b)
	}
	out, err := list(ctx, s, s.read, func(r *sql.Rows) (incident.Alert, error) {
		var body string
		var a incident.Alert
		if err := r.Scan(&body); err != nil {
			return a, err
		}
		return a, json.Unmarshal([]byte(body), &a)
	}, `SELECT body FROM ended_alerts WHERE `+condition, wanted)
	if err != nil {
		return nil, fmt.Errorf("find alerts that have ended: %w", err)
	}
	return out, nil
}
