package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func inStorm(o *store.Options) { o.Storm = incident.Storm{Incidents: 2, Within: 10 * time.Minute} }

// stormy runs a test in which the third incident of a channel folds.
func stormy(t *testing.T, fn func(t *testing.T, s *store.Store, url string)) {
	t.Helper()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			u := e.URL(t)
			fn(t, storetest.Open(t, u, inStorm), u)
		})
	}
}

func firing(id, severity string) incident.Incident {
	inc := fresh(id, "pool-"+id)
	inc.Alerts = []incident.Alert{{Labels: map[string]string{"severity": severity}, Firing: true}}
	return inc
}

func opened(t *testing.T, s *store.Store, severity string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		ok(t, s.Commit(t.Context(), incident.Change{Incident: firing(id, severity), Render: true}))
	}
}

func message(t *testing.T, s *store.Store, id string) incident.Message {
	t.Helper()
	m, found, err := s.Message(t.Context(), id)
	if err != nil || !found {
		t.Fatalf("message of %s: %v %v", id, found, err)
	}
	return m
}

func claimed(ctx context.Context, t *testing.T, s *store.Store) map[string]incident.Message {
	t.Helper()
	ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", s.Now().Add(time.Minute), time.Second, 100)
	ok(t, err)
	out := map[string]incident.Message{}
	for _, m := range ms {
		out[m.Incident] = m
		ok(t, s.SaveMessage(ctx, m, true))
	}
	return out
}

// calling is a change to inc-3 that waits for a decision, with lines that call people.
func calling(version int64, severity string, entries ...incident.Entry) incident.Change {
	inc := firing("inc-3", severity)
	inc.State, inc.Request = incident.StateDeciding, &incident.Request{At: now}
	inc.Plan = &incident.Plan{
		ExpiresAt: now.Add(time.Hour),
		Steps:     []incident.Step{{ID: "s", Kind: incident.StepReplicas, State: incident.StepProposed}},
	}
	return incident.Change{Incident: inc, Expect: version, Render: true, Entries: entries}
}

func said(text string, mention ...string) incident.Entry {
	return incident.Entry{At: now, Text: text, Thread: true, Mention: mention}
}

func TestIncidentsOfAStormFoldIntoOneDigest(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4")
		opened(t, s, "critical", "inc-5")
		three, four := message(t, s, "inc-3"), message(t, s, "inc-4")
		if !three.Folded || !four.Folded || three.Digest == "" || three.Digest != four.Digest {
			t.Fatalf("the third and fourth: %+v %+v", three, four)
		}
		got := claimed(ctx, t, s)
		for _, id := range []string{"inc-1", "inc-2", "inc-5", three.Digest} {
			if got[id].Channel != "C1" {
				t.Errorf("%s is not delivered: %+v", id, got)
			}
		}
		if len(got) != 4 || got[three.Digest].Kind != incident.KindDigest || got["inc-5"].Kind != "" {
			t.Errorf("delivered: %+v", got)
		}
		st, err := s.Stats(ctx)
		ok(t, err)
		if st.MessagesWaiting != 4 || st.Folded != 2 {
			t.Errorf("%d wait, %d are folded", st.MessagesWaiting, st.Folded)
		}
		before, err := s.Digest(ctx, three.Digest)
		ok(t, err)
		ok(t, s.Commit(ctx, calling(1, "warning", said("alert"), said("approve?", "U1"))))
		d, err := s.Digest(ctx, three.Digest)
		ok(t, err)
		if len(d.Folded) != 2 || d.Folded[0].ID != "inc-3" || !d.Folded[0].Waits() || d.Version != before.Version+1 ||
			d.Since.IsZero() || !d.Open() {
			t.Errorf("the digest: %+v", d)
		}
		if len(d.Calls) != 1 || d.Calls[0].Seq != 1 || d.LastCall != 1 || d.Calls[0].Incident != "inc-3" ||
			d.Calls[0].Entry.Text != "approve?" {
			t.Errorf("who calls nobody is not in its thread: %+v", d.Calls)
		}
	})
}

func TestAStormEndsWhenTheRateDoes(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, url string) {
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3")
		first := message(t, s, "inc-3").Digest
		_, err := raw(t, url).ExecContext(t.Context(), fmt.Sprintf("UPDATE messages SET joined_at = joined_at - %d",
			11*time.Minute))
		ok(t, err)
		opened(t, s, "warning", "inc-4", "inc-5", "inc-6")
		if message(t, s, "inc-4").Folded || message(t, s, "inc-5").Folded {
			t.Error("the storm is over and incidents still fold")
		}
		if next := message(t, s, "inc-6"); !next.Folded || next.Digest == first {
			t.Errorf("the next storm folds into a digest of its own: %+v, the first was %s", next, first)
		}
		if last := message(t, s, "inc-3"); !last.Folded || last.Digest != first {
			t.Errorf("what folded stays where it is: %+v", last)
		}
	})
}

