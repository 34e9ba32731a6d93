package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func talliesOf(t *testing.T, s *store.Store) []incident.Tallied {
	t.Helper()
	st, err := s.Stats(t.Context())
	ok(t, err)
	return st.Tallies
}

// What a commit makes happen is counted with it: not when it is refused, not again when it is repeated, and for ever.
func TestWhatHappensIsCountedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		create(t, s, "inc-1", "llama")
		closing := fresh("inc-1", "llama")
		closing.State, closing.ClosedAt = incident.StateClosed, now.Add(4*time.Minute)
		closing.Diagnosis = &incident.Diagnosis{Name: "queueing"}
		w := &incident.Write{
			ID: "w-1", Incident: "inc-1", Step: "s", Pool: "llama", Kind: incident.StepReplicas, Target: "t",
			Op: incident.OpApply, StartedAt: now,
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: fresh("inc-1", "llama"), Expect: 1, Claim: w}))
		ended := *w
		ended.EndedAt, ended.Result = now.Add(time.Second), incident.ResultApplied
		ch := incident.Change{Incident: closing, Expect: 2, Finish: &ended, Entries: []incident.Entry{
			{At: now.Add(4 * time.Minute), Kind: incident.KindClosed, Said: incident.Note{Kind: incident.NoteClosedBy}},
		}}
		// the incident can be closed, and its unknown write not: nothing of it counts
		unknown := ch
		unknown.Finish = &incident.Write{ID: "w-9"}
		if err := s.Commit(ctx, unknown); !errors.Is(err, incident.ErrNotFound) {
			t.Fatalf("the end of an unknown write: %v", err)
		}
		ok(t, s.Commit(ctx, ch))
		if err := s.Commit(ctx, ch); !errors.Is(err, incident.ErrStale) {
			t.Fatalf("the same commit again: %v", err)
		}
		want := []incident.Tallied{
			{Family: incident.TallyClosed, Labels: []string{"llama", "queueing"}, Count: 1},
			{Family: incident.TallyOpened, Labels: []string{"llama"}, Count: 1},
			{Family: incident.TallyToClose, Edge: 300, Count: 1, Seconds: 240},
			{Family: incident.TallyWrites, Labels: []string{"replicas", "apply", "applied"}, Count: 1},
		}
		if d := cmp.Diff(want, talliesOf(t, s)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if _, err := s.Prune(ctx, now.Add(365*day), store.DefaultKeep); err != nil {
			t.Fatal(err)
		}
		ok(t, s.Close())
		if d := cmp.Diff(want, talliesOf(t, storetest.Open(t, url))); d != "" {
			t.Errorf("after its time and a restart, -want +got:\n%s", d)
		}
	})
}

// Deliveries that begin many incidents of a pool, one after the other, count each, in one row.
func TestTalliesOfOneCommitAreAdded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh("inc-a", "a")},
			incident.Change{Incident: fresh("inc-b", "b")}, incident.Change{Incident: fresh("inc-c", "")}))
		create(t, s, "inc-d", "d")
		inc := fresh("inc-d", "d")
		inc.State = incident.StateClosed
		again := incident.Entry{At: now, Kind: incident.KindAlerts, Said: incident.Note{Kind: incident.NoteReopened}}
		ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Entries: []incident.Entry{again, again}}))
		opened := func(pool string) incident.Tallied {
			return incident.Tallied{Family: incident.TallyOpened, Labels: []string{pool}, Count: 1}
		}
		want := []incident.Tallied{
			opened("a"), opened("b"), opened("d"), opened("none"),
			{Family: incident.TallyReopened, Labels: []string{"d"}, Count: 2},
		}
		if d := cmp.Diff(want, talliesOf(t, s)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// The time until a message is there is counted when it is first posted, however often it is saved, and also when it is
// deleted and posted anew.
func TestAMessageIsTimedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		inc := fresh("inc-1", "llama")
		inc.ReceivedAt = s.Now().Add(-15 * time.Second)
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Render: true}))
		ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", s.Now(), time.Minute, 1)
		ok(t, err)
		m := ms[0]
		for _, ts := range []string{"", "1.000001", "1.000001", "", "2.000001"} {
			m.TS = ts
			ok(t, s.SaveMessage(ctx, m, false))
		}
		lost := m
		lost.Fence--
		if err := s.SaveMessage(ctx, lost, false); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("a lost claim: %v", err)
		}
		got := talliesOf(t, s)
		if len(got) != 2 || got[1].Family != incident.TallyToMessage || got[1].Count != 1 || got[1].Seconds < 15 {
			t.Errorf("%+v", got)
		}
	})
}
