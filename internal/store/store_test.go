package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// each runs a test on every engine, with a fresh database.
func each(t *testing.T, fn func(t *testing.T, s *store.Store, url string)) {
	t.Helper()
	for _, e := range storetest.Engines(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			u := e.URL(t)
			fn(t, storetest.Open(t, u), u)
		})
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fresh(id, pool string) incident.Incident {
	return incident.New(id, pool, incident.ModeApprove, false, now)
}

func create(t testing.TB, s *store.Store, id, pool string) incident.Incident {
	t.Helper()
	ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh(id, pool), DueAt: now}))
	inc, err := s.Incident(t.Context(), id)
	ok(t, err)
	return inc
}

func claimOne(t testing.TB, s *store.Store, at time.Time) incident.Claimed {
	t.Helper()
	cs, err := s.ClaimDue(t.Context(), "me", at, time.Minute, 10)
	ok(t, err)
	if len(cs) != 1 {
		t.Fatalf("claimed %d incidents, want 1", len(cs))
	}
	return cs[0]
}

func TestDeliveriesAreTakenOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		want := incident.Delivery{
			ReceivedAt: now, Receiver: "r", GroupKey: "g", Truncated: 2, Reason: "x",
			Alerts: []incident.Alert{{
				Fingerprint: "f", Labels: map[string]string{"a": "<!b>"}, Firing: true, StartsAt: now,
				SeenAt: now,
			}},
		}
		id, err := s.AddDelivery(ctx, want)
		ok(t, err)
		_, err = s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		got, found, err := claimDelivery(ctx, s, "me", now)
		ok(t, err)
		if !found || got.ID != id || got.Attempts != 1 {
			t.Fatalf("got %v %+v, want the first delivery", found, got)
		}
		fence := got.Fence
		got.ID, got.Attempts, got.Fence = 0, 0, 0
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		second, found, err := claimDelivery(ctx, s, "other", now)
		ok(t, err)
		if !found || second.ID == id {
			t.Fatalf("the second claim got %v %d", found, second.ID)
		}
		ok(t, finish(ctx, s, second))
		if _, found, err = claimDelivery(ctx, s, "other", now); err != nil || found {
			t.Fatalf("a third one: %v %v", found, err)
		}
		again, found, err := claimDelivery(ctx, s, "other", now.Add(2*time.Minute))
		ok(t, err)
		if !found || again.ID != id || again.Attempts != 2 {
			t.Fatalf("an expired lease was not taken over: %v %+v", found, again)
		}
		if err := finish(ctx, s, incident.Delivery{ID: id, Fence: fence}); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("the late holder ended it: %v", err)
		}
		ok(t, finish(ctx, s, again))
	})
}

// claimDelivery claims one delivery for a minute.
func claimDelivery(ctx context.Context, s *store.Store, owner string, now time.Time) (incident.Delivery, bool, error) {
	ds, err := s.ClaimDeliveries(ctx, owner, now, time.Minute, 1)
	if err != nil || len(ds) == 0 {
		return incident.Delivery{}, false, err
	}
	return ds[0], true, nil
}

// finish ends deliveries that change nothing.
func finish(ctx context.Context, s *store.Store, ds ...incident.Delivery) error {
	return s.CommitFolded(ctx, incident.Folded{Deliveries: ds})
}

func TestADeliveryThatKeepsFailingIsParkedNotLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		for n := range 3 {
			at := now.Add(time.Duration(n) * time.Hour)
			d, found, err := claimDelivery(ctx, s, "me", at)
			ok(t, err)
			if !found {
				t.Fatalf("attempt %d found nothing", n+1)
			}
			ok(t, s.FailDelivery(ctx, d, "boom", at.Add(time.Minute)))
			if _, early, err := claimDelivery(ctx, s, "me", at); err != nil || early {
				t.Fatalf("taken before its time: %v %v", early, err)
			}
		}
		if _, found, err := claimDelivery(ctx, s, "me", now.Add(24*time.Hour)); err != nil || found {
			t.Fatalf("taken a fourth time: %v %v", found, err)
		}
		if n, err := s.DeadDeliveries(ctx); err != nil || n != 1 {
			t.Errorf("dead: %d %v, want 1", n, err)
		}
	})
}

func TestConcurrentDeliveriesAreAllKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		const many = 200
		ids := make([]int64, many)
		var wg sync.WaitGroup
		for n := range many {
			wg.Go(func() {
				id, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now, GroupKey: fmt.Sprint(n)})
				if err != nil {
					t.Errorf("delivery %d: %v", n, err)
				}
				ids[n] = id
			})
		}
		wg.Wait()
		seen := map[string]bool{}
		for {
			d, found, err := claimDelivery(t.Context(), s, "me", now)
			ok(t, err)
			if !found {
				break
			}
			seen[d.GroupKey] = true
		}
		if len(seen) != many {
			t.Errorf("%d deliveries, want %d", len(seen), many)
		}
	})
}

func TestClosedStoreTakesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ok(t, s.Close())
		if _, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now}); err == nil {
			t.Error("a closed store took a delivery")
		}
		ok(t, s.Close())
	})
}

func TestIncidentsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		want := filled()
		ok(t, s.Commit(t.Context(), incident.Change{Incident: want, Entries: []incident.Entry{
			{
				At: now, Kind: incident.KindAlerts, Text: "one", By: &incident.Actor{Kind: "slack", ID: "U1"}, Step: "s",
				Thread: true, Data: []byte(`{"a":1}`),
			},
			{At: now, Kind: incident.KindAlerts, Text: "two"},
		}}))
		got, err := s.IncidentWithJournal(t.Context(), want.ID)
		ok(t, err)
		if len(got.Journal) != 2 || got.Journal[0].Seq != 1 || got.Journal[1].Seq != 2 || got.Journal[0].Text != "one" ||
			string(got.Journal[0].Data) != `{"a":1}` {
			t.Errorf("journal %+v", got.Journal)
		}
		got.Journal = []incident.Entry{}
		want.Version = 1
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestCommitRefusesWhatIsOld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		inc := create(t, s, "inc-a", "p")
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 1}))
		if err := s.Commit(ctx, incident.Change{Incident: inc, Expect: 1}); !errors.Is(err, incident.ErrStale) {
			t.Errorf("an old version was committed: %v", err)
		}
		if err := s.Commit(ctx, incident.Change{Incident: fresh("inc-a", "p")}); err == nil {
			t.Error("the same incident was created twice")
		}
		if err := s.Commit(ctx, incident.Change{Incident: fresh("inc-b", "p")}); !errors.Is(err, incident.ErrPoolOpen) {
			t.Errorf("a second open incident for the pool: %v", err)
		}
		if err := s.Commit(ctx, incident.Change{Incident: fresh("inc-x", "q"), Expect: 4}); !errors.Is(err,
			incident.ErrNotFound) {
			t.Errorf("an incident that is not there: %v", err)
		}
		inc.State = incident.StateClosed
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 2}))
		ok(t, s.Commit(ctx, incident.Change{Incident: fresh("inc-b", "p")}))
		inc.State = incident.StateInvestigating
		if err := s.Commit(ctx, incident.Change{Incident: inc, Expect: 3}); !errors.Is(err, incident.ErrPoolOpen) {
			t.Errorf("reopened beside another open one: %v", err)
		}
	})
}

func TestCommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		create(t, s, "inc-a", "p")
		err := s.Commit(ctx, incident.Change{Incident: fresh("inc-n", "new"), Entries: []incident.Entry{{Text: "x"}}},
			incident.Change{Incident: fresh("inc-b", "p")})
		if !errors.Is(err, incident.ErrPoolOpen) {
			t.Fatalf("got %v", err)
		}
		if _, err := s.Incident(ctx, "inc-n"); !errors.Is(err, incident.ErrNotFound) {
			t.Errorf("half of a commit stayed: %v", err)
		}
	})
}

func TestClaimsAreFenced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		create(t, s, "inc-a", "p")
		first := claimOne(t, s, now)
		if cs, err := s.ClaimDue(ctx, "other", now, time.Minute, 10); err != nil || len(cs) != 0 {
			t.Fatalf("claimed twice: %v %v", cs, err)
		}
		second := claimOne(t, s, now.Add(2*time.Minute))
		if err := s.Commit(ctx, incident.Change{Incident: first.Incident, Expect: 1, Fence: first.Fence}); !errors.Is(err,
			incident.ErrFenced) {
			t.Errorf("the late holder committed: %v", err)
		}
		if err := s.ReleaseClaim(ctx, "inc-a", first.Fence, 1, now); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("the late holder released: %v", err)
		}
		ok(t, s.Commit(ctx,
			incident.Change{Incident: second.Incident, Expect: 1, Fence: second.Fence, DueAt: now, Release: true}))
		claimOne(t, s, now)
	})
}

