package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ErrClosed says that the store has been closed.
var ErrClosed = errors.New("the store is closed")

// claimBytes bounds the bodies of one claim, beyond the first delivery, so that a backlog of large ones is never in
// memory as a whole.
const claimBytes = 8 << 20

// orderTries is how often a delivery holds up the later ones of its group while it waits to be tried again. Then they
// go on without it: an alert tells by its times which word about it is newer.
const orderTries = 5

// claimLock is the number of the advisory lock that orders claims on PostgreSQL: a claim that cannot see another one's
// cannot keep a group's order.
const claimLock = pauseLock + 1

// ClaimDeliveries takes the oldest deliveries that nobody works on and that are not behind an earlier one of their
// group, oldest first. One whose claims were cut off more than once comes after all others and alone. One that cannot
// be read, or whose claims were cut off too often, is logged and parked as dead.
func (s *Store) ClaimDeliveries(ctx context.Context, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Delivery, error) {
	s.clock.lease(lease)
	for {
		out, dead, err := s.claimDeliveries(ctx, owner, now, lease, limit)
		s.claims.note(err)
		for id, why := range dead {
			s.gaveUp(ctx, id, why)
		}
		if err != nil {
			return nil, fmt.Errorf("claim deliveries: %w", err)
		}
		if len(out) > 0 || len(dead) == 0 {
			return out, nil
		}
	}
}

// claimDeliveries claims once; dead says which deliveries were parked, and why. The claim is committed before a body is
// read: when that ends the process, it counts.
func (s *Store) claimDeliveries(ctx context.Context, owner string, now time.Time, lease time.Duration,
	limit int,
) (out []incident.Delivery, dead map[int64]string, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if s.postgres {
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, claimLock); err != nil {
				return err
			}
		}
		if dead, err = s.cutOff(ctx, tx, now, nanos(now)); err != nil {
			return err
		}
		ids, err := s.nextDeliveries(ctx, tx, now, limit)
		if err != nil || len(ids) == 0 {
			return err
		}
		out, err = s.leaseDeliveries(ctx, tx, ids, owner, now.Add(lease))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out, unread, err := s.readClaimed(ctx, out)
	if err != nil {
		return nil, dead, err
	}
	maps.Copy(dead, unread)
	return out, dead, nil
}

// readClaimed reads the bodies of claimed deliveries and parks those that cannot be read; dead says which, and why. A
// delivery that somebody else has by now, or has folded, is neither.
func (s *Store) readClaimed(ctx context.Context, claims []incident.Delivery) (
	out []incident.Delivery, dead map[int64]string, err error,
) {
	bad, err := s.readBodies(ctx, claims)
	if err == nil {
		dead, err = s.parkUnreadable(ctx, claims, bad)
	}
	if err != nil {
		// what was claimed in vain is not held up by it
		return nil, nil, errors.Join(err, s.release(context.WithoutCancel(ctx), claims...))
	}
	return slices.DeleteFunc(claims, func(d incident.Delivery) bool { return bad[d.ID] != nil }), dead, nil
}

// parkUnreadable parks what cannot be read as dead, where the claim on it still holds, and says what it has parked: the
// body of a delivery is gone when another replica has folded it meanwhile.
func (s *Store) parkUnreadable(ctx context.Context, claims []incident.Delivery, bad map[int64]error) (
	map[int64]string, error,
) {
	dead := map[int64]string{}
	for _, d := range claims {
		why := bad[d.ID]
		if why == nil {
			continue
		}
		n, err := s.changed(ctx, s.write,
			`UPDATE deliveries SET state = 'dead', reason = ?, held_until = 0, lease_owner = ''
				WHERE id = ? AND fence = ? AND state = 'new'`, why.Error(), d.ID, d.Fence)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			dead[d.ID] = why.Error()
		}
	}
	return dead, nil
}

// claimable lists the oldest deliveries that are free and not behind one of their group that is held or goes alone. The
// index deliveries_free answers in order, however many wait; deliveries_held and deliveries_cut hold the few others.
const claimable = `SELECT d.id, d.size FROM deliveries d WHERE d.state = 'new' AND d.held_until = 0 AND d.cut < 2
	AND NOT EXISTS (
		SELECT 1 FROM deliveries b WHERE b.state = 'new' AND b.held_until > 0 AND b.grp = d.grp AND b.id < d.id
			AND (b.lease_owner <> '' OR b.attempts < ?))
	AND NOT EXISTS (
		SELECT 1 FROM deliveries c WHERE c.state = 'new' AND c.cut >= 2 AND c.grp = d.grp AND c.id < d.id
			AND c.attempts < ?)
	ORDER BY d.id LIMIT ?`

