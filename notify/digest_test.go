package notify

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// newDigestBench is a bench whose message shows a digest of two incidents that wait for a decision.
func newDigestBench(t *testing.T, want ...expected) *bench {
	t.Helper()
	b := newBench(t, want...)
	b.outbox.put(incident.Message{Incident: "inc-1", Kind: incident.KindDigest, Channel: "C1", Wanted: 1, NextAt: noon})
	b.incidents.digest = incident.Digest{
		ID: "inc-1", Version: 1, Folded: []incident.Incident{waits("inc-a"), waits("inc-b")},
	}
	return b
}

func waits(id string) incident.Incident {
	inc := incident.New(id, id, incident.ModeApprove, false, noon)
	inc.State, inc.Request = incident.StateDeciding, &incident.Request{At: noon}
	inc.Plan = &incident.Plan{
		ExpiresAt: noon.Add(time.Hour),
		Steps:     []incident.Step{{ID: "s", Kind: incident.StepReplicas, State: incident.StepProposed}},
	}
	return inc
}

// calls commits that people are called for incidents of the digest.
func (b *bench) calls(ids ...string) {
	d := &b.incidents.digest
	for _, id := range ids {
		d.LastCall++
		called := incident.Entry{Mention: []string{"U1"}}
		d.Calls = append(d.Calls, incident.Call{Seq: d.LastCall, Incident: id, Entry: called})
	}
	d.Version++
	b.outbox.want("inc-1", d.Version, d.LastCall)
}

func TestADigestIsPostedAndEditsAreMerged(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v1"})
	b.pass(0)
	for range 10 {
		b.calls() // the incidents change
		b.pass(100 * time.Millisecond)
	}
	b.notifier.expect(expected{call: "update v11"})
	if m := b.pass(5 * time.Second); m.Sent != 11 || m.TS != "ts1" {
		t.Errorf("after the gap: %+v", m)
	}
}

func TestCallsAreGatheredForAMinute(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v2"}, expected{call: "call 1 for inc-a"})
	b.calls("inc-a")
	b.pass(0)
	b.notifier.expect(expected{call: "update v4"})
	b.calls("inc-b")
	b.calls("inc-a")
	b.pass(6 * time.Second) // it is drawn, and people are called when the minute is over
	b.pass(40 * time.Second)
	b.notifier.expect(expected{call: "call 3 for inc-b inc-a"})
	b.pass(20 * time.Second)
	if m := b.pass(time.Hour); m.ThreadSent != 3 {
		t.Errorf("at the end: %+v", m)
	}
}

func TestNobodyIsLostBetweenTwoPlans(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v2"})
	b.calls("inc-a")
	a := &b.incidents.digest.Folded[0]
	a.State, a.Plan.CreatedAt = incident.StateProposed, noon
	if m := b.pass(0); m.ThreadSent != 0 {
		t.Errorf("in between: %+v", m)
	}
	a.State = incident.StateDeciding
	b.notifier.expect(expected{call: "call 1 for inc-a"})
	if m := b.pass(6 * time.Second); m.ThreadSent != 1 {
		t.Errorf("at the end: %+v", m)
	}
}

// Who no longer fits into a reply is called with the next one, at once.
func TestManyAreCalledInParts(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v2"}, expected{call: "call 1 for inc-a"},
		expected{call: "call 2 for inc-b"})
	b.calls("inc-a", "inc-b")
	for n := range b.incidents.digest.Calls {
		m := &b.incidents.digest.Calls[n].Entry.Mention
		for i := range incident.CallPeople {
			*m = append(*m, fmt.Sprintf("U%d-%d", n, i))
		}
	}
	if m := b.pass(0); m.ThreadSent != 2 || !m.CalledAt.Equal(noon) {
		t.Errorf("at the end: %+v", m)
	}
	b.notifier.expect(expected{call: "update v3"})
	b.calls("inc-a")
	if m := b.pass(6 * time.Second); m.ThreadSent != 2 {
		t.Errorf("what comes then waits: %+v", m)
	}
}

func TestNobodyIsCalledForWhatWasDecided(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v2"})
	b.calls("inc-a", "inc-gone")
	b.incidents.digest.Folded[0].State = incident.StateWatching
	if m := b.pass(0); m.ThreadSent != 2 || !m.CalledAt.IsZero() {
		t.Errorf("at the end: %+v", m)
	}
}

