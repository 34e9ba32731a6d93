package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

const day = 24 * time.Hour

// closed makes an incident with a journal, a write and a message, that was closed at the time.
func closed(t *testing.T, s *store.Store, id string, at time.Time, wrote time.Time) {
	t.Helper()
	inc := create(t, s, id, "pool-"+id)
	w := &incident.Write{
		ID: "w-" + id, Incident: id, Step: "s", Pool: inc.Pool, Kind: incident.StepReplicas, Target: "t",
		Op: incident.OpApply, StartedAt: wrote,
	}
	ok(t, s.Commit(t.Context(),
		incident.Change{Incident: inc, Expect: 1, Claim: w, Entries: []incident.Entry{{Text: "said", Thread: true}}}))
	w.EndedAt, w.Result = wrote.Add(time.Second), incident.ResultApplied
	inc.State, inc.ClosedAt = incident.StateClosed, at
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 2, Finish: w, Render: true}))
}

func rowsOf(t *testing.T, db *sql.DB, table string) int {
	t.Helper()
	var n int
	ok(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

func TestOldClosedIncidentsGoWithAllThatIsTheirs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		old, young := now.Add(-91*day), now.Add(-89*day)
		closed(t, s, "inc-old", old, old)
		closed(t, s, "inc-young", young, young)
		create(t, s, "inc-open", "o")
		reopened := fresh("inc-again", "r")
		ok(t, s.Commit(ctx, incident.Change{Incident: reopened}))
		reopened.State, reopened.ClosedAt = incident.StateClosed, old
		ok(t, s.Commit(ctx, incident.Change{Incident: reopened, Expect: 1}))
		reopened.State = incident.StateWatching // its time of closing still stands there
		ok(t, s.Commit(ctx, incident.Change{Incident: reopened, Expect: 2, Entries: []incident.Entry{{Text: "again"}}}))
		got, err := s.Prune(ctx, now, store.DefaultKeep)
		ok(t, err)
		if d := cmp.Diff(store.Pruned{Incidents: 1}, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if _, err := s.Incident(ctx, "inc-old"); !errors.Is(err, incident.ErrNotFound) {
			t.Errorf("the old one: %v", err)
		}
		db := raw(t, url)
		for table, want := range map[string]int{"incidents": 3, "journal": 2, "writes": 1, "messages": 1} {
			if n := rowsOf(t, db, table); n != want {
				t.Errorf("%s has %d rows, want %d", table, n, want)
			}
		}
		for _, id := range []string{"inc-young", "inc-open", "inc-again"} {
			if _, err := s.IncidentWithJournal(ctx, id); err != nil {
				t.Error(err)
			}
		}
		if got, err = s.Prune(ctx, now, store.DefaultKeep); err != nil || got.All() != 0 {
			t.Errorf("a second call removed %+v: %v", got, err)
		}
	})
}

// What guardrails count must not vanish because somebody keeps incidents for a short time only.
func TestPruningKeepsWhatGuardrailsRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		closed(t, s, "inc-a", now.Add(-2*time.Hour), now.Add(-23*time.Hour))
		closed(t, s, "inc-b", now.Add(-2*time.Hour), now.Add(-25*time.Hour))
		closed(t, s, "inc-locked", now.Add(-2*time.Hour), now.Add(-25*time.Hour))
		db := raw(t, url)
		for _, q := range []string{`INSERT INTO locks (target, incident) VALUES ('x', 'inc-locked')`} {
			_, err := db.ExecContext(ctx, q)
			ok(t, err)
		}
		keep := store.DefaultKeep
		keep.Incidents = time.Hour
		got, err := s.Prune(ctx, now, keep)
		ok(t, err)
		if got.Incidents != 1 {
			t.Errorf("removed %+v, want inc-b only", got)
		}
		ws, err := s.WritesSince(ctx, "pool-inc-a", now.Add(-day))
		ok(t, err)
		if len(ws) != 1 {
			t.Error("a write inside the budget's window is gone")
		}
		_, err = db.ExecContext(ctx, `UPDATE writes SET ended_at = 0`)
		ok(t, err)
		if got, err := s.Prune(ctx, now.Add(365*day), keep); err != nil || got.Incidents != 0 {
			t.Errorf("an incident went whose write has not ended: %+v %v", got, err)
		}
	})
}