// alone finds the delivery that goes alone: the one that was cut off the least often of those that are free, and not
// behind a held one of its group.
const alone = `SELECT d.id, d.size FROM deliveries d WHERE d.state = 'new' AND d.cut >= 2 AND d.held_until = 0
	AND NOT EXISTS (
		SELECT 1 FROM deliveries b WHERE b.state = 'new' AND b.held_until > 0 AND b.grp = d.grp AND b.id < d.id
			AND (b.lease_owner <> '' OR b.attempts < ?))
	ORDER BY d.cut, d.id LIMIT 1`

// nextDeliveries lists what may be claimed now.
func (s *Store) nextDeliveries(ctx context.Context, tx *sql.Tx, now time.Time, limit int) ([]int64, error) {
	if _, err := s.exec(ctx, tx,
		`UPDATE deliveries SET held_until = 0 WHERE state = 'new' AND held_until > 0 AND held_until <= ?`,
		nanos(now)); err != nil {
		return nil, err
	}
	type candidate struct{ id, size int64 }
	scan := func(r *sql.Rows) (candidate, error) {
		var c candidate
		return c, r.Scan(&c.id, &c.size)
	}
	found, err := list(ctx, s, tx, scan, claimable, orderTries, orderTries, limit)
	if err == nil && len(found) == 0 {
		found, err = list(ctx, s, tx, scan, alone, orderTries)
	}
	if err != nil {
		return nil, err
	}
	var ids []int64
	total := int64(0)
	for _, c := range found {
		if total += c.size; total > claimBytes && len(ids) > 0 {
			break
		}
		ids = append(ids, c.id)
	}
	return ids, nil
}

