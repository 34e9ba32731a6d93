package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// lines are the entries of a commit that go to a thread: the last one, and those that call people, by their
// numbers.
type lines struct {
	last  int64
	calls []int64
}

// want is what a commit wants to be shown of an incident.
type want struct {
	inc     incident.Incident
	version int64
	told    lines
	// soon says that somebody waits for it; see incident.Change.OnlyCounts.
	soon bool
}

// news is what a transaction changes in a digest.
type news struct {
	calls  []incident.Call // their incidents, and the numbers of their entries there
	joined bool
}

// want raises what the messages of incidents should show, one in each sink. A row is made on the first time. It
// comes last in a transaction: the rows of digests belong to many incidents, and whoever waits for one holds all
// else.
func (s *Store) want(ctx context.Context, tx *sql.Tx, wants []want) error {
	digests := map[string]news{}
	for _, w := range wants {
		if channel := s.opts.ChannelFor(w.inc.Pool); channel != "" {
			if err := s.wantInSlack(ctx, tx, w, channel, digests); err != nil {
				return fmt.Errorf("incident %s: the message in %s: %w", w.inc.ID, incident.SinkSlack, err)
			}
		}
		for _, sink := range s.opts.Sinks {
			if err := s.wantIn(ctx, tx, w, sink, "", ""); err != nil {
				return fmt.Errorf("incident %s: the message in %s: %w", w.inc.ID, sink, err)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(digests)) { // in one order, so that two never wait for each other
		if err := s.wantDigest(ctx, tx, id, digests[id]); err != nil {
			return fmt.Errorf("digest %s: %w", id, err)
		}
	}
	return nil
}

// wantIn raises what one sink should show. A digest counts for a row that is made: the one that the incident folds
// into.
func (s *Store) wantIn(ctx context.Context, tx *sql.Tx, w want, sink, channel, digest string) error {
	joined := s.Now()
	if w.inc.Drill != nil {
		joined = time.Time{} // it adds to no storm
	}
	_, err := s.changed(ctx, tx, `INSERT INTO messages
			(incident, sink, channel, wanted, thread_wanted, digest, folded, joined_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (incident, sink) DO UPDATE SET wanted = excluded.wanted,
			thread_wanted = CASE WHEN excluded.thread_wanted > messages.thread_wanted
				THEN excluded.thread_wanted ELSE messages.thread_wanted END`,
		w.inc.ID, sink, channel, w.version, w.told.last, digest, flag(digest != ""), nanos(joined))
	return err
}

// wantInSlack raises what Slack should show, and decides on the first time whether the incident folds. A digest
// whose incident changes is drawn again. A folded incident that has become too severe for that gets its own
// message, whether anything folds nowadays or not.
func (s *Store) wantInSlack(ctx context.Context, tx *sql.Tx, w want, channel string, digests map[string]news) error {
	var digest string
	var folded int64
	err := s.row(ctx, tx, []any{&digest, &folded}, `SELECT digest, folded FROM messages WHERE incident = ? AND sink = ?`,
		w.inc.ID, incident.SinkSlack)
	n := news{}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if digest, err = s.digestFor(ctx, tx, w.inc, channel); err != nil {
			return fmt.Errorf("decide whether it folds: %w", err)
		}
		folded, n.joined = flag(digest != ""), true
	case err != nil:
		return err
	}
	if err := s.wantIn(ctx, tx, w, incident.SinkSlack, channel, digest); err != nil {
		return err
	}
	if folded == 0 {
		return s.sooner(ctx, tx, w)
	}
	if !w.inc.MayFold() {
		if _, err := s.unfold(ctx, tx, w.inc, time.Time{}); err != nil {
			return fmt.Errorf("unfold it: %w", err)
		}
	} else {
		for _, seq := range w.told.calls {
			n.calls = append(n.calls, incident.Call{Incident: w.inc.ID, Entry: incident.Entry{Seq: seq}})
		}
	}
	before := digests[digest]
	digests[digest] = news{append(before.calls, n.calls...), before.joined || n.joined}
	return nil
}

// sooner brings the next edit of a message forward for what somebody waits for, to EditGap after the last one. A
// message that waits for another reason, such as a rate limit, goes on waiting.
func (s *Store) sooner(ctx context.Context, tx *sql.Tx, w want) error {
	if !w.soon {
		return nil
	}
	now := s.Now()
	_, err := s.changed(ctx, tx, `UPDATE messages
		SET next_at = CASE WHEN next_at - CAST(? AS BIGINT) > ? THEN next_at - CAST(? AS BIGINT) ELSE ? END
		WHERE incident = ? AND sink = ? AND last_error = '' AND next_at > ?`,
		int64(incident.CountGap-incident.EditGap), nanos(now), int64(incident.CountGap-incident.EditGap), nanos(now),
		w.inc.ID, incident.SinkSlack, nanos(now.Add(incident.EditGap)))
	return err
}

// stormLock is the number of the advisory lock on PostgreSQL under which it is decided whether incidents fold, so
// that two replicas make one digest for one storm. SQLite has one writer.
const stormLock = 0x73_74_72_6d // "strm"

// cameAround lists when incidents came into a channel, the newest first.
const cameAround = `SELECT joined_at FROM messages
	WHERE sink = ? AND channel = ? AND kind = '' AND joined_at > 0 AND joined_at > ? AND joined_at < ?
	ORDER BY joined_at DESC LIMIT ?`

// joinable finds the newest digest of a channel that has had news of late and takes further incidents.
const joinable = `SELECT d.incident FROM messages d
	WHERE d.sink = ? AND d.channel = ? AND d.kind = ? AND d.joined_at > 0 AND d.joined_at > ? AND d.joined_at < ?
	AND (SELECT COUNT(*) FROM messages m WHERE m.digest = d.incident AND m.digest <> '') < ?
	AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.digest = d.incident AND m.digest <> '' AND m.joined_at <= ?)
	ORDER BY d.joined_at DESC, d.incident LIMIT 1`

// digestFor is the digest that a new incident folds into; empty when it does not fold. A digest is joined until it has
// had no news for as long as the rate is measured over, or has taken as many, or for as long, as a digest may.
func (s *Store) digestFor(ctx context.Context, tx *sql.Tx, inc incident.Incident, channel string) (string, error) {
	storm := s.opts.Storm
	if !storm.On() || !inc.MayFold() {
		return "", nil
	}
	if s.postgres {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, stormLock); err != nil {
			return "", err
		}
	}
	now := s.Now()
	from, to := storm.Around(now)
	counted, err := list(ctx, s, tx, scanMoment, cameAround, incident.SinkSlack, channel, nanos(from), nanos(to),
		storm.Incidents)
	if err != nil {
		return "", err
	}
	if fold, _ := storm.Fold(inc, counted, now); !fold {
		return "", nil
	}
	var id string
	err = s.row(ctx, tx, []any{&id}, joinable, incident.SinkSlack, channel, incident.KindDigest, nanos(from), nanos(to),
		incident.DigestSize, nanos(now.Add(-incident.DigestFor)))
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	id = "digest-" + strings.ToLower(rand.Text()[:10])
	_, err = s.changed(ctx, tx, `INSERT INTO messages (incident, sink, channel, kind, joined_at) VALUES (?, ?, ?, ?, ?)`,
		id, incident.SinkSlack, channel, incident.KindDigest, nanos(now))
	return id, err
}

func scanMoment(r *sql.Rows) (time.Time, error) {
	var n int64
	err := r.Scan(&n)
	return moment(n), err
}

// wantDigest has a digest drawn again, and adds to its thread.
func (s *Store) wantDigest(ctx context.Context, tx *sql.Tx, id string, n news) error {
	var last int64
	err := s.row(ctx, tx, []any{&last}, `UPDATE messages SET wanted = wanted + 1, thread_wanted = thread_wanted + ?,
			joined_at = CASE WHEN ? = 1 THEN ? ELSE joined_at END
		WHERE incident = ? AND sink = ? RETURNING thread_wanted`,
		len(n.calls), flag(n.joined), nanos(s.Now()), id, incident.SinkSlack)
	if err != nil {
		return err
	}
	for i, c := range n.calls {
		if _, err := s.changed(ctx, tx, `INSERT INTO digest_calls (digest, seq, incident, entry) VALUES (?, ?, ?, ?)`,
			id, last-int64(len(n.calls)-1-i), c.Incident, c.Entry.Seq); err != nil {
			return fmt.Errorf("call for %s: %w", c.Incident, err)
		}
	}
	return nil
}
