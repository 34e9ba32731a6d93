package store_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// grown is a store whose database a bot with version 2 of the schema has left.
func grown(t *testing.T, fn func(ctx context.Context, t *testing.T, s *store.Store)) {
	t.Helper()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Bare(t)
			storetest.FillVersion2(t, url, os.DirFS("migrations/"+e.Name))
			fn(t.Context(), t, storetest.Open(t, url))
		})
	}
}

var leftAt = storetest.Version2At

const settling, asking, over = "inc-w3yuh262", "inc-mhc72y26", "inc-abucnnkk"

// What a bot of the version before knew, and had begun, is there afterwards.
func TestAStoreOfVersion2KeepsItsIncidents(t *testing.T) {
	t.Parallel()
	grown(t, func(ctx context.Context, t *testing.T, s *store.Store) {
		for id, want := range map[string]struct {
			state            incident.State
			version, entries int64
			step             incident.StepState
		}{
			settling: {incident.StateSettling, 7, 7, incident.StepApplied},
			asking:   {incident.StateDeciding, 4, 4, incident.StepProposed},
			over:     {incident.StateClosed, 14, 8, incident.StepDenied},
		} {
			inc, err := s.IncidentWithJournal(ctx, id)
			ok(t, err)
			if inc.State != want.state || inc.Version != want.version || len(inc.Alerts) != 1 ||
				inc.Plan.Steps[0].State != want.step {
				t.Errorf("%s: %s, version %d, %d alerts, the step %s", id, inc.State, inc.Version, len(inc.Alerts),
					inc.Plan.Steps[0].State)
			}
			if n := int64(len(inc.Journal)); n != want.entries || inc.Journal[n-1].Seq != n {
				t.Errorf("%s: %d entries, the last one %d, want %d", id, n, inc.Journal[n-1].Seq, want.entries)
			}
		}
		st, err := s.Stats(ctx)
		ok(t, err)
		if d := cmp.Diff(store.Stats{
			DeliveriesWaiting: 3, DeliveriesDead: 1, OldestWaiting: leftAt, LastDelivery: leftAt,
			ClicksWaiting: 2, Pauses: 1, MessagesWaiting: 2,
			Incidents: map[string]int64{"settling": 1, "deciding": 1}, Tallies: []incident.Tallied{},
			Drills: map[string]int64{},
		}, st); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		locks, err := s.Locks(ctx)
		ok(t, err)
		if d := cmp.Diff(map[string]string{"REPLICAS/llm/llama": settling}, locks); d != "" {
			t.Errorf("locks: -want +got:\n%s", d)
		}
		cs, err := s.ClaimDue(ctx, "me", leftAt.Add(time.Hour), time.Minute, 10)
		ok(t, err)
		if len(cs) != 2 {
			t.Fatalf("%d of 2 open incidents are looked at", len(cs))
		}
		for _, c := range cs {
			if c.Abandoned {
				t.Errorf("%s counts as cut off", c.Incident.ID)
			}
			ok(t, s.Commit(ctx,
				incident.Change{
					Incident: c.Incident, Expect: c.Incident.Version, Fence: c.Fence,
					Entries: []incident.Entry{{Text: "on"}}, Release: true,
				}))
		}
	})
}

// What had been sent is not sent again, and what waited still waits.
func TestAStoreOfVersion2KeepsItsMessagesAndClicks(t *testing.T) {
	t.Parallel()
	grown(t, func(ctx context.Context, t *testing.T, s *store.Store) {
		ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", leftAt.Add(time.Hour), time.Minute, 10)
		ok(t, err)
		got := map[string]string{}
		for _, m := range ms {
			got[m.Incident] = m.TS
			if m.Incident == asking && (m.IntentAt.IsZero() || m.Attempts != 2 || m.LastError == "") {
				t.Errorf("a post whose answer is not known: %+v", m)
			}
		}
		if d := cmp.Diff(map[string]string{settling: "1700000000.000100", asking: ""}, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		for _, want := range []string{`{"type":"block_actions"}`, `{"type":"done"}`} {
			c, found, err := s.ClaimClick(ctx, "me", leftAt, time.Minute)
			ok(t, err)
			if !found || string(c.Payload) != want {
				t.Errorf("the click %q, want %q", c.Payload, want)
			}
			ok(t, s.FinishClick(ctx, c))
		}
	})
}

// What waited in the inbox is folded in, and what comes now comes after it.
func TestAStoreOfVersion2KeepsItsInbox(t *testing.T) {
	t.Parallel()
	grown(t, func(ctx context.Context, t *testing.T, s *store.Store) {
		later := leftAt.Add(2 * time.Minute) // the retry and the lease of the process that is gone are over
		got := claimMany(ctx, t, s, "me", later, 10)
		if d := cmp.Diff([]string{"off", "leased", `{}:{ü="1"}`}, keys(got)); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
		for n, attempts := range []int{2, 2, 1} {
			if a := got[n].Alerts; len(a) != 1 || a[0].Labels["namespace"] != "llm" || got[n].Attempts != attempts {
				t.Errorf("%+v", got[n])
			}
		}
		inc, err := s.Incident(ctx, settling)
		ok(t, err)
		ok(t, s.CommitFolded(ctx,
			incident.Folded{
				Deliveries: got,
				Changes:    []incident.Change{{Incident: inc, Expect: inc.Version, DueAt: later, Sooner: true}},
			}))
		id, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: later, GroupKey: "new"})
		ok(t, err)
		if next := claimMany(ctx, t, s, "me", later, 10); id <= got[2].ID || len(next) != 1 || next[0].ID != id {
			t.Errorf("delivery %d came after %d; then %v were claimed", id, got[2].ID, keys(next))
		}
		if n, err := s.DeadDeliveries(ctx); err != nil || n != 1 {
			t.Errorf("%d dead, %v", n, err)
		}
		gone, err := s.Prune(ctx, later.Add(365*day), store.DefaultKeep)
		ok(t, err)
		if d := cmp.Diff(store.Pruned{Deliveries: 8, Incidents: 1}, gone); d != "" {
			t.Errorf("after a year: -want +got:\n%s", d)
		}
	})
}