// leaseDeliveries claims deliveries and returns them without their alerts, in order.
func (s *Store) leaseDeliveries(ctx context.Context, tx *sql.Tx, ids []int64, owner string,
	until time.Time) ([]incident.Delivery,
	error,
) {
	out, err := list(ctx, s, tx, func(r *sql.Rows) (incident.Delivery, error) {
		var d incident.Delivery
		return d, r.Scan(&d.ID, &d.Attempts, &d.Fence)
	}, `UPDATE deliveries SET attempts = attempts + 1, fence = fence + 1, lease_owner = ?, held_until = ? WHERE `+
		s.listed("id")+`
		RETURNING id, attempts, fence`, owner, nanos(until), s.ids(ids))
	slices.SortFunc(out, func(a, b incident.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

// readBodies fills claimed deliveries and says which ones cannot be read.
func (s *Store) readBodies(ctx context.Context, out []incident.Delivery) (map[int64]error, error) {
	bad := map[int64]error{}
	if len(out) == 0 {
		return bad, nil
	}
	ids := make([]int64, len(out))
	for n, d := range out {
		ids[n] = d.ID
	}
	ctx, cancel := s.bound(ctx, s.read)
	defer cancel()
	rows, err := s.query(ctx, s.read,
		`SELECT delivery, body FROM delivery_bodies WHERE `+s.listed("delivery")+` ORDER BY delivery`, s.ids(ids))
	if err != nil {
		return nil, s.late(ctx, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is checked; Close after a full read cannot lose anything
	for _, d := range out {
		bad[d.ID] = fmt.Errorf("read it from JSON: its body is not there")
	}
	for rows.Next() {
		var id int64
		var body sql.RawBytes
		if err := rows.Scan(&id, &body); err != nil {
			return nil, err
		}
		n, known := slices.BinarySearchFunc(out, id, func(d incident.Delivery, id int64) int { return cmp.Compare(d.ID, id) })
		if !known {
			continue
		}
		claim := out[n]
		if err := json.Unmarshal(body, &out[n]); err != nil {
			bad[id] = fmt.Errorf("read it from JSON: %w", err)
			continue
		}
		out[n].ID, out[n].Attempts, out[n].Fence = claim.ID, claim.Attempts, claim.Fence
		delete(bad, id)
	}
	return bad, rows.Err()
}

// listed is the condition that a column is in the list that is given as the one argument s.ids: one statement for any
// length.
func (s *Store) listed(column string) string {
	if s.postgres {
		return column + ` = ANY(?)`
	}
	return column + ` IN (SELECT value FROM json_each(?))`
}

func (s *Store) ids(ids []int64) any {
	if s.postgres {
		return ids
	}
	texts := make([]string, len(ids))
	for n, id := range ids {
		texts[n] = strconv.FormatInt(id, 10)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// RenewDeliveries holds claimed deliveries until a later time. It answers incident.ErrFenced when one of them is
// somebody else's by now.
func (s *Store) RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error {
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.claimed(ctx, tx, ds, `held_until = ?`, nanos(until))
	})
	if err != nil {
		return fmt.Errorf("renew the claim on deliveries: %w", err)
	}
	return nil
}

// ReleaseDelivery gives a claim back as if it had not been. It answers incident.ErrFenced when somebody else has the
// delivery.
func (s *Store) ReleaseDelivery(ctx context.Context, d incident.Delivery) error {
	if err := s.release(ctx, d); err != nil {
		return fmt.Errorf("release delivery %d: %w", d.ID, err)
	}
	return nil
}

func (s *Store) release(ctx context.Context, ds ...incident.Delivery) error {
	return s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.claimed(ctx, tx, ds, `held_until = 0, lease_owner = '', attempts = attempts - 1`)
	})
}

// claimed changes claimed deliveries, all or none.
func (s *Store) claimed(ctx context.Context, tx *sql.Tx, ds []incident.Delivery, set string, args ...any) error {
	fences := make(map[string]int64, len(ds))
	for _, d := range ds {
		fences[strconv.FormatInt(d.ID, 10)] = d.Fence
	}
	list, err := json.Marshal(fences)
	if err != nil {
		return err
	}
	from := `(SELECT CAST(key AS BIGINT) AS id, CAST(value AS BIGINT) AS fence FROM json_each_text(CAST(? AS json))) AS c`
	if !s.postgres {
		from = `(SELECT CAST(key AS INTEGER) AS id, value AS fence FROM json_each(?)) AS c`
	}
	n, err := s.changed(ctx, tx,
		`UPDATE deliveries SET `+set+` FROM `+from+
			` WHERE deliveries.id = c.id AND deliveries.fence = c.fence AND deliveries.state = 'new'`,
		append(args, string(list))...)
	if err != nil {
		return err
	}
	if n != int64(len(ds)) {
		return fmt.Errorf("%d of %d deliveries: %w", int64(len(ds))-n, len(ds), incident.ErrFenced)
	}
	return nil
}

// CommitFolded commits what deliveries have made of incidents, and that they are done: all or nothing. The errors are
// those of Commit, and incident.ErrFenced when somebody else has one of the deliveries.
func (s *Store) CommitFolded(ctx context.Context, f incident.Folded) error {
	return s.commit(ctx, f.Changes, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.claimed(ctx, tx, f.Deliveries,
			`state = 'done', reason = '', held_until = 0, lease_owner = ''`); err != nil {
			return err
		}
		ids := make([]int64, len(f.Deliveries))
		for n, d := range f.Deliveries {
			ids[n] = d.ID
		}
		// What they brought, up to 10 MiB each, is in their incidents by now.
		if _, err := s.exec(ctx, tx, `DELETE FROM delivery_bodies WHERE `+s.listed("delivery"), s.ids(ids)); err != nil {
			return err
		}
		return s.keepEnded(ctx, tx, f.Ended)
	})
}

// FailDelivery puts a claimed delivery back until retryAt, or logs it and parks it as dead when it was tried too often.
// It answers incident.ErrFenced when somebody else has it.
func (s *Store) FailDelivery(ctx context.Context, d incident.Delivery, reason string, retryAt time.Time) error {
	state, until := "new", nanos(retryAt)
	if d.Attempts >= s.opts.MaxDeliveryAttempts {
		state, until = "dead", 0
	}
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.claimed(ctx, tx, []incident.Delivery{d}, `state = ?, reason = ?, held_until = ?, lease_owner = '', cut = 0`,
			state, reason, until)
	})
	if err != nil {
		return fmt.Errorf("put delivery %d back: %w", d.ID, err)
	}
	if state == "dead" {
		s.gaveUp(ctx, d.ID, reason)
	}
	return nil
}

// DeadDeliveries counts the deliveries that were given up. Stats has the same number among others; this is for those
// who ask for nothing else.
func (s *Store) DeadDeliveries(ctx context.Context) (int64, error) {
	var n int64
	err := s.row(ctx, s.read, []any{&n}, `SELECT COUNT(*) FROM deliveries WHERE state = 'dead'`)
	return n, err
}
