package notify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestLostAnswerIsLookedUpAndAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1", err: &AmbiguousError{errors.New("cut")}, done: true})
	got := b.pass(0)
	if got.IntentAt.IsZero() || got.TS != "" || !strings.Contains(got.LastError, "cut") {
		t.Fatalf("after the cut: %+v", got)
	}
	b.pass(time.Second) // too early to look: nothing happens
	b.notifier.expect(expected{call: "find 0"}, expected{call: "update v1"})
	got = b.pass(20 * time.Second)
	if got.TS != "ts1" || !got.IntentAt.IsZero() || got.Sent != 1 || got.LastError != "" {
		t.Errorf("after the look: %+v", got)
	}
	if b.notifier.oldest.After(noon.Add(-5 * time.Minute)) {
		t.Errorf("searched from %s on only: a clock that is behind would hide the message", b.notifier.oldest)
	}
	if diff := cmp.Diff([]string{"inc-1 v1", "ts1 v1"}, b.notifier.sent()); diff != "" {
		t.Errorf("channel (-want +got):\n%s", diff)
	}
}

func TestPostThatIsNotInTheChannelIsPostedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1", err: &AmbiguousError{errors.New("cut")}})
	b.pass(0)
	b.notifier.expect(expected{call: "find 0"}, expected{call: "post v1"})
	if got := b.pass(20 * time.Second); got.TS != "ts1" || got.Sent != 1 {
		t.Errorf("after the look: %+v", got)
	}
}

func TestLostAnswerOfAThreadEntryIsLookedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"},
		expected{call: "reply 1", err: &AmbiguousError{errors.New("cut")}, done: true})
	b.change(1, 1, 2)
	b.pass(0)
	b.notifier.expect(expected{call: "find 1"}, expected{call: "reply 2"})
	if got := b.pass(20 * time.Second); got.ThreadSent != 2 || got.Sent != 1 {
		t.Errorf("after the look: %+v", got)
	}
	if diff := cmp.Diff([]string{"inc-1 v1", "inc-1/1 in ts1", "inc-1/2 in ts1"}, b.notifier.sent()); diff != "" {
		t.Errorf("channel (-want +got):\n%s", diff)
	}
}

func TestUnreadableChannelIsRepeatedOnceAfterTheWaitAndNeverTwice(t *testing.T) {
	t.Parallel()
	cut := &AmbiguousError{errors.New("cut")}
	unreadable := &PermanentError{Err: errors.New("missing_scope"), Next: "Add the scope."}
	b := newBench(t, expected{call: "post v1", err: cut, done: true})
	b.pass(0)
	b.notifier.expect(expected{call: "find 0", err: unreadable})
	if got := b.pass(time.Minute); got.GaveUp || got.IntentAt.IsZero() {
		t.Fatalf("before the wait is over: %+v", got)
	}
	b.notifier.expect(expected{call: "find 0", err: unreadable}, expected{call: "post v1", err: cut, done: true})
	got := b.pass(3 * time.Minute)
	if !got.GaveUp {
		t.Fatalf("after the repeat: %+v", got)
	}
	b.pass(time.Hour) // a third post would be an unexpected call
	b.change(2)       // a new version may try again; the channel is readable by then
	b.notifier.expect(expected{call: "find 0"}, expected{call: "update v2"})
	if got := b.pass(time.Hour); got.Sent != 2 || got.GaveUp {
		t.Errorf("after a new version: %+v", got)
	}
}

func TestCrashDuringTheRepeatDoesNotRepeatAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1", err: &AmbiguousError{errors.New("cut")}})
	b.pass(0)
	b.notifier.expect(expected{call: "find 0", err: errors.New("unreadable")}, expected{call: "post v1"})
	b.now = b.now.Add(4 * time.Minute)
	saves := 0
	b.outbox.onSave = func(incident.Message, bool) error {
		if saves++; saves > 1 {
			return errors.New("killed")
		}
		return nil
	}
	if _, err := b.Deliver(t.Context()); err == nil {
		t.Fatal("Deliver did not report the store's error")
	}
	b.outbox.onSave = nil
	b.pass(time.Hour)
	if got := b.outbox.row(); !got.GaveUp || got.IntentAt.IsZero() {
		t.Errorf("after the crash: %+v", got)
	}
}

func TestRepeatThatIsKnownNotToBeSentMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1", err: &AmbiguousError{errors.New("cut")}})
	b.pass(0)
	b.notifier.expect(expected{call: "find 0", err: errors.New("unreadable")},
		expected{call: "post v1", err: &RateLimitedError{time.Minute}})
	if got := b.pass(4 * time.Minute); got.GaveUp || got.IntentAt.IsZero() {
		t.Fatalf("after the rate limit: %+v", got)
	}
	b.notifier.expect(expected{call: "find 0", err: errors.New("unreadable")}, expected{call: "post v1"})
	if got := b.pass(10 * time.Minute); got.TS != "ts1" {
		t.Errorf("after the second try: %+v", got)
	}
}
