package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// openedPage is how many incidents are in memory at a time.
const openedPage = 50

// EachOpened calls visit with each incident that was opened in a period, the oldest first, with its journal and when
// its message was posted for people; zero: it was not, or is not known. Drills, and what people were never shown, are
// left out, and so is the evidence. It holds a few incidents in memory at a time, and reads them one after the other:
// what is committed meanwhile may be seen or not. The ids are those of incidents that cannot be read; visit gets the
// others. An error of visit ends it.
func (s *Store) EachOpened(ctx context.Context, o incident.Opened,
	visit func(inc incident.Incident, posted time.Time) error,
) (unreadable []string, err error) {
	after := openedRow{at: nanos(o.Since)}
	for {
		page, err := s.openedAfter(ctx, o, after)
		if err != nil {
			return nil, fmt.Errorf("list incidents by their opening: %w", err)
		}
		for _, row := range page {
			lines, err := s.journal(ctx, row.id)
			if err != nil {
				return nil, err
			}
			inc, err := decodeCourse(row.body)
			if err == nil {
				inc.Journal, err = decodeJournal(row.id, lines)
			}
			if err != nil {
				unreadable = append(unreadable, row.id)
				continue
			}
			if inc.Unshown {
				continue
			}
			if err := visit(inc, incident.Message{TS: row.ts}.StampedAt()); err != nil {
				return nil, err
			}
		}
		if len(page) < openedPage {
			return unreadable, nil
		}
		after = page[len(page)-1]
	}
}

func decodeCourse(body string) (incident.Incident, error) {
	var c incident.Course
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return incident.Incident{}, fmt.Errorf("read an incident from JSON: %w", err)
	}
	return c.Incident, nil
}

type openedRow struct {
	at           int64
	id, body, ts string
}

func (s *Store) openedAfter(ctx context.Context, o incident.Opened, after openedRow) ([]openedRow, error) {
	query := `SELECT i.opened_at, i.id, i.body, COALESCE(m.ts, '') FROM incidents i
		LEFT JOIN messages m ON m.incident = i.id AND m.sink = ? AND m.kind = ''
		WHERE i.exercise = '' AND i.opened_at < ? AND i.opened_at >= ? AND (i.opened_at > ? OR i.id > ?)`
	args := []any{incident.SinkSlack, nanos(o.Until), after.at, after.at, after.id}
	if !o.AllPools {
		query += ` AND i.pool = ?`
		args = append(args, o.Pool)
	}
	return list(ctx, s, s.read, func(r *sql.Rows) (openedRow, error) {
		var row openedRow
		return row, r.Scan(&row.at, &row.id, &row.body, &row.ts)
	}, query+` ORDER BY i.opened_at, i.id LIMIT ?`, append(args, openedPage)...)
}

// OpenAt counts the incidents that were opened before a period and still open when it began.
func (s *Store) OpenAt(ctx context.Context, o incident.Opened) (int, error) {
	query := `SELECT COUNT(*) FROM incidents
		WHERE exercise = '' AND opened_at < ? AND (state <> 'closed' OR closed_at >= ?)`
	args := []any{nanos(o.Since), nanos(o.Since)}
	if !o.AllPools {
		query += ` AND pool = ?`
		args = append(args, o.Pool)
	}
	var n int
	if err := s.row(ctx, s.read, []any{&n}, query, args...); err != nil {
		return 0, fmt.Errorf("count earlier incidents: %w", err)
	}
	return n, nil
}

// EachOpened calls visit with each incident that was opened in a period; see Store.EachOpened.
func (r *Reader) EachOpened(ctx context.Context, o incident.Opened,
	visit func(inc incident.Incident, posted time.Time) error,
) ([]string, error) {
	return r.s.EachOpened(ctx, o, visit)
}

// OpenAt counts the incidents that were open when a period began.
func (r *Reader) OpenAt(ctx context.Context, o incident.Opened) (int, error) {
	return r.s.OpenAt(ctx, o)
}

// Pauses lists the pauses in force.
func (r *Reader) Pauses(ctx context.Context) ([]incident.Pause, error) { return r.s.Pauses(ctx) }
