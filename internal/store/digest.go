package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Digest returns what a digest shows, or incident.ErrNotFound. All of it is of one moment.
func (s *Store) Digest(ctx context.Context, id string) (incident.Digest, error) {
	var d incident.Digest
	err := s.inSnapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
		d = incident.Digest{ID: id}
		err := s.row(ctx, tx, []any{&d.Version, &d.LastCall},
			`SELECT wanted, thread_wanted FROM messages WHERE incident = ? AND sink = ? AND kind = ?`,
			id, incident.SinkSlack, incident.KindDigest)
		if errors.Is(err, sql.ErrNoRows) {
			return incident.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := s.membersOf(ctx, tx, &d); err != nil {
			return fmt.Errorf("its incidents: %w", err)
		}
		d.Calls, err = list(ctx, s, tx, scanCall, `SELECT c.seq, c.incident, j.body FROM digest_calls c
			JOIN journal j ON j.incident = c.incident AND j.seq = c.entry WHERE c.digest = ? ORDER BY c.seq`, id)
		if err != nil {
			return fmt.Errorf("its calls: %w", err)
		}
		return nil
	})
	if err != nil {
		return incident.Digest{}, fmt.Errorf("digest %s: %w", id, err)
	}
	return d, nil
}

// membersOf reads the incidents of a digest. One that cannot be read is logged and counted.
func (s *Store) membersOf(ctx context.Context, tx *sql.Tx, d *incident.Digest) error {
	type member struct {
		id, body       string
		folded, joined int64
	}
	all, err := list(ctx, s, tx, func(r *sql.Rows) (member, error) {
		var m member
		return m, r.Scan(&m.id, &m.folded, &m.joined, &m.body)
	}, `SELECT m.incident, m.folded, m.joined_at, i.body FROM messages m JOIN incidents i ON i.id = m.incident
		WHERE m.digest = ? AND m.sink = ? ORDER BY m.joined_at, m.incident`, d.ID, incident.SinkSlack)
	if err != nil {
		return err
	}
	for _, m := range all {
		if d.Since.IsZero() {
			d.Since = moment(m.joined)
		}
		if m.folded == 0 {
			d.Shown = append(d.Shown, m.id)
			continue
		}
		inc, err := decode(m.body)
		if err != nil {
			s.unreadable(ctx, m.id, err)
			d.Unreadable++
			continue
		}
		d.Folded = append(d.Folded, inc)
	}
	return nil
}

func scanCall(r *sql.Rows) (incident.Call, error) {
	var c incident.Call
	var body string
	if err := r.Scan(&c.Seq, &c.Incident, &body); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(body), &c.Entry)
}

// Unfold gives one incident of a digest, or with an empty id all that are folded in it, messages of their own, and
// says how many: none when others were faster. Each is done by itself, so that what was done stays when the rest
// fails; called again it does the rest. incident.ErrNotFound says that the incident has not joined the digest, or
// that there is none.
func (s *Store) Unfold(ctx context.Context, digest, id string) (int, error) {
	where, args := `digest = ? AND sink = ?`, []any{digest, incident.SinkSlack}
	if id != "" {
		where, args = where+` AND incident = ?`, append(args, id)
	}
	ids, err := list(ctx, s, s.read, scanID, `SELECT incident FROM messages WHERE `+where+` ORDER BY incident`, args...)
	if err == nil && len(ids) == 0 {
		err = incident.ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("unfold %s: %w", digest, err)
	}
	unfolded := 0
	var errs []error
	for _, id := range ids {
		n, err := s.unfoldOne(ctx, digest, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("unfold %s: %w", id, err))
		}
		unfolded += n
	}
	if unfolded > 0 {
		s.wake.signal()
	}
	return unfolded, errors.Join(errs...)
}

// unfoldOne unfolds an incident that no commit changes meanwhile: what is asked decides what its thread begins
// with.
func (s *Store) unfoldOne(ctx context.Context, digest, id string) (n int, err error) {
	lock := ""
	if s.postgres {
		lock = " FOR UPDATE"
	}
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var body string
		if err := s.row(ctx, tx, []any{&body}, `SELECT body FROM incidents WHERE id = ?`+lock, id); err != nil {
			return err
		}
		inc, err := decode(body)
		if err != nil {
			return err
		}
		if n, err = s.unfold(ctx, tx, inc); err != nil || n == 0 {
			return err
		}
		if err := s.wantDigest(ctx, tx, digest, news{}); err != nil {
			return err
		}
		return s.announce(ctx, tx)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// unfold gives a folded incident a message of its own and says whether it did: 1, or 0 when it has one. Its thread
// begins with the request that is open, so that whoever is called sees where to decide; what was said before is not
// said again, and calls nobody again.
func (s *Store) unfold(ctx context.Context, tx *sql.Tx, inc incident.Incident) (int, error) {
	var call int64
	if inc.Waits() {
		bodies, err := list(ctx, s, tx, scanID,
			`SELECT body FROM journal WHERE incident = ? AND thread = 1 ORDER BY seq DESC LIMIT ?`, inc.ID, lookForCall)
		if err != nil {
			return 0, err
		}
		for _, body := range bodies {
			var e incident.Entry
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				return 0, fmt.Errorf("read its journal: %w", err)
			}
			if len(e.Mention) > 0 && !e.At.Before(inc.Request.At) {
				call = e.Seq
				break
			}
		}
	}
	n, err := s.changed(ctx, tx, `UPDATE messages SET folded = 0, next_at = 0,
			thread_sent = CASE WHEN ? > 0 THEN CAST(? AS BIGINT) - 1 ELSE thread_wanted END
		WHERE incident = ? AND sink = ? AND folded = 1`, call, call, inc.ID, incident.SinkSlack)
	return int(n), err
}

// lookForCall bounds how far back the line is looked for that calls people for what is open.
const lookForCall = 200
