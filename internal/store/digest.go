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

// Digest returns what a digest shows, or incident.ErrNotFound. All of it is of one moment.
func (s *Store) Digest(ctx context.Context, id string) (incident.Digest, error) {
	var d incident.Digest
	err := s.inSnapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
		d = incident.Digest{ID: id, At: s.Now()}
		var channel string
		var posted, joined int64
		err := s.row(ctx, tx, []any{&d.Version, &d.LastCall, &channel, &posted, &joined},
			`SELECT wanted, thread_wanted, channel, thread_sent, joined_at FROM messages
				WHERE incident = ? AND sink = ? AND kind = ?`, id, incident.SinkSlack, incident.KindDigest)
		if errors.Is(err, sql.ErrNoRows) {
			return incident.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := s.membersOf(ctx, tx, &d); err != nil {
			return fmt.Errorf("its incidents: %w", err)
		}
		if err := s.rateOf(ctx, tx, &d, channel, moment(joined)); err != nil {
			return fmt.Errorf("how fast they came: %w", err)
		}
		d.Calls, err = list(ctx, s, tx, scanCall, `SELECT c.seq, c.incident, j.body FROM digest_calls c
			JOIN journal j ON j.incident = c.incident AND j.seq = c.entry
			WHERE c.digest = ? AND c.seq > ? ORDER BY c.seq`, id, posted)
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

// members lists the incidents of a digest, without their bodies.
const members = `SELECT m.incident, m.folded, m.joined_at, CASE WHEN i.state = 'closed' THEN 1 ELSE 0 END
	FROM messages m JOIN incidents i ON i.id = m.incident
	WHERE m.digest = ? AND m.digest <> '' AND m.sink = ? ORDER BY m.joined_at, m.incident`

// foldedBodies reads those of a digest that are folded and open, or ended last.
const foldedBodies = `SELECT i.id, i.fence, i.body FROM messages m JOIN incidents i ON i.id = m.incident
	WHERE m.digest = ? AND m.digest <> '' AND m.sink = ? AND m.folded = 1
	AND (i.state <> 'closed' OR i.id IN (
		SELECT c.id FROM messages n JOIN incidents c ON c.id = n.incident
			WHERE n.digest = ? AND n.digest <> '' AND n.sink = ? AND n.folded = 1 AND c.state = 'closed'
			ORDER BY c.closed_at DESC, c.id LIMIT ?))
	ORDER BY m.joined_at, m.incident`

// membersOf reads the incidents of a digest. One that cannot be read is logged and named.
func (s *Store) membersOf(ctx context.Context, tx *sql.Tx, d *incident.Digest) error {
	type member struct {
		id                     string
		folded, joined, closed int64
	}
	all, err := list(ctx, s, tx, func(r *sql.Rows) (member, error) {
		var m member
		return m, r.Scan(&m.id, &m.folded, &m.joined, &m.closed)
	}, members, d.ID, incident.SinkSlack)
	if err != nil {
		return err
	}
	for n, m := range all {
		if n == 0 {
			d.Since = moment(m.joined)
		}
		switch {
		case m.folded == 0:
			d.Shown = append(d.Shown, m.id)
		case m.closed == 1:
			d.Closed++
		}
	}
	d.Closed -= min(d.Closed, incident.DigestClosed)
	bodies, err := list(ctx, s, tx, scanBody, foldedBodies, d.ID, incident.SinkSlack, d.ID, incident.SinkSlack,
		incident.DigestClosed)
	if err != nil {
		return err
	}
	for _, b := range bodies {
		inc, err := decode(b.body)
		if err != nil {
			s.unreadable(ctx, b.id, err)
			d.Unreadable = append(d.Unreadable, b.id)
			continue
		}
		d.Folded = append(d.Folded, inc)
	}
	return nil
}

// cameWithin counts what came into a channel after a time and until another one.
const cameWithin = `SELECT COUNT(*) FROM messages
	WHERE sink = ? AND channel = ? AND kind = '' AND joined_at > 0 AND joined_at > ? AND joined_at <= ?`

// rateOf counts what came into the channel until an incident last joined.
func (s *Store) rateOf(ctx context.Context, tx *sql.Tx, d *incident.Digest, channel string, joined time.Time) error {
	if !s.opts.Storm.On() {
		return nil
	}
	d.Within = s.opts.Storm.Within
	return s.row(ctx, tx, []any{&d.Came}, cameWithin, incident.SinkSlack, channel, nanos(joined.Add(-d.Within)),
		nanos(joined))
}

func scanCall(r *sql.Rows) (incident.Call, error) {
	var c incident.Call
	var body string
	if err := r.Scan(&c.Seq, &c.Incident, &body); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(body), &c.Entry)
}

// unfoldable lists the incidents of a digest, or the one that is named, that have no message of their own: without a
// name those that are open.
const unfoldable = `SELECT m.incident, m.folded, CASE WHEN i.state = 'closed' THEN 1 ELSE 0 END
	FROM messages m JOIN incidents i ON i.id = m.incident
	WHERE m.digest = ? AND m.digest <> '' AND m.sink = ? AND (CAST(? AS TEXT) = '' OR m.incident = ?)
	ORDER BY m.joined_at, m.incident`

// Unfold gives one incident of a digest, or with an empty id all open ones that are folded in it, messages of their
// own, and says how many: none when others were faster. Each is done by itself, so that what was done stays when the
// rest fails; called again it does the rest. incident.ErrNotFound says that the incident has not joined the digest, or
// that there is none.
func (s *Store) Unfold(ctx context.Context, digest, id string) (int, error) {
	joined := false
	var ids []string
	_, err := list(ctx, s, s.read, func(r *sql.Rows) (struct{}, error) {
		var one string
		var folded, closed int64
		err := r.Scan(&one, &folded, &closed)
		joined = true
		if folded == 1 && (closed == 0 || id != "") {
			ids = append(ids, one)
		}
		return struct{}{}, err
	}, unfoldable, digest, incident.SinkSlack, id, id)
	if err == nil && !joined {
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
		if n, err = s.unfold(ctx, tx, inc, s.Now()); err != nil || n == 0 {
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
// said again, and calls nobody again. next is when it is posted; what is due earlier goes first.
func (s *Store) unfold(ctx context.Context, tx *sql.Tx, inc incident.Incident, next time.Time) (int, error) {
	var call int64
	if inc.Request.Open() { // also while its plan is being replaced, and nobody can decide for a moment
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
	n, err := s.changed(ctx, tx, `UPDATE messages SET folded = 0, next_at = ?,
			thread_sent = CASE WHEN ? > 0 THEN CAST(? AS BIGINT) - 1 ELSE thread_wanted END
		WHERE incident = ? AND sink = ? AND folded = 1`, nanos(next), call, call, inc.ID, incident.SinkSlack)
	return int(n), err
}

// lookForCall bounds how far back the line is looked for that calls people for what is open.
const lookForCall = 200