// The process ends, or the answer is lost, between the post and its record: nothing is there twice.
func TestALostAnswerDoublesNoDigestAndNoCall(t *testing.T) {
	t.Parallel()
	cut := &AmbiguousError{errors.New("cut")}
	b := newDigestBench(t, expected{call: "post v2", err: cut, done: true})
	b.calls("inc-a")
	b.pass(0)
	b.notifier.expect(expected{call: "find 0"}, expected{call: "update v2"},
		expected{call: "call 1 for inc-a", err: cut, done: true})
	b.pass(20 * time.Second)
	b.calls("inc-b")
	b.notifier.expect(expected{call: "find 1"}, expected{call: "update v3"})
	if m := b.pass(20 * time.Second); m.ThreadSent != 1 || !m.CalledAt.Equal(noon.Add(20*time.Second)) {
		t.Errorf("people were called when it was sent: %+v", m)
	}
	b.pass(39 * time.Second) // so the next ones wait for the rest of the minute
	b.notifier.expect(expected{call: "call 2 for inc-b"})
	b.pass(5 * time.Second)
	if diff := cmp.Diff([]string{"inc-1 v2", "inc-1/1 in ts1", "inc-1/2 in ts1", "ts1 v2", "ts1 v3"},
		b.notifier.sent()); diff != "" {
		t.Errorf("channel (-want +got):\n%s", diff)
	}
}

func TestADeletedDigestIsPostedAnewWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	b := newDigestBench(t, expected{call: "post v1"})
	b.pass(0)
	b.calls()
	gone := &GoneError{errors.New("message_not_found")}
	b.notifier.expect(expected{call: "update v2", err: gone}, expected{call: "post v2"})
	b.pass(6 * time.Second)
	if m := b.pass(0); m.Sent != 2 {
		t.Errorf("open: %+v", m)
	}
	for n := range b.incidents.digest.Folded {
		b.incidents.digest.Folded[n].State = incident.StateClosed
	}
	b.calls("inc-a")
	b.notifier.expect(expected{call: "update v3", err: gone})
	b.pass(6 * time.Second)
	if m := b.pass(time.Minute); m.Sent != 3 || m.ThreadSent != 1 || m.TS != "" {
		t.Errorf("over: %+v", m)
	}
}

// plain is a notifier that knows no digests.
type plain struct{ Notifier }

func TestAMessageThatCannotBeShownIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		to   func(*fakeNotifier) Notifier
	}{
		"a digest where none is shown": {incident.KindDigest, func(f *fakeNotifier) Notifier { return plain{f} }},
		"a kind of a newer version":    {"novel", func(f *fakeNotifier) Notifier { return f }},
		"a digest that is not there":   {incident.KindDigest, func(f *fakeNotifier) Notifier { return f }},
	} {
		b := newBench(t)
		b.outbox.put(incident.Message{Incident: "inc-1", Kind: c.kind, Channel: "C1", Wanted: 1, NextAt: noon})
		d, err := New(Config{Owner: "me", Now: func() time.Time { return b.now }}, b.outbox, b.incidents, c.to(b.notifier),
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		b.Dispatcher = d
		if m := b.pass(0); !m.GaveUp || m.LastError == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// A bot that had Slack before shows what had folded in its log.
func TestTheLogShowsWhatADigestHas(t *testing.T) {
	t.Parallel()
	l := &logs{}
	n, err := NewLogNotifier(l.logger())
	if err != nil {
		t.Fatal(err)
	}
	d := incident.Digest{ID: "digest-1", Folded: []incident.Incident{waits("inc-a"), waits("inc-b")}}
	ts, err := n.PostDigest(t.Context(), "", d)
	if err != nil || !strings.Contains(ts, d.ID) {
		t.Errorf("%q %v", ts, err)
	}
	if err := n.UpdateDigest(t.Context(), "", ts, d); err != nil {
		t.Error(err)
	}
	call := incident.Call{Incident: "inc-a", Entry: incident.Entry{Text: "approve?"}}
	if err := n.Call(t.Context(), "", ts, d, []incident.Call{call}, 1); err != nil {
		t.Error(err)
	}
	for what, want := range map[string]int{"incident=inc-a": 2, "incident=inc-b": 1, "approve?": 1} {
		if got := l.count(what); got != want {
			t.Errorf("%s is in the log %d times, want %d", what, got, want)
		}
	}
}
