package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/audit"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// head is the end of an incident's journal after a commit, and the state that the incident has with it.
type head struct {
	incident, pool string
	state, before  string
	entries        int64
	hash           string
}

// chain is the note of a journal's end, as it was before a commit.
func (s *Store) chain(ctx context.Context, tx *sql.Tx, id string) (h head, lastSeq int64, err error) {
	err = s.row(ctx, tx, []any{&h.entries, &h.hash, &h.before},
		`SELECT entries, head, state FROM chains WHERE incident = ?`, id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return h, 0, err
	}
	err = s.row(ctx, tx, []any{&lastSeq}, `SELECT COALESCE(MAX(seq), 0) FROM journal WHERE incident = ?`, id)
	return h, lastSeq, err
}

// addEntries numbers the journal entries, chains them to those before and adds them. It returns the journal's new end,
// and the number of the last entry that belongs into the thread, or 0.
//
// The chain goes on from the noted end, whatever the rows say: when somebody has removed entries or changed them, the
// gap or the break stays, and the bot can go on.
func (s *Store) addEntries(ctx context.Context, tx *sql.Tx, ch incident.Change) (head, lines, error) {
	if len(ch.Entries) == 0 {
		return head{}, lines{}, nil
	}
	id := ch.Incident.ID
	h, seq, err := s.chain(ctx, tx, id)
	if err != nil {
		return head{}, lines{}, fmt.Errorf("the end of the journal: %w", err)
	}
	h.incident, h.pool, h.state = id, ch.Incident.Pool, string(ch.Incident.State)
	var told lines
	seq = max(seq, h.entries)
	for _, e := range ch.Entries {
		seq++
		e.Seq, e.Hash = seq, ""
		body, err := json.Marshal(e)
		if err != nil {
			return head{}, lines{}, fmt.Errorf("write a journal entry as JSON: %w", err)
		}
		h.entries = seq
		h.hash = audit.Link(h.hash, id, audit.Row{Seq: seq, Thread: e.Thread, Body: string(body)})
		if _, err := s.changed(ctx, tx, `INSERT INTO journal (incident, seq, thread, body, hash) VALUES (?, ?, ?, ?, ?)`,
			id, seq, flag(e.Thread), string(body), h.hash); err != nil {
			return head{}, lines{}, fmt.Errorf("add to the journal: %w", err)
		}
		if e.Thread {
			told.last = seq
		}
		if e.Thread && len(e.Mention) > 0 {
			told.calls = append(told.calls, seq)
		}
	}
	_, err = s.changed(ctx, tx, `INSERT INTO chains (incident, entries, head, state) VALUES (?, ?, ?, ?)
		ON CONFLICT (incident) DO UPDATE SET entries = excluded.entries, head = excluded.head, state = excluded.state`,
		id, h.entries, h.hash, h.state)
	if err != nil {
		return head{}, lines{}, fmt.Errorf("note the end of the journal: %w", err)
	}
	return h, told, nil
}

// logHeads writes the heads of incidents that are in another state now into the log, where nobody with nothing but the
// database can change them.
func (s *Store) logHeads(ctx context.Context, heads []head) {
	for _, h := range heads {
		if h.hash != "" && h.state != h.before {
			s.opts.Logger.InfoContext(ctx, "an incident is in another state", "incident", h.incident, "pool", h.pool,
				"state", h.state, "entries", h.entries, "head", audit.Short(h.hash))
		}
	}
}

// headsFor is for how long after its end an incident's head is logged at a start.
const headsFor = 24 * time.Hour

// logHeadsAtStart writes the heads of the incidents that are open, or were until lately, into the log: the process that
// ran before may have been killed between a commit and its line there.
func (s *Store) logHeadsAtStart(ctx context.Context) error {
	heads, err := list(ctx, s, s.write, func(r *sql.Rows) (h head, err error) {
		return h, r.Scan(&h.incident, &h.pool, &h.state, &h.entries, &h.hash)
	}, `SELECT i.id, i.pool, i.state, c.entries, c.head FROM incidents i JOIN chains c ON c.incident = i.id
		WHERE c.head <> '' AND (i.state <> 'closed' OR i.closed_at >= ?) ORDER BY i.id`, nanos(s.Now().Add(-headsFor)))
	if err != nil {
		return fmt.Errorf("read the ends of the journals: %w", err)
	}
	for _, h := range heads {
		s.opts.Logger.InfoContext(ctx, "the journal of an incident continues from here", "incident", h.incident, "pool",
			h.pool, "state", h.state, "entries", h.entries, "head", audit.Short(h.hash))
	}
	return nil
}

// removedByAge is the reason in the note of a journal that Prune removed.
const removedByAge = "retention"

