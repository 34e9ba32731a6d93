package store_test

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// impatient makes a test of deadlines quick.
func impatient(o *store.Options) { o.Timeout = 2 * time.Second }

// within fails when fn does not return at all. How quick it is nobody asks: the machine may be busy.
func within(t *testing.T, what string, fn func() error) error {
	t.Helper()
	got := make(chan error, 1)
	go func() { got <- fn() }()
	select {
	case err := <-got:
		return err
	case <-time.After(process.Patience):
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(process.Patience); ; {
		if holds() {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", what)
		}
	}
}

// behind opens a store that reaches PostgreSQL through a proxy; direct leads past it.
func behind(t *testing.T, change ...func(*store.Options)) (s *store.Store, proxy *storetest.Proxy, direct string) {
	t.Helper()
	direct = storetest.PostgreSQL(t)
	proxy, through := storetest.Through(t, direct)
	return storetest.Open(t, through, append(change, impatient)...), proxy, direct
}

// deliver stores a delivery.
func deliver(ctx context.Context, s *store.Store) error {
	_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
	return err
}

// Each call has a deadline of its own, whatever the caller's is. A call that is not here does not compile with the
// store's methods.
func TestEveryCallEndsWhenTheServerHangs(t *testing.T) {
	t.Parallel()
	s, proxy, _ := behind(t)
	inc := create(t, s, "inc-1", "llama")
	proxy.Hang()
	defer proxy.Resume()
	calls := map[string]func(ctx context.Context) error{
		"AddClick":    func(ctx context.Context) error { _, err := s.AddClick(ctx, now, "", []byte("{}")); return err },
		"AddDelivery": func(ctx context.Context) error { return deliver(ctx, s) },
		"ClaimClick":  func(ctx context.Context) error { _, _, err := s.ClaimClick(ctx, "me", now, time.Minute); return err },
		"ClaimDeliveries": func(ctx context.Context) error {
			_, err := s.ClaimDeliveries(ctx, "me", now, time.Minute, 1)
			return err
		},
		"CommitFolded": func(ctx context.Context) error { return finish(ctx, s, incident.Delivery{ID: 1}) },
		"EachOpened": func(ctx context.Context) error {
			_, err := s.EachOpened(ctx, incident.Opened{Until: now, AllPools: true},
				func(incident.Incident, time.Time) error { return nil })
			return err
		},
		"OpenAt": func(ctx context.Context) error {
			_, err := s.OpenAt(ctx, incident.Opened{Since: now})
			return err
		},
		"EndedAlerts":     func(ctx context.Context) error { _, err := s.EndedAlerts(ctx, []string{"f"}); return err },
		"ReleaseDelivery": func(ctx context.Context) error { return s.ReleaseDelivery(ctx, incident.Delivery{ID: 1}) },
		"RenewDeliveries": func(ctx context.Context) error {
			return s.RenewDeliveries(ctx, []incident.Delivery{{ID: 1}}, now)
		},
		"ClaimDue": func(ctx context.Context) error { _, err := s.ClaimDue(ctx, "me", now, time.Minute, 1); return err },
		"ClaimMessages": func(ctx context.Context) error {
			_, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", now, time.Minute, 1)
			return err
		},
		"ClearPause": func(ctx context.Context) error { _, err := s.ClearPause(ctx, "", time.Now()); return err },
		"Commit": func(ctx context.Context) error {
			return s.Commit(ctx, incident.Change{Incident: inc, Expect: inc.Version})
		},
		"Digest":         func(ctx context.Context) error { _, err := s.Digest(ctx, "digest-1"); return err },
		"Unfold":         func(ctx context.Context) error { _, err := s.Unfold(ctx, "digest-1", ""); return err },
		"DeadDeliveries": func(ctx context.Context) error { _, err := s.DeadDeliveries(ctx); return err },
		"FailDelivery":   func(ctx context.Context) error { return s.FailDelivery(ctx, incident.Delivery{ID: 1}, "x", now) },
		"FinishClick":    func(ctx context.Context) error { return s.FinishClick(ctx, incident.Click{ID: 1}) },
		"Incident":       func(ctx context.Context) error { _, err := s.Incident(ctx, "inc-1"); return err },
		"IncidentWithJournal": func(ctx context.Context) error {
			_, err := s.IncidentWithJournal(ctx, "inc-1")
			return err
		},
		"Incidents": func(ctx context.Context) error {
			_, err := s.Incidents(ctx, incident.Filter{AllPools: true})
			return err
		},
		"LastClosed":   func(ctx context.Context) error { _, _, err := s.LastClosed(ctx, "llama", now); return err },
		"Locks":        func(ctx context.Context) error { _, err := s.Locks(ctx); return err },
		"Message":      func(ctx context.Context) error { _, _, err := s.Message(ctx, "inc-1"); return err },
		"OpenIncident": func(ctx context.Context) error { _, _, err := s.OpenIncident(ctx, "llama"); return err },
		"OpenDrill":    func(ctx context.Context) error { _, _, err := s.OpenDrill(ctx, "llama"); return err },
		"OpenWrites":   func(ctx context.Context) error { _, err := s.OpenWrites(ctx); return err },
		"Pauses":       func(ctx context.Context) error { _, err := s.Pauses(ctx); return err },
		"Prune":        func(ctx context.Context) error { _, err := s.Prune(ctx, now, store.DefaultKeep); return err },
		"Ready":        func(ctx context.Context) error { return s.Ready(ctx) },
		"Recorded": func(ctx context.Context) error {
			_, err := s.Recorded(ctx, incident.WriteID{Incident: "inc-1", Step: "p1-s1", Op: incident.OpApply, Since: now})
			return err
		},
		"ReleaseClaim": func(ctx context.Context) error { return s.ReleaseClaim(ctx, "inc-1", 1, 1, now) },
		"SaveMessage": func(ctx context.Context) error {
			return s.SaveMessage(ctx, incident.Message{Incident: "inc-1"}, true)
		},
		"SetPause":    func(ctx context.Context) error { return s.SetPause(ctx, incident.Pause{At: now}) },
		"Snapshots":   func(ctx context.Context) error { _, err := s.Snapshots(ctx, "inc-1"); return err },
		"Stats":       func(ctx context.Context) error { _, err := s.Stats(ctx); return err },
		"WritesSince": func(ctx context.Context) error { _, err := s.WritesSince(ctx, "llama", now); return err },
	}
	typ := reflect.TypeFor[*store.Store]()
	for m := range typ.Methods() {
		asks := m.Type.NumOut() > 0 && m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]()
		if asks && calls[m.Name] == nil {
			t.Errorf("%s is not tried", m.Name)
		}
	}
	var all sync.WaitGroup
	for name, call := range calls {
		all.Go(func() {
			if err := call(context.WithoutCancel(t.Context())); err == nil {
				t.Errorf("%s says that it was done", name)
			}
		})
	}
	ok(t, within(t, "some call", func() error { all.Wait(); return nil }))
}

