package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// openedAt stores a closed incident of a pool that was opened at a time, with two lines in its journal.
func openedAt(t *testing.T, s *store.Store, id, pool string, at time.Time) {
	t.Helper()
	inc := incident.New(id, pool, incident.ModeApprove, false, at)
	inc.State, inc.ClosedAt, inc.ReadAt = incident.StateClosed, at.Add(time.Hour), at
	inc.Readings["ttft_p95"] = incident.Reading{Signal: "ttft_p95", Value: new(1.0)}
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Entries: []incident.Entry{
		{At: at, Kind: incident.KindAlerts, Text: "first of " + id}, {At: at, Kind: incident.KindClosed, Text: "second"},
	}}))
}

// source is a store or a reader of one.
type source interface {
	EachOpened(ctx context.Context, o incident.Opened, visit func(incident.Incident, time.Time) error) ([]string, error)
	OpenAt(ctx context.Context, o incident.Opened) (int, error)
}

func seenBy(t *testing.T, s source, o incident.Opened) (ids, unreadable []string) {
	t.Helper()
	unreadable, err := s.EachOpened(t.Context(), o, func(inc incident.Incident, _ time.Time) error {
		ids = append(ids, inc.ID)
		if inc.Readings != nil || inc.OpenedAt.IsZero() || inc.State != incident.StateClosed || inc.ReadAt.IsZero() {
			t.Errorf("%s comes as %+v", inc.ID, inc)
		}
		if len(inc.Journal) != 2 || inc.Journal[0].Text != "first of "+inc.ID {
			t.Errorf("%s comes with the journal %+v", inc.ID, inc.Journal)
		}
		return nil
	})
	ok(t, err)
	return ids, unreadable
}

func TestEachIncidentOfAPeriodIsSeenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		day := incident.Opened{Since: now, Until: now.Add(24 * time.Hour), AllPools: true}
		openedAt(t, s, "before", "p", now.Add(-1))
		openedAt(t, s, "until", "p", day.Until)
		want := []string{}
		for n := range 120 { // more than two pages, and many that were opened at the same time
			id := fmt.Sprintf("inc-%03d", n)
			openedAt(t, s, id, []string{"p", "q", ""}[n%3], now.Add(time.Duration(n/60)*time.Hour))
			want = append(want, id)
		}
		drill := incident.New("inc-drill", "p", incident.ModeApprove, true, now)
		drill.Drill = &incident.Drill{}
		ok(t, s.Commit(t.Context(), incident.Change{Incident: drill}))
		r, err := store.OpenReadOnly(t.Context(), url)
		ok(t, err)
		t.Cleanup(func() { ok(t, r.Close()) })
		for name, from := range map[string]source{"store": s, "reader": r} {
			ids, unreadable := seenBy(t, from, day)
			if d := cmp.Diff(want, ids); d != "" || len(unreadable) > 0 {
				t.Errorf("%s: unreadable %v, -want +got:\n%s", name, unreadable, d)
			}
			for pool, n := range map[string]int{"p": 40, "q": 40, "": 40, "other": 0} {
				if ids, _ := seenBy(t, from, incident.Opened{Since: day.Since, Until: day.Until, Pool: pool}); len(ids) != n {
					t.Errorf("%s: %d incidents of pool %q, want %d", name, len(ids), pool, n)
				}
			}
		}
	})
}

func TestOneThatCannotBeReadIsNamedAndTheOthersAreSeen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		for _, id := range []string{"a", "b", "c"} {
			openedAt(t, s, id, "p", now)
		}
		_, err := raw(t, url).ExecContext(t.Context(), `UPDATE incidents SET body = '{"version": "seven"}' WHERE id = 'b'`)
		ok(t, err)
		ids, unreadable := seenBy(t, s, incident.Opened{Since: now, Until: now.Add(1), AllPools: true})
		if d := cmp.Diff([][]string{{"a", "c"}, {"b"}}, [][]string{ids, unreadable}); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestAVisitCanEndIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		openedAt(t, s, "a", "p", now)
		openedAt(t, s, "b", "p", now)
		enough, visits := errors.New("enough"), 0
		_, err := s.EachOpened(t.Context(), incident.Opened{Since: now, Until: now.Add(1), AllPools: true},
			func(incident.Incident, time.Time) error { visits++; return enough })
		if !errors.Is(err, enough) || visits != 1 {
			t.Errorf("%d visits: %v", visits, err)
		}
	})
}

// The time of the message is what its notifier said, and nothing where it has none.
func TestWhenTheMessageWasPostedIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		for _, id := range []string{"a", "b", "c"} {
			inc := incident.New(id, "pool-"+id, incident.ModeApprove, false, now)
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Render: true}))
		}
		ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", s.Now().Add(time.Minute), time.Minute, 10)
		ok(t, err)
		for _, m := range ms {
			m.TS = map[string]string{"pool-a": "1763694005.000200", "pool-b": "log-7"}["pool-"+m.Incident]
			ok(t, s.SaveMessage(ctx, m, true))
		}
		got := map[string]time.Time{}
		_, err = s.EachOpened(ctx, incident.Opened{Since: now, Until: now.Add(1), AllPools: true},
			func(inc incident.Incident, posted time.Time) error { got[inc.ID] = posted; return nil })
		ok(t, err)
		want := map[string]time.Time{"a": time.Unix(1763694005, 200_000).UTC(), "b": {}, "c": {}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestEarlierIncidentsThatWereOpenAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		openedAt(t, s, "over", "p", now.Add(-2*time.Hour))
		openedAt(t, s, "ended-in-it", "p", now.Add(-time.Hour))
		openedAt(t, s, "in-it", "p", now)
		drill := incident.New("drill", "q", incident.ModeApprove, true, now.Add(-47*time.Hour))
		drill.Drill = &incident.Drill{}
		ok(t, s.Commit(t.Context(), incident.Change{Incident: drill, DueAt: now}))
		old := incident.New("open", "q", incident.ModeApprove, false, now.Add(-48*time.Hour))
		ok(t, s.Commit(t.Context(), incident.Change{Incident: old, DueAt: now}))
		for _, tc := range []struct {
			pool string
			all  bool
			want int
		}{{"", true, 2}, {"p", false, 1}, {"q", false, 1}, {"r", false, 0}} {
			n, err := s.OpenAt(t.Context(), incident.Opened{Since: now, Until: now.Add(1), Pool: tc.pool, AllPools: tc.all})
			if err != nil || n != tc.want {
				t.Errorf("pool %q: %d, %v, want %d", tc.pool, n, err, tc.want)
			}
		}
	})
}