func TestAFoldedIncidentThatBecomesCriticalIsShownByItself(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3")
		digest := message(t, s, "inc-3").Digest
		ok(t, s.Commit(t.Context(), calling(1, "critical", said("before", "U1"), said("approve?", "U1"),
			said("later"))))
		m := message(t, s, "inc-3")
		if m.Folded || m.ThreadSent != 1 || m.Digest != digest {
			t.Errorf("its message: %+v", m)
		}
		d, err := s.Digest(t.Context(), digest)
		ok(t, err)
		if !m.NextAt.Before(now) {
			t.Errorf("it goes only at %s", m.NextAt)
		}
		if diff := cmp.Diff([]string{"inc-3"}, d.Shown); diff != "" || len(d.Folded) != 0 || len(d.Calls) != 0 {
			t.Errorf("the digest still has it: %+v", d)
		}
		if got := claimed(t.Context(), t, s); got["inc-3"].Incident == "" || got[digest].Incident == "" {
			t.Errorf("delivered: %+v", got)
		}
	})
}

// What needs a human is no line among others.
func TestAFoldedIncidentWhoseWriteFailsIsShownByItself(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4")
		ok(t, s.Commit(t.Context(), calling(1, "warning", said("approve?", "U1"))))
		if m := message(t, s, "inc-3"); !m.Folded {
			t.Fatalf("while it waits: %+v", m)
		}
		failed := calling(2, "warning", said("failed"))
		failed.Incident.State, failed.Incident.Request = incident.StateWatching, nil
		failed.Incident.Plan.Steps[0].State = incident.StepFailed
		ok(t, s.Commit(t.Context(), failed))
		if m := message(t, s, "inc-3"); m.Folded {
			t.Errorf("after it failed: %+v", m)
		}
		d, err := s.Digest(t.Context(), message(t, s, "inc-4").Digest)
		ok(t, err)
		if len(d.Shown) != 1 || len(d.Folded) != 1 {
			t.Errorf("the digest: %+v", d)
		}
		if got := claimed(t.Context(), t, s); got["inc-3"].Incident == "" {
			t.Errorf("delivered: %+v", got)
		}
	})
}

func TestUnfolding(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4", "inc-5")
		digest := message(t, s, "inc-3").Digest
		ok(t, s.Commit(ctx, calling(1, "warning", said("opened"), said("approve?", "U1"))))
		ok(t, s.Commit(ctx, calling(2, "warning", said("alert"), said("reminder", "U1"), said("alert"))))
		ok(t, s.Commit(ctx, incident.Change{
			Incident: firing("inc-4", "warning"), Expect: 1, Render: true, Entries: []incident.Entry{said("old", "U1")},
		}))
		for _, c := range []struct {
			digest, id string
			want       int
			err        error
		}{
			{digest, "inc-3", 1, nil},
			{digest, "inc-3", 0, nil}, // again
			{digest, "inc-1", 0, incident.ErrNotFound},
			{"digest-none", "", 0, incident.ErrNotFound},
			{digest, "", 2, nil},
			{digest, "", 0, nil},
		} {
			n, err := s.Unfold(ctx, c.digest, c.id)
			if n != c.want || !errors.Is(err, c.err) {
				t.Errorf("unfold %q of %s: %d, %v; want %d, %v", c.id, c.digest, n, err, c.want, c.err)
			}
		}
		if m := message(t, s, "inc-3"); m.Folded || m.ThreadSent != 3 {
			t.Errorf("its thread begins with the newest line that calls people for what is open: %+v", m)
		}
		if m := message(t, s, "inc-4"); m.Folded || m.ThreadSent != 1 {
			t.Errorf("where nothing is asked any more, nobody is called again: %+v", m)
		}
		got := claimed(ctx, t, s)
		if len(got) != 6 {
			t.Errorf("delivered: %+v", got)
		}
		d, err := s.Digest(ctx, digest)
		ok(t, err)
		if len(d.Shown) != 3 || len(d.Folded) != 0 || d.Open() || d.All() != 3 {
			t.Errorf("the digest: %+v", d)
		}
		ok(t, s.Commit(ctx, calling(3, "warning", said("again", "U1"))))
		if after, err := s.Digest(ctx, digest); err != nil || after.LastCall != d.LastCall {
			t.Errorf("what has its own message calls in the digest: %+v %v", after, err)
		}
	})
}

// A plan that follows the live values is replaced in two commits. The request stays, and who was called for it is not
// called again: its line is where the thread begins, also in between.
func TestUnfoldingWhileThePlanIsReplaced(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3")
		ok(t, s.Commit(t.Context(), calling(1, "warning", said("opened"), said("approve?", "U1"))))
		between := calling(2, "warning", said("new plan"))
		between.Incident.State = incident.StateProposed
		ok(t, s.Commit(t.Context(), between))
		if n, err := s.Unfold(t.Context(), message(t, s, "inc-3").Digest, "inc-3"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if m := message(t, s, "inc-3"); m.Folded || m.ThreadSent != 1 {
			t.Errorf("nobody would be called: %+v", m)
		}
	})
}