func TestReleaseKeepsTheDueTimeOfSomebodyElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		create(t, s, "inc-a", "p")
		c := claimOne(t, s, now)
		ok(t, s.Commit(ctx, incident.Change{Incident: c.Incident, Expect: 1, DueAt: now})) // a person decides meanwhile
		ok(t, s.ReleaseClaim(ctx, "inc-a", c.Fence, 1, now.Add(time.Hour)))
		again := claimOne(t, s, now)
		ok(t, s.ReleaseClaim(ctx, "inc-a", again.Fence, 2, now.Add(time.Hour)))
		if cs, err := s.ClaimDue(ctx, "me", now, time.Minute, 1); err != nil || len(cs) != 0 {
			t.Errorf("due too early: %v %v", cs, err)
		}
		claimOne(t, s, now.Add(time.Hour))
	})
}

func TestTwoReplicasNeverShareAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		const many = 40
		for n := range many {
			create(t, s, fmt.Sprintf("inc-%02d", n), fmt.Sprintf("pool-%02d", n))
		}
		replicas := []*store.Store{s, s} // SQLite serves one process
		if strings.HasPrefix(url, "postgres") {
			replicas[1] = storetest.Open(t, url)
		}
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for _, r := range replicas {
			for range 4 {
				wg.Go(func() {
					for {
						cs, err := r.ClaimDue(t.Context(), "x", now, time.Minute, 3)
						if err != nil {
							t.Error(err)
							return
						}
						if len(cs) == 0 {
							return
						}
						mu.Lock()
						for _, c := range cs {
							got[c.Incident.ID]++
						}
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		// A worker may see nothing while others hold row locks, so some may be left; none may be taken twice.
		for id, n := range got {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
		if len(got) == 0 {
			t.Error("nothing was claimed")
		}
	})
}

func TestLocksAreOnTargets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		a, b := create(t, s, "inc-a", "p"), create(t, s, "inc-b", "q")
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 1, Lock: "Deployment/x/y"}))
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 2, Lock: "Deployment/x/y"}))
		var locked *incident.LockedError
		if err := s.Commit(ctx, incident.Change{Incident: b, Expect: 1, Lock: "Deployment/x/y"}); !errors.As(err, &locked) ||
			locked.Incident != "inc-a" {
			t.Errorf("got %v", err)
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: b, Expect: 1, Unlock: "Deployment/x/y"}))
		if locks, err := s.Locks(ctx); err != nil || locks["Deployment/x/y"] != "inc-a" {
			t.Errorf("somebody else unlocked it: %v %v", locks, err)
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 3, Unlock: "Deployment/x/y"}))
		ok(t, s.Commit(ctx, incident.Change{Incident: b, Expect: 2, Lock: "Deployment/x/y"}))
	})
}

func TestAPauseRefusesClaimsOfItsScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scope, pool string
		refused     bool
	}{{"", "p", true}, {"p", "p", true}, {"q", "p", false}} {
		t.Run(fmt.Sprintf("%q on %q", tc.scope, tc.pool), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s *store.Store, _ string) {
				inc := create(t, s, "inc-a", tc.pool)
				p := incident.Pause{Pool: tc.scope, Reason: "freeze", By: incident.Actor{Kind: "kubernetes", ID: "anna"}, At: now}
				ok(t, s.SetPause(t.Context(), p))
				w := incident.Write{
					ID: "w1", Incident: "inc-a", Step: "s", Pool: tc.pool, Kind: incident.StepThrottle, Target: "t",
					Op: incident.OpApply, StartedAt: now,
				}
				err := s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Claim: &w})
				var paused *incident.PausedError
				if errors.As(err, &paused) != tc.refused {
					t.Fatalf("got %v", err)
				}
				if tc.refused {
					if d := cmp.Diff(p, paused.Pause); d != "" {
						t.Error(d)
					}
					if had, err := s.ClearPause(t.Context(), tc.scope); err != nil || !had {
						t.Fatalf("resume: %v %v", had, err)
					}
					ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Claim: &w}))
				}
				open, err := s.OpenWrites(t.Context())
				ok(t, err)
				if d := cmp.Diff([]incident.Write{w}, open); d != "" {
					t.Error(d)
				}
				w.EndedAt, w.Result = now.Add(time.Second), incident.ResultApplied
				ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 2, Finish: &w}))
				if open, err = s.OpenWrites(t.Context()); err != nil || len(open) != 0 {
					t.Errorf("still open: %v %v", open, err)
				}
				since, err := s.WritesSince(t.Context(), tc.pool, now)
				ok(t, err)
				if d := cmp.Diff([]incident.Write{w}, since); d != "" {
					t.Error(d)
				}
				if since, err = s.WritesSince(t.Context(), tc.pool, now.Add(1)); err != nil || len(since) != 0 {
					t.Errorf("too old a write: %v %v", since, err)
				}
			})
		})
	}
}