// noteRemoved keeps, of a journal that is removed with its incident, how many entries it had and their head.
func (s *Store) noteRemoved(ctx context.Context, tx *sql.Tx, id string, now time.Time) (head, error) {
	h, _, err := s.chain(ctx, tx, id)
	if err != nil {
		return head{}, err
	}
	h.incident = id
	_, err = s.changed(ctx, tx, `INSERT INTO chains (incident, entries, head, removed_at, reason) VALUES (?, 0, '', ?, ?)
		ON CONFLICT (incident) DO UPDATE SET removed_at = excluded.removed_at, reason = excluded.reason`,
		id, nanos(now), removedByAge)
	return h, err
}

func (s *Store) logRemoved(ctx context.Context, heads []head) {
	for _, h := range heads {
		s.opts.Logger.InfoContext(ctx, "an incident was removed from the store after its time", "incident", h.incident,
			"entries", h.entries, "head", audit.Short(h.hash))
	}
}

// chainOld gives a head to the journals from before there were any: from then on no entry of theirs can be changed
// without a trace. It is done once, at the first start with this schema.
func (s *Store) chainOld(ctx context.Context) error {
	ids, err := s.unheaded(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.chainOne(ctx, tx, id) }); err != nil {
			return fmt.Errorf("incident %s: %w", id, err)
		}
	}
	if len(ids) > 0 {
		s.opts.Logger.InfoContext(ctx, "the journals of earlier incidents are chained from now on", "incidents", len(ids))
	}
	return nil
}

func (s *Store) unheaded(ctx context.Context) ([]string, error) {
	return list(ctx, s, s.write, scanID, `SELECT incident FROM chains WHERE head = '' AND entries > 0 AND removed_at = 0`)
}

func (s *Store) chainOne(ctx context.Context, tx *sql.Tx, id string) error {
	lock := `SELECT head FROM chains WHERE incident = ?`
	if s.postgres {
		lock += ` FOR UPDATE` // another replica may be starting, too
	}
	var done string
	if err := s.row(ctx, tx, []any{&done}, lock, id); err != nil || done != "" {
		return err
	}
	rows, err := list(ctx, s, tx, scanRow, journalRows, id)
	if err != nil || len(rows) == 0 {
		return err
	}
	hash := ""
	for _, r := range rows {
		hash = audit.Link(hash, id, r)
	}
	last := rows[len(rows)-1].Seq
	_, err = s.changed(ctx, tx, `UPDATE chains SET head = ?, entries = ?, unhashed = ? WHERE incident = ?`,
		hash, last, last, id)
	return err
}

const journalRows = `SELECT seq, thread, body, hash FROM journal WHERE incident = ? ORDER BY seq`

func scanRow(r *sql.Rows) (audit.Row, error) {
	var row audit.Row
	var thread int64
	err := r.Scan(&row.Seq, &thread, &row.Body, &row.Hash)
	row.Thread = thread == 1
	return row, err
}

func scanID(r *sql.Rows) (string, error) {
	var id string
	return id, r.Scan(&id)
}

// Audited lists the ids of all incidents of which the store has anything, in order: those that were removed, too.
func (r *Reader) Audited(ctx context.Context) ([]string, error) {
	ids, err := list(ctx, r.s, r.s.read, scanID,
		`SELECT incident FROM chains UNION SELECT incident FROM journal UNION SELECT id FROM incidents ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("list the journals: %w", err)
	}
	return ids, nil
}

// Chain returns the journal of an incident as it is stored, with what is noted of it, and the incident's pool while it
// is there. An incident of which the store has nothing is one that is neither Known nor Noted, and no error.
func (r *Reader) Chain(ctx context.Context, id string) (c audit.Chain, pool string, err error) {
	c = audit.Chain{Incident: id}
	err = r.s.inSnapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var removedAt int64
		var reason string
		err := r.s.row(ctx, tx, []any{&c.Entries, &c.Head, &c.Unhashed, &removedAt, &reason},
			`SELECT entries, head, unhashed, removed_at, reason FROM chains WHERE incident = ?`, id)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		c.Noted = err == nil
		if removedAt > 0 {
			c.Removed = &audit.Removed{At: moment(removedAt), Reason: reason}
		}
		err = r.s.row(ctx, tx, []any{&pool}, `SELECT pool FROM incidents WHERE id = ?`, id)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		c.Known = err == nil
		c.Rows, err = list(ctx, r.s, tx, scanRow, journalRows, id)
		return err
	})
	if err != nil {
		return audit.Chain{}, "", fmt.Errorf("journal of %s: %w", id, err)
	}
	return c, pool, nil
}
