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

// Each sink has its own message of an incident: what one has sent, holds or gave up says nothing of another.
func TestEverySinkHasItsOwnMessages(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := storetest.Open(t, e.URL(t), func(o *store.Options) { o.Sinks = []string{"events", "teams"} })
			entry := incident.Entry{At: now, Text: "one", Thread: true}
			inc := fresh("inc-a", "p")
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Render: true, Entries: []incident.Entry{entry}}))
			claim := func(sink string, at time.Time) []incident.Message {
				t.Helper()
				ms, err := s.ClaimMessages(ctx, sink, "me", at, time.Minute, 10)
				ok(t, err)
				return ms
			}
			held := claim("teams", now) // and never given back
			done := claim("events", now)
			if len(held) != 1 || len(done) != 1 || done[0].Sink != "events" || done[0].Channel != "" || held[0].Sink != "teams" {
				t.Fatalf("teams %+v, events %+v", held, done)
			}
			m := done[0]
			m.TS, m.Sent, m.ThreadSent = "sent", 1, 1
			ok(t, s.SaveMessage(ctx, m, true))
			if again := claim("events", now); len(again) != 0 {
				t.Errorf("what was sent is sent again: %+v", again)
			}
			ours := claim(incident.SinkSlack, now)
			if len(ours) != 1 || ours[0].Channel != "C1" || ours[0].TS != "" || ours[0].Sent != 0 {
				t.Errorf("slack: %+v", ours)
			}
			if got, found, err := s.Message(ctx, "inc-a"); err != nil || !found || got.Sink != incident.SinkSlack {
				t.Errorf("the message that people decide in: %+v %v %v", got, found, err)
			}
			other := m
			other.Sink = "teams"
			other.Fence = 7
			if err := s.SaveMessage(ctx, other, true); !errors.Is(err, incident.ErrFenced) {
				t.Errorf("the claim of another sink was taken for one's own: %v", err)
			}
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 1, Render: true}))
			if next := claim("events", now); len(next) != 1 || next[0].Wanted != 2 || next[0].TS != "sent" {
				t.Errorf("the next version: %+v", next)
			}
			if still := claim("teams", now); len(still) != 0 {
				t.Errorf("a message that is held was claimed twice: %+v", still)
			}
		})
	}
}

// Nobody delivers to a sink that is not in the configuration any more, and nobody should be told that it waits.
func TestASinkThatIsGoneDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.URL(t)
			waiting := func(sinks ...string) int64 {
				t.Helper()
				s := storetest.Open(t, url, func(o *store.Options) { o.Sinks = sinks })
				if _, err := s.Incident(t.Context(), "inc-a"); errors.Is(err, incident.ErrNotFound) {
					ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh("inc-a", "p"), Render: true}))
				}
				st, err := s.Stats(t.Context())
				ok(t, err)
				ok(t, s.Close())
				return st.MessagesWaiting
			}
			if d := cmp.Diff([]int64{3, 1, 2}, []int64{waiting("events", "teams"), waiting(), waiting("teams")}); d != "" {
				t.Errorf("waiting with two, without and with one: -want +got:\n%s", d)
			}
		})
	}
}
