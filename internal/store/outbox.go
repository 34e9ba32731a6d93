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

const messageColumns = `SELECT incident, kind, sink, channel, ts, posted_at, wanted, sent, thread_sent, intent_at,
	intent_thread, attempts, next_at, last_error, gave_up, digest, folded, called_at, fence FROM messages`

func scanMessage(r *sql.Rows) (incident.Message, error) {
	var m incident.Message
	var posted, intent, next, gaveUp, folded, called int64
	err := r.Scan(&m.Incident, &m.Kind, &m.Sink, &m.Channel, &m.TS, &posted, &m.Wanted, &m.Sent, &m.ThreadSent, &intent,
		&m.IntentThread, &m.Attempts, &next, &m.LastError, &gaveUp, &m.Digest, &folded, &called, &m.Fence)
	m.Folded, m.CalledAt, m.PostedAt = folded != 0, moment(called), moment(posted)
	m.IntentAt, m.NextAt, m.GaveUp, m.Refused = moment(intent), moment(next), gaveUp != 0, gaveUp == refused
	return m, err
}

// refused is the gave_up of a message that is tried again at its next_at. An earlier version of the program leaves it
// alone until something newer is wanted, like one that was given up for good (1).
const refused = 2

func givenUp(m incident.Message) int64 {
	if m.GaveUp && m.Refused {
		return refused
	}
	return flag(m.GaveUp)
}

// ClaimMessages takes messages of a sink that have something to send and that nobody works on. One that was given up
// comes back when something newer is wanted, and one that was refused at its next_at as well; one whose incident cannot
// be read waits with it, and one that is folded is shown by its digest. Those that ask people something come first,
// then those that are new.
func (s *Store) ClaimMessages(ctx context.Context, sink, _ string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Message, error) {
	s.clock.lease(lease)
	var out []incident.Message
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		out, err = list(ctx, s, tx, scanMessage,
			messageColumns+` WHERE sink = ? AND folded = 0 AND lease_until <= ?
				AND (wanted > sent OR thread_wanted > thread_sent)
				AND (next_at <= ? AND (gave_up <> 1 OR wanted > gave_up_wanted) OR gave_up = 2 AND wanted > gave_up_wanted)
				AND NOT EXISTS (SELECT 1 FROM incidents i WHERE i.id = messages.incident AND i.unreadable = 1)
				ORDER BY CASE
					WHEN thread_wanted > thread_sent AND (kind <> '' OR EXISTS (
						SELECT 1 FROM incidents i WHERE i.id = messages.incident AND i.state = 'deciding')) THEN 0
					WHEN ts = '' THEN 1 ELSE 2 END,
				next_at, incident LIMIT ?`+s.skipLocked(), sink, nanos(now), nanos(now), limit)
		if err != nil {
			return err
		}
		for n := range out {
			out[n].Fence++
			out[n].GaveUp, out[n].Refused = false, false
			if _, err := s.changed(ctx, tx, `UPDATE messages SET fence = ?, lease_until = ? WHERE incident = ? AND sink = ?`,
				out[n].Fence, nanos(now.Add(lease)), out[n].Incident, sink); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim messages: %w", err)
	}
	return out, nil
}

// SaveMessage keeps what became of a claimed message; what is wanted is never lowered by it. incident.ErrFenced says
// that the claim was lost.
func (s *Store) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	var err error
	if first := m.TS != "" && m.PostedAt.IsZero() && m.Kind == "" && m.Sink == incident.SinkSlack; first {
		err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.savePosted(ctx, tx, m, release) })
	} else {
		err = s.saveMessage(ctx, s.write, m, release)
	}
	if err != nil {
		return fmt.Errorf("save the message of %s: %w", m.Incident, err)
	}
	return nil
}

// savePosted saves a message that may be posted by now for the first time, and counts how long that took.
func (s *Store) savePosted(ctx context.Context, tx *sql.Tx, m incident.Message, release bool) error {
	var posted int64
	var before string
	err := s.row(ctx, tx, []any{&posted, &before}, `SELECT posted_at, ts FROM messages WHERE incident = ? AND sink = ?`,
		m.Incident, m.Sink)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := s.saveMessage(ctx, tx, m, release); err != nil || posted > 0 || before != "" {
		return err
	}
	var body string
	if err := s.row(ctx, tx, []any{&body}, `SELECT body FROM incidents WHERE id = ?`, m.Incident); err != nil {
		return err
	}
	var inc incident.Incident
	if err := json.Unmarshal([]byte(body), &inc); err != nil {
		return fmt.Errorf("read its incident from JSON: %w", err)
	}
	t, counts := inc.MessageTally(s.Now())
	if !counts {
		return nil
	}
	return s.tally(ctx, tx, []incident.Tally{t})
}

func (s *Store) saveMessage(ctx context.Context, db querier, m incident.Message, release bool) error {
	// What is asked while a message is being sent does not wait as long as what only counts.
	soon := s.Now().Add(incident.EditGap)
	patient := m.Sink == incident.SinkSlack && m.Kind == "" && m.LastError == "" && m.NextAt.After(soon)
	n, err := s.changed(ctx, db,
		`UPDATE messages SET ts = ?, sent = ?, thread_sent = ?, intent_at = ?, intent_thread = ?, attempts = ?,
			next_at = CASE WHEN ? = 1 AND thread_wanted > ? THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END,
			last_error = ?, gave_up = ?, gave_up_wanted = ?, called_at = ?,
			posted_at = CASE WHEN ? = 1 AND posted_at = 0 THEN ? ELSE posted_at END,
			lease_until = CASE WHEN ? = 1 THEN 0 ELSE lease_until END
			WHERE incident = ? AND sink = ? AND fence = ?`,
		m.TS, m.Sent, m.ThreadSent, nanos(m.IntentAt), m.IntentThread, m.Attempts,
		flag(patient), m.ThreadSent, nanos(soon), nanos(m.NextAt), m.LastError,
		givenUp(m), m.Wanted, nanos(m.CalledAt), flag(m.TS != ""), nanos(s.Now()), flag(release), m.Incident, m.Sink, m.Fence)
	if err == nil && n == 0 {
		err = incident.ErrFenced
	}
	return err
}

// Message returns the message of an incident, or of a digest, that people decide in.
func (s *Store) Message(ctx context.Context, incidentID string) (incident.Message, bool, error) {
	ms, err := list(ctx, s, s.read, scanMessage, messageColumns+` WHERE incident = ? AND sink = ?`,
		incidentID, incident.SinkSlack)
	switch {
	case err != nil:
		return incident.Message{}, false, fmt.Errorf("message of %s: %w", incidentID, err)
	case len(ms) == 0:
		return incident.Message{}, false, nil
	}
	return ms[0], true, nil
}