// A connection that is dead takes one commit with it, and no more: the next one has another connection.
func TestADeadConnectionDoesNotHoldTheCommitter(t *testing.T) {
	t.Parallel()
	var beats atomic.Int64
	s, proxy, _ := behind(t, func(o *store.Options) { o.Beat = func() { beats.Add(1) } })
	add := func() error { return within(t, "AddDelivery", func() error { return deliver(t.Context(), s) }) }
	ok(t, add())
	if proxy.Forget() == 0 {
		t.Fatal("no connection leads through the proxy")
	}
	before := beats.Load()
	eventually(t, "a delivery is taken again", func() bool { return add() == nil })
	eventually(t, "the store is ready again", func() bool { return s.Ready(t.Context()) == nil })
	if beats.Load() == before {
		t.Error("the committer did not come round")
	}
}

// While nothing gets through, each delivery is refused, the first after its deadline and the others at once, and the
// store says why. It is ready again as soon as the server answers, without a delivery.
func TestAServerThatHangsIsSaidAndComesBack(t *testing.T) {
	t.Parallel()
	s, proxy, _ := behind(t)
	proxy.Hang()
	if err := within(t, "AddDelivery", func() error { return deliver(t.Context(), s) }); !errors.Is(err,
		store.ErrTimeout) {
		t.Errorf("AddDelivery = %v, want that the database did not answer in time", err)
	}
	eventually(t, "the store says that nothing answers", func() bool {
		return reason(s.Ready(t.Context())) == "the database does not answer"
	})
	// Whoever comes now does not wait: a context that is over would be the answer otherwise.
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := deliver(over, s)
	if _, refused := errors.AsType[*store.NotReadyError](err); !refused {
		t.Errorf("AddDelivery = %v, want a refusal at once", err)
	}
	proxy.Resume()
	eventually(t, "the store is ready again", func() bool { return s.Ready(t.Context()) == nil })
	ok(t, deliver(t.Context(), s))
}

func reason(err error) string {
	if not, ok := errors.AsType[*store.NotReadyError](err); ok {
		return not.Reason
	}
	return ""
}

// A standby, or a database that was set to be read, answers every question and takes nothing. It is noticed without a
// delivery, and so is its end, although connections keep the setting that they began with.
func TestAReadOnlyDatabaseIsSaidAndComesBack(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	s := storetest.Open(t, u, impatient)
	name := u[strings.LastIndex(u, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	admin, err := pgx.Connect(t.Context(), u)
	ok(t, err)
	defer admin.Close(t.Context()) //nolint:errcheck // the database is dropped
	do := func(query string) {
		t.Helper()
		_, err := admin.Exec(t.Context(), query)
		ok(t, err)
	}
	do("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
	do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> " +
		"pg_backend_pid()")
	eventually(t, "it is said", func() bool { return reason(s.Ready(t.Context())) == "the database is read-only" })
	if deliver(t.Context(), s) == nil {
		t.Error("a delivery was taken")
	}
	do("SET default_transaction_read_only = off")
	do("ALTER DATABASE " + name + " RESET default_transaction_read_only")
	eventually(t, "it is ready again", func() bool { return s.Ready(t.Context()) == nil })
	for range 20 { // whichever connection it gets
		ok(t, deliver(t.Context(), s))
	}
}

// PostgreSQL itself ends what a replica that is cut off has locked.
func TestTheServerEndsATransactionThatNobodyEnds(t *testing.T) {
	t.Parallel()
	cut, proxy, direct := behind(t)
	inc := create(t, cut, "inc-1", "llama")
	other := storetest.Open(t, direct, impatient)
	err := within(t, "the transaction", func() error {
		return store.InTx(cut, t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE incidents SET due_at = 1")
			proxy.Hang() // the row is locked, and the server hears nothing more
			return err
		})
	})
	defer proxy.Resume()
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("a commit that nobody answered: %v", err)
	}
	eventually(t, "another replica changes the incident", func() bool {
		return other.Commit(t.Context(), incident.Change{Incident: inc, Expect: inc.Version, DueAt: now}) == nil
	})
}

// Nobody waits for the one writer of SQLite to know whether the store is ready.
func TestReadyDoesNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.Engines()[0].URL(t))
	ok(t, store.InTx(s, t.Context(), func(ctx context.Context, _ *sql.Tx) error {
		return within(t, "Ready", func() error { return s.Ready(ctx) })
	}))
}