// A claim that a pause did not refuse must stand in OpenWrites when SetPause returns, whatever the order of the two.
func TestAPauseNeverMissesAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		for n := range 30 {
			id, pool := fmt.Sprintf("inc-%d", n), fmt.Sprintf("pool-%d", n)
			inc := create(t, s, id, pool)
			claimed := make(chan error, 1)
			go func() {
				claimed <- s.Commit(t.Context(), incident.Change{
					Incident: inc, Expect: 1,
					Claim: &incident.Write{ID: id, Incident: id, Pool: pool, Target: "t", StartedAt: now},
				})
			}()
			ok(t, s.SetPause(t.Context(), incident.Pause{Pool: pool, Reason: "x", At: now}))
			open, err := s.OpenWrites(t.Context())
			ok(t, err)
			listed := false
			for _, w := range open {
				listed = listed || w.ID == id
			}
			if err := <-claimed; err == nil && !listed {
				t.Fatal("a claim stands that the pause did not list")
			}
		}
	})
}

func TestTheJournalIsAppendOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		inc := create(t, s, "inc-a", "p")
		ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Entries: []incident.Entry{{Text: "said"}}}))
		db := raw(t, url)
		for _, q := range []string{`UPDATE journal SET body = '{}'`, `DELETE FROM journal`} {
			if _, err := db.ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
}

