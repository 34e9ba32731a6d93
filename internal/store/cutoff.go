package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// lastCuts is how often the claim on a delivery is cut off beyond Options.FreeCuts, while it waits ever longer, before
// it is given up: processes are ended for many reasons, but nothing but their end seems to be in this one.
const lastCuts = 3

// cutOff ends the claims that have run out by then, or whose process is gone, and counts them: nobody has said what
// became of the work on these deliveries. One that was cut off often waits ever longer, and is parked as dead in the
// end; dead says why.
func (s *Store) cutOff(ctx context.Context, tx *sql.Tx, now time.Time, until int64) (dead map[int64]string, err error) {
	type cut struct{ id, times int64 }
	all, err := list(ctx, s, tx, func(r *sql.Rows) (cut, error) {
		var c cut
		return c, r.Scan(&c.id, &c.times)
	}, `UPDATE deliveries SET cut = cut + 1, held_until = 0, lease_owner = ''
		WHERE state = 'new' AND held_until > 0 AND held_until <= ? AND lease_owner <> ''
		RETURNING id, cut`, until)
	if err != nil {
		return nil, err
	}
	dead = map[int64]string{}
	for _, c := range all {
		switch {
		case c.times >= int64(s.opts.FreeCuts+lastCuts):
			dead[c.id] = fmt.Sprintf("the process ended, or did not answer, %d times in a row while it worked on this delivery",
				c.times)
			_, err = s.changed(ctx, tx, `UPDATE deliveries SET state = 'dead', reason = ? WHERE id = ?`, dead[c.id], c.id)
		case c.times >= int64(s.opts.FreeCuts):
			_, err = s.changed(ctx, tx, `UPDATE deliveries SET held_until = ? WHERE id = ?`,
				nanos(now.Add(time.Minute<<(c.times-int64(s.opts.FreeCuts)))), c.id)
		}
		if err != nil {
			return nil, err
		}
	}
	return dead, nil
}
