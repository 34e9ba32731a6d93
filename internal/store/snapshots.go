package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	json "github.com/go-json-experiment/json/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// snapshotsKept is how many snapshots an incident keeps: the first, and the newest others. Causes that take turns for
// hours would fill the store.
const snapshotsKept = 24

// largestSnapshot bounds what a stored body may unpack to, so that a damaged one costs no more memory than that.
const largestSnapshot = 64 << 20

// keepSnapshot adds a snapshot, and removes what is too much.
func (s *Store) keepSnapshot(ctx context.Context, tx *sql.Tx, ch incident.Change) error {
	if ch.Snapshot == nil {
		return nil
	}
	id, one := ch.Incident.ID, *ch.Snapshot
	if err := s.row(ctx, tx, []any{&one.Seq},
		`SELECT COALESCE(MAX(seq), 0) + 1 FROM snapshots WHERE incident = ?`, id); err != nil {
		return fmt.Errorf("number a snapshot: %w", err)
	}
	body, err := pack(one)
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	if _, err := s.changed(ctx, tx, `INSERT INTO snapshots (incident, seq, body) VALUES (?, ?, ?)`, id, one.Seq,
		body); err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	if _, err := s.changed(ctx, tx, `DELETE FROM snapshots WHERE incident = ? AND seq > 1 AND seq <= ?`, id,
		one.Seq-snapshotsKept+1); err != nil {
		return fmt.Errorf("remove old snapshots: %w", err)
	}
	return nil
}

// Snapshots returns the kept investigations of an incident, the oldest first; none for one that an older version has
// looked after. It answers incident.ErrNotFound when there is no such incident.
func (s *Store) Snapshots(ctx context.Context, id string) ([]incident.Snapshot, error) {
	var there int64
	err := s.row(ctx, s.read, []any{&there}, `SELECT COUNT(*) FROM incidents WHERE id = ?`, id)
	if err == nil && there == 0 {
		err = incident.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("incident %s: %w", id, err)
	}
	out, err := list(ctx, s, s.read, func(r *sql.Rows) (incident.Snapshot, error) {
		var body []byte
		if err := r.Scan(&body); err != nil {
			return incident.Snapshot{}, err
		}
		return unpack(body)
	}, `SELECT body FROM snapshots WHERE incident = ? ORDER BY seq`, id)
	if err != nil {
		return nil, fmt.Errorf("snapshots of %s: %w", id, err)
	}
	return out, nil
}

// Snapshots returns the kept investigations of an incident, as Store.Snapshots does.
func (r *Reader) Snapshots(ctx context.Context, id string) ([]incident.Snapshot, error) {
	return r.s.Snapshots(ctx, id)
}

func pack(one incident.Snapshot) ([]byte, error) {
	body, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func unpack(body []byte) (one incident.Snapshot, err error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return one, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, largestSnapshot))
	if err != nil {
		return one, err
	}
	return one, json.Unmarshal(plain, &one)
}