func raw(t *testing.T, rawURL string) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", rawURL
	if path, isSQLite := strings.CutPrefix(rawURL, "sqlite://"); isSQLite {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, dsn)
	ok(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ok(t, s.Close())
		_, err := raw(t, url).ExecContext(t.Context(),
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, `+
				map[bool]string{true: "1", false: "true"}[strings.HasPrefix(url, "sqlite")]+`)`)
		ok(t, err)
		_, err = store.Open(t.Context(), url,
			store.Options{ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "version 99") {
			t.Errorf("got %v", err)
		}
	})
}

func TestMessagesWaitUntilSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		take := func(at time.Time, want int) []incident.Message {
			t.Helper()
			ms, err := s.ClaimMessages(ctx, "me", at, time.Minute, 10)
			ok(t, err)
			if len(ms) != want {
				t.Fatalf("%d messages, want %d: %+v", len(ms), want, ms)
			}
			return ms
		}
		inc := create(t, s, "inc-a", "p")
		take(now, 0)
		ok(t, s.Commit(ctx,
			incident.Change{Incident: inc, Expect: 1, Render: true, Entries: []incident.Entry{{Text: "t", Thread: true}}}))
		m := take(now, 1)[0]
		if m.Wanted != 2 || m.Channel != "C1" || m.Sent != 0 {
			t.Errorf("got %+v", m)
		}
		take(now, 0)
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 2, Render: true}))
		m.TS, m.Sent, m.IntentAt = "1.1", 2, now
		ok(t, s.SaveMessage(ctx, m, true))
		later := take(now, 1)[0] // a newer version was wanted meanwhile, and the thread is behind
		if later.Wanted != 3 || later.TS != "1.1" || !later.IntentAt.Equal(now) {
			t.Errorf("got %+v", later)
		}
		if err := s.SaveMessage(ctx, m, true); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("the late holder saved: %v", err)
		}
		later.Sent, later.ThreadSent, later.GaveUp, later.LastError = 2, 1, true, "channel_not_found"
		ok(t, s.SaveMessage(ctx, later, true))
		take(now.Add(time.Hour), 0)
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 3, Render: true}))
		if last := take(now.Add(time.Hour), 1)[0]; last.GaveUp || last.LastError == "" {
			t.Errorf("got %+v", last)
		}
		if got, found, err := s.Message(ctx, "inc-a"); err != nil || !found || got.Wanted != 4 {
			t.Errorf("got %+v %v %v", got, found, err)
		}
	})
}

func TestListingPagesNewestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		for n := range 5 {
			inc := fresh(fmt.Sprintf("inc-%d", n), fmt.Sprintf("p%d", n%2))
			inc.OpenedAt = now.Add(time.Duration(n/2) * time.Minute)
			inc.State = incident.StateClosed
			ok(t, s.Commit(ctx, incident.Change{Incident: inc}))
		}
		var got []string
		after := ""
		for {
			page, err := s.Incidents(ctx, incident.Filter{AllPools: true, State: "closed", Limit: 2, After: after})
			ok(t, err)
			if len(page) == 0 {
				break
			}
			for _, i := range page {
				got = append(got, i.ID)
			}
			after = page[len(page)-1].ID
		}
		if d := cmp.Diff([]string{"inc-4", "inc-3", "inc-2", "inc-1", "inc-0"}, got); d != "" {
			t.Error(d)
		}
		if l, err := s.Incidents(ctx, incident.Filter{State: "open", AllPools: true}); err != nil || len(l) != 0 {
			t.Errorf("open: %v %v", l, err)
		}
		if l, err := s.Incidents(ctx, incident.Filter{Pool: "p1"}); err != nil || len(l) != 2 {
			t.Errorf("p1: %v %v", l, err)
		}
		if _, found, err := s.LastClosed(ctx, "p0", now); err != nil || found {
			t.Errorf("closed long ago: %v %v", found, err)
		}
	})
}

func TestCommitsWakeThoseWhoWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		waiters := []<-chan struct{}{s.Wake()}
		if !strings.HasPrefix(url, "sqlite") {
			// Another replica hears of it too, once it listens: commit until it does.
			waiters = append(waiters, storetest.Open(t, url).Wake())
		}
		deadline := time.After(20 * time.Second)
		for n, w := range waiters {
			for m := 0; ; m++ {
				create(t, s, fmt.Sprintf("inc-%d-%d", n, m), fmt.Sprintf("p-%d-%d", n, m))
				select {
				case <-w:
				case <-deadline:
					t.Fatalf("waiter %d was not woken", n)
				case <-time.After(20 * time.Millisecond):
					continue
				}
				break
			}
		}
	})
}

func TestOpenRefusesClearly(t *testing.T) {
	t.Parallel()
	const password = "s3cr3t-value"
	for _, tc := range []struct{ url, want string }{
		{"sqlite://" + filepath.Join(t.TempDir(), "no", "such", "x.db"), "does not exist"},
		{"sqlite://", "needs a path"},
		{"mysql://x", "sqlite:// or postgres://"},
		{"postgres://u:" + password + "@127.0.0.1:1/x?connect_timeout=2", "does not answer"},
		{"postgres://u:" + password + "@[::bad/x", "cannot be read"},
	} {
		_, err := store.Open(t.Context(), tc.url,
			store.Options{ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", url.PathEscape(tc.url), err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the password shows: %v", err)
		}
	}
}

func TestTheDatabaseFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.db")
	storetest.Open(t, "sqlite://"+path)
	info, err := os.Stat(path)
	ok(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestASQLiteFileServesOneProcess(t *testing.T) {
	t.Parallel()
	u := "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	opts := store.Options{ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler)}
	first, err := store.Open(t.Context(), u, opts)
	ok(t, err)
	if _, err := store.Open(t.Context(), u, opts); err == nil || !strings.Contains(err.Error(), "another vllm-medic has") {
		t.Errorf("opened twice: %v", err)
	}
	ok(t, first.Close())
	storetest.Open(t, u)
}

// A process that was killed holds claims. With SQLite nobody else can, so the next one goes on at once; with PostgreSQL
// another replica may be alive, and the lease decides.
func TestARestartGoesOnWithoutWaitingForLeases(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines(t) {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			u := engine.URL(t)
			s, err := store.Open(t.Context(), u,
				store.Options{ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler)})
			ok(t, err)
			create(t, s, "inc-a", "p")
			claimOne(t, s, now)
			ok(t, s.Close())
			again := storetest.Open(t, u)
			cs, err := again.ClaimDue(t.Context(), "next", now, time.Minute, 10)
			ok(t, err)
			if want := map[string]int{"sqlite": 1, "postgres": 0}[engine.Name]; len(cs) != want {
				t.Errorf("the next process claimed %d incidents before the lease ended, want %d", len(cs), want)
			}
		})
	}
}

func TestACancelledContextIsAnError(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Commit(ctx, incident.Change{Incident: fresh("inc-a", "p")}); err == nil {
			t.Error("committed with a cancelled context")
		}
		if _, err := s.Incident(t.Context(), "inc-a"); !errors.Is(err, incident.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
