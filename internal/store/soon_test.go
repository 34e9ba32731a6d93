package store_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// delivered claims the one message that is due and saves it as delivered now, with the next edit CountGap later.
func delivered(t *testing.T, s *store.Store) incident.Message {
	t.Helper()
	ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", s.Now(), time.Minute, 10)
	if ok(t, err); len(ms) != 1 {
		t.Fatalf("%d messages are due, want 1", len(ms))
	}
	m := ms[0]
	m.TS, m.Sent, m.NextAt = "ts", m.Wanted, s.Now().Add(incident.CountGap)
	ok(t, s.SaveMessage(t.Context(), m, true))
	return m
}

// Alerts that only come and go make one edit in CountGap, however many they are; what somebody waits for comes EditGap
// after the last edit.
func TestEditsThatOnlyCountWaitAndOthersDoNot(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t, e.URL(t))
			inc := create(t, s, "i1", "llama")
			change := func(kind incident.EventKind) {
				t.Helper()
				ok(t, s.Commit(t.Context(), incident.Change{
					Incident: inc, Expect: inc.Version, Render: true, Entries: []incident.Entry{{At: now, Kind: kind, Text: "x"}},
				}))
				inc.Version++
			}
			change(incident.KindAlerts)
			last := delivered(t, s)
			for range 20 {
				change(incident.KindAlerts)
			}
			due := func(at time.Time) int {
				t.Helper()
				m, _, err := s.Message(t.Context(), "i1")
				ok(t, err)
				if m.NextAt.After(at) {
					return 0
				}
				return 1
			}
			if due(s.Now().Add(incident.CountGap/2)) != 0 {
				t.Error("an edit that only counts alerts does not wait")
			}
			change(incident.KindAsked)
			if due(s.Now().Add(incident.EditGap)) != 1 {
				t.Error("a question waits for longer than a second")
			}
			before, _, err := s.Message(t.Context(), "i1")
			ok(t, err)
			change(incident.KindAsked)
			after, _, err := s.Message(t.Context(), "i1")
			if ok(t, err); !after.NextAt.Equal(before.NextAt) {
				t.Errorf("a second question moves the edit from %s to %s", before.NextAt, after.NextAt)
			}
			// What is asked while the message is being sent waits as little.
			ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", s.Now().Add(time.Hour), time.Minute, 10)
			if ok(t, err); len(ms) != 1 {
				t.Fatalf("%d messages are due", len(ms))
			}
			ok(t, s.Commit(t.Context(), incident.Change{
				Incident: inc, Expect: inc.Version, Render: true,
				Entries: []incident.Entry{{At: now, Kind: incident.KindAsked, Text: "x", Thread: true}},
			}))
			inc.Version++
			last = ms[0]
			last.Sent, last.NextAt = last.Wanted, s.Now().Add(incident.CountGap)
			ok(t, s.SaveMessage(t.Context(), last, true))
			if due(s.Now().Add(incident.EditGap)) != 1 {
				t.Error("a question that came while the message was sent waits for longer than a second")
			}
			// A rate limit is kept, whatever is wanted.
			after.Fence, after.LastError, after.NextAt = last.Fence, "rate limited for 30s", s.Now().Add(time.Hour)
			ok(t, s.SaveMessage(t.Context(), after, true))
			change(incident.KindAsked)
			if due(s.Now().Add(time.Minute)) != 0 {
				t.Error("a message that waits for a rate limit is sent before its end")
			}
		})
	}
}

// What asks comes before what is new, and that before what only tells, whatever was due first.
func TestMessagesThatAskAreClaimedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		for _, id := range []string{"a-tells", "b-asks"} {
			ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh(id, id), DueAt: now, Render: true}))
			delivered(t, s)
		}
		ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh("c-new", "c-new"), DueAt: now, Render: true}))
		tells, asks := fresh("a-tells", "a-tells"), fresh("b-asks", "b-asks")
		asks.State = incident.StateDeciding
		ok(t, s.Commit(t.Context(), incident.Change{Incident: tells, Expect: 1, Render: true, Entries: []incident.Entry{
			{At: now, Kind: incident.KindGathered, Text: "x", Thread: true},
		}}))
		ok(t, s.Commit(t.Context(), incident.Change{Incident: asks, Expect: 1, Render: true, Entries: []incident.Entry{
			{At: now, Kind: incident.KindAsked, Text: "x", Thread: true},
		}}))
		var got []string
		for range 3 {
			ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", s.Now().Add(time.Hour), time.Minute, 1)
			ok(t, err)
			for _, m := range ms {
				got = append(got, m.Incident)
			}
		}
		if len(got) != 3 || got[0] != "b-asks" || got[1] != "c-new" || got[2] != "a-tells" {
			t.Errorf("claimed in the order %v", got)
		}
	})
}
