package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Incident returns one incident without its journal, or incident.ErrNotFound.
func (s *Store) Incident(ctx context.Context, id string) (incident.Incident, error) {
	inc, found, err := s.one(ctx, `SELECT body FROM incidents WHERE id = ?`, id)
	if err == nil && !found {
		err = incident.ErrNotFound
	}
	if err != nil {
		return incident.Incident{}, fmt.Errorf("incident %s: %w", id, err)
	}
	return inc, nil
}

// IncidentWithJournal returns one incident with its whole journal and the pause that covers its pool, or
// incident.ErrNotFound.
func (s *Store) IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error) {
	inc, err := s.Incident(ctx, id)
	if err != nil {
		return incident.Incident{}, err
	}
	lines, err := s.journal(ctx, id)
	if err != nil {
		return incident.Incident{}, err
	}
	if inc.Journal, err = decodeJournal(id, lines); err != nil {
		return incident.Incident{}, err
	}
	pauses, err := s.Pauses(ctx)
	if err != nil {
		return incident.Incident{}, err
	}
	inc.Paused = incident.PauseOf(pauses, inc.Pool)
	return inc, nil
}

// line is an entry of a journal as it is stored.
type line struct{ body, hash string }

func (s *Store) journal(ctx context.Context, id string) ([]line, error) {
	out, err := list(ctx, s, s.read, func(r *sql.Rows) (line, error) {
		var l line
		return l, r.Scan(&l.body, &l.hash)
	}, `SELECT body, hash FROM journal WHERE incident = ? ORDER BY seq`, id)
	if err != nil {
		return nil, fmt.Errorf("journal of %s: %w", id, err)
	}
	return out, nil
}

func decodeJournal(id string, lines []line) ([]incident.Entry, error) {
	out := make([]incident.Entry, len(lines))
	for n, l := range lines {
		if err := json.Unmarshal([]byte(l.body), &out[n]); err != nil {
			return nil, fmt.Errorf("journal of %s: %w", id, err)
		}
		out[n].Hash = l.hash
	}
	return out, nil
}

// OpenIncident returns the open incident of a pool; a drill is none.
func (s *Store) OpenIncident(ctx context.Context, pool string) (incident.Incident, bool, error) {
	return s.one(ctx, `SELECT body FROM incidents WHERE pool = ? AND state <> 'closed' AND exercise = ''`, pool)
}

// OpenDrill returns the drill that goes on on a pool.
func (s *Store) OpenDrill(ctx context.Context, pool string) (incident.Incident, bool, error) {
	return s.one(ctx, `SELECT body FROM incidents WHERE pool = ? AND state <> 'closed' AND exercise <> ''`, pool)
}

// LastClosed returns the incident of a pool that was closed last, when that was not before since; a drill is
// none.
func (s *Store) LastClosed(ctx context.Context, pool string, since time.Time) (incident.Incident, bool, error) {
	return s.one(ctx,
		`SELECT body FROM incidents WHERE pool = ? AND state = 'closed' AND exercise = '' AND closed_at >= ?
			ORDER BY closed_at DESC LIMIT 1`,
		pool, nanos(since))
}

// Incidents lists incidents without their journals, the newest first. One that cannot be read is logged and left out.
func (s *Store) Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error) {
	query, args := `SELECT id, fence, body FROM incidents WHERE 1 = 1`, []any{}
	switch f.State {
	case "":
	case "open":
		query += ` AND state <> 'closed'`
	default:
		query += ` AND state = ?`
		args = append(args, f.State)
	}
	if !f.AllPools {
		query += ` AND pool = ?`
		args = append(args, f.Pool)
	}
	if f.After != "" {
		var opened int64
		err := s.row(ctx, s.read, []any{&opened}, `SELECT opened_at FROM incidents WHERE id = ?`, f.After)
		if errors.Is(err, sql.ErrNoRows) {
			err = incident.ErrNotFound
		}
		if err != nil {
			return nil, fmt.Errorf("incident %s: %w", f.After, err)
		}
		query += ` AND (opened_at < ? OR (opened_at = ? AND id < ?))`
		args = append(args, opened, opened, f.After)
	}
	query += ` ORDER BY opened_at DESC, id DESC LIMIT ?`
	limit := f.Limit
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	found, err := list(ctx, s, s.read, scanBody, query, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list incidents: %w", err)
	}
	out := make([]incident.Incident, 0, len(found))
	for _, b := range found {
		inc, err := decode(b.body)
		if err != nil && s.opts.Logger == nil {
			// a reader has no log, and must not leave something out without a word
			return nil, fmt.Errorf("incident %s: %w", b.id, err)
		}
		if err != nil {
			s.unreadable(ctx, b.id, err)
			continue
		}
		out = append(out, inc)
	}
	return out, nil
}

// maxPage bounds a page of a listing.
const maxPage = 200

func (s *Store) one(ctx context.Context, query string, args ...any) (incident.Incident, bool, error) {
	var body string
	err := s.row(ctx, s.read, []any{&body}, query, args...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return incident.Incident{}, false, nil
	case err != nil:
		return incident.Incident{}, false, err
	}
	inc, err := decode(body)
	return inc, err == nil, err
}
