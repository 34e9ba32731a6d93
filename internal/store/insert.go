package store

import (
	"context"
	"database/sql"
	"hash/fnv"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func (s *Store) insertDeliveries(ctx context.Context, tx *sql.Tx, batch []*waiting) error {
	if s.postgres {
		return s.insertAtOnce(ctx, tx, batch)
	}
	for _, w := range batch {
		res, err := s.exec(ctx, tx, `INSERT INTO deliveries (received_at, grp, size) VALUES (?, ?, ?)`, w.receivedAt, w.group,
			len(w.body))
		if err != nil {
			return err
		}
		if w.id, err = res.LastInsertId(); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, `INSERT INTO delivery_bodies (delivery, body) VALUES (?, ?)`, w.id, w.body); err != nil {
			return err
		}
	}
	return nil
}

// insertAtOnce takes two round trips to PostgreSQL for any number of deliveries.
func (s *Store) insertAtOnce(ctx context.Context, tx *sql.Tx, batch []*waiting) error {
	ids, err := list(ctx, s, tx, func(r *sql.Rows) (int64, error) {
		var id int64
		return id, r.Scan(&id)
	}, `SELECT nextval(pg_get_serial_sequence('deliveries', 'id')) FROM generate_series(1, CAST(? AS BIGINT))`, len(batch))
	if err != nil {
		return err
	}
	received, groups, bodies := make([]int64, len(batch)), make([]int64, len(batch)), make([][]byte, len(batch))
	for n, w := range batch {
		w.id, received[n], groups[n], bodies[n] = ids[n], w.receivedAt, w.group, w.body
	}
	_, err = tx.ExecContext(ctx, `WITH new AS (
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS u (id, received_at, grp, body)
		), stored AS (
			INSERT INTO deliveries (id, received_at, grp, size) OVERRIDING SYSTEM VALUE
				SELECT id, received_at, grp, length(body) FROM new
		)
		INSERT INTO delivery_bodies (delivery, body) SELECT id, body FROM new`, ids, received, groups, bodies)
	return err
}

// groupOf is the number of a delivery's group. That two groups may have the same one costs nothing but an order between
// them.
func groupOf(d incident.Delivery) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.Receiver + "\x00" + d.GroupKey)) // a hash.Hash never fails
	return int64(h.Sum64())
}
