package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/process"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// each runs a test on every engine, with a fresh database.
func each(t *testing.T, fn func(t *testing.T, s *store.Store, url string)) {
	t.Helper()
	for _, e := range storetest.Engines() {
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
		want.Version, want.Paused = 1, nil // a pause is never kept with an incident
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		pause := incident.Pause{Pool: want.Pool, Reason: "why", By: incident.Actor{Kind: "slack", ID: "U1"}, At: now}
		ok(t, s.SetPause(t.Context(), incident.Pause{Pool: "another", Reason: "why", By: pause.By, At: now}))
		ok(t, s.SetPause(t.Context(), pause))
		got, err = s.IncidentWithJournal(t.Context(), want.ID)
		ok(t, err)
		if d := cmp.Diff(&pause, got.Paused); d != "" {
			t.Errorf("the pause of its pool, -want +got:\n%s", d)
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

func TestMessagesWaitUntilSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		take := func(at time.Time, want int) []incident.Message {
			t.Helper()
			ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", at, time.Minute, 10)
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
		// One that was refused comes back at its time as well, or when something newer is wanted.
		last := take(now.Add(2*time.Hour), 1)[0]
		last.GaveUp, last.Refused, last.NextAt = true, true, now.Add(4*time.Hour)
		ok(t, s.SaveMessage(ctx, last, true))
		if st, err := s.Stats(ctx); err != nil || st.MessagesGivenUp != 1 {
			t.Errorf("%d given up, %v", st.MessagesGivenUp, err)
		}
		if got, _, err := s.Message(ctx, "inc-a"); err != nil || !got.GaveUp || !got.Refused {
			t.Errorf("got %+v, %v", got, err)
		}
		take(now.Add(3*time.Hour), 0)
		last = take(now.Add(4*time.Hour), 1)[0]
		if last.GaveUp || last.Refused {
			t.Errorf("got %+v", last)
		}
		last.GaveUp, last.Refused, last.NextAt = true, true, now.Add(8*time.Hour)
		ok(t, s.SaveMessage(ctx, last, true))
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 4, Render: true}))
		take(now.Add(5*time.Hour), 1)
		if got, found, err := s.Message(ctx, "inc-a"); err != nil || !found || got.Wanted != 5 {
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
		deadline := time.After(process.Patience)
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