func TestPruningIsDoneInBatches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		var values []string
		for n := range 450 {
			values = append(values, fmt.Sprintf("(%d, 'done')", now.Add(-8*day).UnixNano()+int64(n)))
		}
		_, err := raw(t, url).ExecContext(ctx,
			`INSERT INTO deliveries (received_at, state) VALUES `+strings.Join(values, ","))
		ok(t, err)
		var counts []int64
		for range 4 {
			got, err := s.Prune(ctx, now, store.DefaultKeep)
			ok(t, err)
			counts = append(counts, got.Deliveries)
		}
		if d := cmp.Diff([]int64{200, 200, 50, 0}, counts); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestDeliveriesAreForgottenWhenTheyAreDone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		for range 3 {
			_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now, Receiver: "r"})
			ok(t, err)
		}
		finished, _, err := claimDelivery(ctx, s, "me", now)
		ok(t, err)
		ok(t, finish(ctx, s, finished))
		committed, _, err := claimDelivery(ctx, s, "me", now)
		ok(t, err)
		ok(t, s.CommitFolded(ctx,
			incident.Folded{
				Changes:    []incident.Change{{Incident: fresh("inc-a", "p")}},
				Deliveries: []incident.Delivery{committed},
			}))
		var kept int
		ok(t, raw(t, url).QueryRowContext(ctx, `SELECT COUNT(*) FROM delivery_bodies`).Scan(&kept))
		if kept != 1 {
			t.Errorf("%d bodies are kept, want that of the one that waits", kept)
		}
		for _, tc := range []struct {
			after   time.Duration
			removed int64
		}{{6 * day, 0}, {8 * day, 2}, {365 * day, 0}} {
			got, err := s.Prune(ctx, now.Add(tc.after), store.DefaultKeep)
			ok(t, err)
			if got.Deliveries != tc.removed {
				t.Errorf("after %s %d deliveries were removed, want %d", tc.after, got.Deliveries, tc.removed)
			}
		}
		if _, found, err := claimDelivery(ctx, s, "me", now.Add(365*day)); err != nil || !found {
			t.Errorf("the one that waits is gone: %v", err)
		}
	})
}

// The triggers hold whoever speaks to the database.
func TestOnlyWholeClosedIncidentsCanBeRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		closed(t, s, "inc-a", now.Add(-100*day), now.Add(-100*day))
		create(t, s, "inc-open", "o")
		db := raw(t, url)
		for q, want := range map[string]string{
			`DELETE FROM journal WHERE incident = 'inc-a'`: "append-only",
			`DELETE FROM incidents WHERE id = 'inc-open'`:  "open incident",
			`UPDATE journal SET body = '{}' WHERE seq = 1`: "append-only",
			`UPDATE journal SET incident = 'inc-open'`:     "append-only",
		} {
			if _, err := db.ExecContext(ctx, q); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", q, err)
			}
		}
		// The incident without its journal: the reference stops it at the commit.
		if err := orphan(ctx, db, strings.HasPrefix(url, "sqlite")); err == nil {
			t.Error("an incident was removed without its journal")
		}
		if n := rowsOf(t, db, "journal"); n != 1 {
			t.Errorf("the journal has %d entries", n)
		}
	})
}

func orphan(ctx context.Context, db *sql.DB, lite bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	setup := `SET CONSTRAINTS journal_incident_fkey DEFERRED`
	if lite {
		setup = `PRAGMA defer_foreign_keys = ON`
	}
	for _, q := range []string{
		setup, `DELETE FROM messages`, `DELETE FROM writes`,
		`DELETE FROM incidents WHERE id = 'inc-a'`,
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}
