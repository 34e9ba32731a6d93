package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// add stores a delivery for each of these groups, in order.
func add(ctx context.Context, t testing.TB, s *store.Store, groups ...string) {
	t.Helper()
	for n, g := range groups {
		_, err := s.AddDelivery(ctx,
			incident.Delivery{
				ReceivedAt: now.Add(time.Duration(n) * time.Second), Receiver: "r", GroupKey: g,
				Reason: fmt.Sprint(n),
			})
		ok(t, err)
	}
}

func keys(ds []incident.Delivery) []string {
	out := []string{}
	for _, d := range ds {
		out = append(out, d.GroupKey+d.Reason)
	}
	return out
}

func claimMany(ctx context.Context, t testing.TB, s *store.Store, owner string, at time.Time,
	limit int,
) []incident.Delivery {
	t.Helper()
	ds, err := s.ClaimDeliveries(ctx, owner, at, time.Minute, limit)
	ok(t, err)
	return ds
}

func TestAClaimTakesTheOldestTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		add(ctx, t, s, "a", "b", "a", "c", "b")
		first := claimMany(ctx, t, s, "me", now, 3)
		if d := cmp.Diff([]string{"a0", "b1", "a2"}, keys(first)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		ok(t, finish(ctx, s, first...))
		if d := cmp.Diff([]string{"c3", "b4"}, keys(claimMany(ctx, t, s, "me", now, 3))); d != "" {
			t.Errorf("the rest: -want +got:\n%s", d)
		}
	})
}

// What is behind a delivery of its group that somebody works on, or that is put off, waits; other groups do not.
func TestAGroupIsClaimedInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		add(ctx, t, s, "a", "a", "b", "a", "b")
		a := claimMany(ctx, t, s, "one", now, 1)
		if d := cmp.Diff([]string{"b2", "b4"}, keys(claimMany(ctx, t, s, "two", now, 10))); d != "" {
			t.Errorf("beside a claim: -want +got:\n%s", d)
		}
		ok(t, s.FailDelivery(ctx, a[0], "boom", now.Add(time.Hour)))
		if got := claimMany(ctx, t, s, "two", now, 10); len(got) != 0 {
			t.Errorf("behind one that is put off: %v", keys(got))
		}
		later := now.Add(time.Hour)
		if d := cmp.Diff([]string{"a0", "a1", "b2", "a3", "b4"}, keys(claimMany(ctx, t, s, "two", later, 10))); d != "" {
			t.Errorf("when its time has come and the other lease is over: -want +got:\n%s", d)
		}
	})
}

// One that fails and fails must not keep its group from being heard of until it is given up.
func TestAGroupGoesOnWithoutWhatKeepsFailing(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s, err := store.Open(ctx, e.URL(t),
				store.Options{ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)})
			ok(t, err)
			t.Cleanup(func() { ok(t, s.Close()) })
			add(ctx, t, s, "a", "a")
			for n := range 5 {
				at := now.Add(time.Duration(n) * time.Hour)
				got := claimMany(ctx, t, s, "me", at, 1)
				if len(got) != 1 || got[0].Reason != "0" {
					t.Fatalf("attempt %d: %v", n+1, keys(got))
				}
				ok(t, s.FailDelivery(ctx, got[0], "boom", at.Add(30*time.Minute)))
			}
			if d := cmp.Diff([]string{"a1"}, keys(claimMany(ctx, t, s, "me", now.Add(4*time.Hour), 10))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Two replicas that claim at the same time keep the order of each group, and take each delivery once.
func TestReplicasKeepTheOrderOfGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		groups := make([]string, 300)
		for n := range groups {
			groups[n] = fmt.Sprint("g", n%7)
		}
		add(ctx, t, s, groups...)
		var mu sync.Mutex
		seen := map[string][]int64{}
		var wg sync.WaitGroup
		for _, owner := range []string{"one", "two", "three"} {
			wg.Go(func() {
				for {
					mu.Lock()
					done := 0
					for _, ids := range seen {
						done += len(ids)
					}
					mu.Unlock()
					if done == len(groups) {
						return
					}
					ds, err := s.ClaimDeliveries(ctx, owner, now, time.Minute, 5)
					if err != nil {
						t.Error(err)
						return
					}
					if len(ds) == 0 {
						continue
					}
					mu.Lock()
					for _, d := range ds {
						seen[d.GroupKey] = append(seen[d.GroupKey], d.ID)
					}
					mu.Unlock()
					if err := s.CommitFolded(ctx, incident.Folded{Deliveries: ds}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		for g, ids := range seen {
			if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
				t.Errorf("group %s was taken as %v", g, ids)
			}
		}
	})
}

// A backlog of large bodies is not read into memory at once.
func TestAClaimIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		large := incident.Delivery{
			ReceivedAt: now,
			Alerts:     []incident.Alert{{Annotations: map[string]string{"a": strings.Repeat("x", 3<<20)}}},
		}
		for range 4 {
			_, err := s.AddDelivery(ctx, large)
			ok(t, err)
		}
		if got := claimMany(ctx, t, s, "me", now, 10); len(got) != 2 {
			t.Errorf("%d deliveries of 3 MiB each in one claim", len(got))
		}
	})
}

func TestAClaimIsRenewedReleasedAndLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		add(ctx, t, s, "a", "b")
		mine := claimMany(ctx, t, s, "one", now, 10)
		ok(t, s.RenewDeliveries(ctx, mine, now.Add(time.Hour)))
		if got := claimMany(ctx, t, s, "two", now.Add(30*time.Minute), 10); len(got) != 0 {
			t.Errorf("taken while it was renewed: %v", keys(got))
		}
		ok(t, s.ReleaseDelivery(ctx, mine[0]))
		got := claimMany(ctx, t, s, "two", now, 10)
		if len(got) != 1 || got[0].ID != mine[0].ID || got[0].Attempts != 1 {
			t.Fatalf("after a release: %+v", got)
		}
		for what, err := range map[string]error{
			"renewed": s.RenewDeliveries(ctx, mine, now.Add(time.Hour)), "released": s.ReleaseDelivery(ctx, mine[0]),
			"failed": s.FailDelivery(ctx, mine[0], "boom", now), "finished": finish(ctx, s, mine...),
		} {
			if !errors.Is(err, incident.ErrFenced) {
				t.Errorf("%s what is somebody else's: %v", what, err)
			}
		}
		if got := claimMany(ctx, t, s, "three", now.Add(2*time.Hour), 10); len(got) != 2 {
			t.Errorf("a commit that was refused has ended something: %v", keys(got))
		}
	})
}

// What its process did not end is taken alone after all others from the second time on, waits in the end, and is given
// up; an end of another kind begins the count anew.
func TestADeliveryThatIsCutOffAgainAndAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ok(t, s.Close())
		s = storetest.Open(t, url, func(o *store.Options) { o.MaxDeliveryAttempts = 20 })
		ctx, at := t.Context(), now
		lost := func() []string { // a claim that nobody ends
			t.Helper()
			got := claimMany(ctx, t, s, "me", at, 10)
			at = at.Add(2 * time.Minute)
			return keys(got)
		}
		add(ctx, t, s, "a", "b", "a")
		for n, want := range [][]string{{"a0", "b1", "a2"}, {"a0", "b1", "a2"}, {"a0"}, {"b1"}, {"a2"}} {
			if d := cmp.Diff(want, lost()); d != "" {
				t.Fatalf("claim %d: -want +got:\n%s", n+1, d)
			}
		}
		add(ctx, t, s, "c", "a")
		late := claimMany(ctx, t, s, "me", at, 10)
		if d := cmp.Diff([]string{"c0"}, keys(late)); d != "" {
			t.Errorf("new ones come first, except behind one of their group that was cut off: -want +got:\n%s", d)
		}
		ok(t, finish(ctx, s, late...))
		first := claimMany(ctx, t, s, "me", at, 10)
		ok(t, s.ReleaseDelivery(ctx, first[0]))
		if again := claimMany(ctx, t, s, "me", at, 10); again[0].ID != first[0].ID || again[0].Attempts != first[0].Attempts {
			t.Errorf("given back as %+v, taken as %+v", first[0], again[0])
		} else {
			ok(t, s.FailDelivery(ctx, again[0], "boom", at)) // it ended without its process
		}
		taken := map[string]int{}
		for range 60 {
			got := lost()
			for _, k := range got {
				taken[k]++
			}
			if slices.Contains(got, "b1") && len(got) > 1 {
				t.Errorf("not alone: %v", got)
			}
		}
		if n, err := s.DeadDeliveries(ctx); err != nil || n != 4 {
			t.Errorf("%d were given up, %v; taken %v", n, err, taken)
		}
		if taken["a0"] != 8 || taken["b1"] != 5 {
			t.Errorf("taken %v", taken)
		}
	})
}

// Statements are prepared for the writer of SQLite; the same ones run in transactions that only read.
func TestCountingBetweenCommits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		st, err := s.Stats(ctx)
		ok(t, err)
		if !st.LastDelivery.IsZero() {
			t.Errorf("the last of no delivery is of %s", st.LastDelivery)
		}
		for n := range 3 {
			add(ctx, t, s, fmt.Sprint(n))
			st, err := s.Stats(ctx)
			ok(t, err)
			if st.DeliveriesWaiting != int64(n+1) || !st.OldestWaiting.Equal(now) || !st.LastDelivery.Equal(now) {
				t.Errorf("%d wait, since %s, the last one of %s", st.DeliveriesWaiting, st.OldestWaiting, st.LastDelivery)
			}
		}
	})
}