// Two replicas that meet a storm at the same moment make one digest of it.
func TestReplicasShareADigest(t *testing.T) {
	t.Parallel()
	url := storetest.PostgreSQL(t) // SQLite serves one process
	replicas := []*store.Store{storetest.Open(t, url, inStorm), storetest.Open(t, url, inStorm)}
	opened(t, replicas[0], "warning", "inc-a", "inc-b")
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			err := replicas[n%2].Commit(t.Context(),
				incident.Change{Incident: firing(fmt.Sprint("inc-", n), "warning"), Render: true})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	digest := message(t, replicas[0], "inc-0").Digest
	d, err := replicas[1].Digest(t.Context(), digest)
	ok(t, err)
	if len(d.Folded) != 20 || d.Version != 20 {
		t.Errorf("%d of 20 are in the first digest, whose version is %d", len(d.Folded), d.Version)
	}
}

// Without the setting nothing new folds, and what had folded stays in its digest, which is kept current.
func TestADigestOutlivesItsSetting(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.URL(t)
			s := storetest.Open(t, url, inStorm)
			opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4")
			ok(t, s.Close())
			s = storetest.Open(t, url)
			digest := message(t, s, "inc-3").Digest
			before, err := s.Digest(t.Context(), digest)
			ok(t, err)
			opened(t, s, "warning", "inc-5")
			if m := message(t, s, "inc-5"); m.Folded {
				t.Errorf("it folds although nothing should: %+v", m)
			}
			ok(t, s.Commit(t.Context(), incident.Change{Incident: firing("inc-3", "warning"), Expect: 1, Render: true}))
			ok(t, s.Commit(t.Context(), incident.Change{Incident: firing("inc-4", "critical"), Expect: 1, Render: true}))
			d, err := s.Digest(t.Context(), digest)
			ok(t, err)
			if len(d.Folded) != 1 || len(d.Shown) != 1 || d.Version != before.Version+2 {
				t.Errorf("the digest: %+v", d)
			}
			if got := claimed(t.Context(), t, s); got[digest].Wanted != d.Version || got["inc-4"].Incident == "" {
				t.Errorf("delivered: %+v", got)
			}
		})
	}
}

func TestADigestGoesWithTheLastOfItsIncidents(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4")
		ok(t, s.Commit(ctx, calling(1, "warning", said("approve?", "U1"))))
		digest := message(t, s, "inc-3").Digest
		long := s.Now().Add(100 * day)
		closing := func(id string, version int64) {
			inc := firing(id, "warning")
			inc.State, inc.ClosedAt = incident.StateClosed, now
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: version, Render: true}))
		}
		closing("inc-3", 2)
		_, err := s.Prune(ctx, long, store.DefaultKeep)
		ok(t, err)
		if d, err := s.Digest(ctx, digest); err != nil || len(d.Folded) != 1 || len(d.Calls) != 0 || d.LastCall != 1 {
			t.Errorf("a digest with an open incident: %+v %v", d, err)
		}
		closing("inc-4", 1)
		_, err = s.Prune(ctx, s.Now(), store.Keep{Done: day, Incidents: 90 * day, Writes: day})
		ok(t, err)
		if _, err := s.Digest(ctx, digest); err != nil {
			t.Errorf("a digest whose incidents are kept: %v", err)
		}
		_, err = s.Prune(ctx, long, store.DefaultKeep)
		ok(t, err)
		if _, err := s.Digest(ctx, digest); !errors.Is(err, incident.ErrNotFound) {
			t.Errorf("a digest without incidents: %v", err)
		}
		if n := rowsOf(t, raw(t, url), "digest_calls"); n != 0 {
			t.Errorf("%d of its calls are left", n)
		}
	})
}

// A message that an earlier version made is as it was, and counts for no rate: nobody knows when it was first wanted.
func TestMessagesOfEarlierVersionsAreNotFolded(t *testing.T) {
	t.Parallel()
	grown(t, func(ctx context.Context, t *testing.T, s *store.Store) {
		for _, id := range []string{settling, asking} {
			m, found, err := s.Message(ctx, id)
			if err != nil || !found || m.Folded || m.Digest != "" || m.Kind != "" || !m.CalledAt.IsZero() {
				t.Errorf("%s: %+v %v", id, m, err)
			}
		}
		if st, err := s.Stats(ctx); err != nil || st.Folded != 0 || st.MessagesWaiting != 2 {
			t.Errorf("%+v %v", st, err)
		}
	})
}
