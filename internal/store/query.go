package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
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

// LastClosed returns the incident of a pool that was closed last, when that was not before since; a drill is none, nor
// is one that people were never shown.
func (s *Store) LastClosed(ctx context.Context, pool string, since time.Time) (incident.Incident, bool, error) {
	for before := int64(math.MaxInt64); ; {
		var at int64
		var body string
		err := s.row(ctx, s.read, []any{&at, &body},
			`SELECT closed_at, body FROM incidents
				WHERE pool = ? AND state = 'closed' AND exercise = '' AND closed_at >= ? AND closed_at < ?
				ORDER BY closed_at DESC LIMIT 1`,
			pool, nanos(since), before)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return incident.Incident{}, false, nil
		case err != nil:
			return incident.Incident{}, false, err
		}
		inc, err := decode(body)
		if err != nil || !inc.Unshown {
			return inc, err == nil, err
		}
		before = at
	}
}

// Incidents lists incidents without their journals, the newest first. One that cannot be read is logged and left out;
// one that people are not shown is left out, too.
func (s *Store) Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error) {
	if f.Limit <= 0 || f.Limit > maxPage {
		f.Limit = maxPage
	}
	out := make([]incident.Incident, 0, f.Limit)
	for {
		want := f.Limit - len(out)
		page, rows, last, err := s.page(ctx, f, want)
		if err != nil {
			return nil, err
		}
		if out = append(out, page...); len(out) == f.Limit || rows < want {
			return out, nil
		}
		f.After = last // as many more as were left out
	}
}

// page reads that many rows of a listing; rows is how many there were, and last the id of the last one. Only one of
// their bodies is in memory at a time.
func (s *Store) page(ctx context.Context, f incident.Filter, want int) (
	out []incident.Incident, rows int, last string, err error,
) {
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
			return nil, 0, "", fmt.Errorf("incident %s: %w", f.After, err)
		}
		query += ` AND (opened_at < ? OR (opened_at = ? AND id < ?))`
		args = append(args, opened, opened, f.After)
	}
	type entry struct {
		id  string
		inc incident.Incident
		err error
	}
	found, err := list(ctx, s, s.read, func(r *sql.Rows) (entry, error) {
		b, err := scanBody(r)
		if err != nil {
			return entry{}, err
		}
		x := entry{id: b.id}
		x.inc, x.err = decode(b.body)
		return x, nil
	}, query+` ORDER BY opened_at DESC, id DESC LIMIT ?`, append(args, want)...)
	if err != nil {
		return nil, 0, "", fmt.Errorf("list incidents: %w", err)
	}
	for _, x := range found {
		last = x.id
		switch {
		case x.err != nil && s.opts.Logger == nil:
			// a reader has no log, and must not leave something out without a word
			return nil, 0, "", fmt.Errorf("incident %s: %w", x.id, x.err)
		case x.err != nil:
			s.unreadable(ctx, x.id, x.err)
		case !x.inc.Unshown:
			out = append(out, x.inc)
		}
	}
	return out, len(found), last, nil
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
