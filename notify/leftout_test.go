package notify

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// An entry that the receiver refuses for what it says is tried once more and then left out, visibly: what follows is
// not held up by it. A refusal by the receiver itself holds everything up, until that is put right.
func TestAnEntryThatIsRefusedForItsContentIsLeftOut(t *testing.T) {
	t.Parallel()
	bad := &PermanentError{Err: errors.New("the receiver answers 422"), Next: "Check its log.", Content: true}
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 1", err: bad})
	b.change(1, 1, 2, 3)
	if got := b.pass(0); !got.GaveUp || got.ThreadSent != 0 || b.Counts().LeftOut != 0 {
		t.Fatalf("after the first refusal: %+v", got)
	}
	b.pass(4 * time.Minute) // not more often
	b.notifier.expect(expected{call: "reply 1", err: bad}, expected{call: "reply 2", err: bad})
	if got := b.pass(time.Minute); got.ThreadSent != 1 || !got.GaveUp {
		t.Fatalf("another entry is left out at its first refusal: %+v", got)
	}
	b.notifier.expect(expected{call: "reply 2"}, expected{call: "reply 3"})
	if got := b.pass(5 * time.Minute); got.ThreadSent != 3 || got.GaveUp || got.LastError != "" {
		t.Errorf("what follows: %+v", got)
	}
	if n := b.logs.count("is left out"); n != 1 || b.Counts().LeftOut != 1 {
		t.Errorf("logged %d times, counted %d", n, b.Counts().LeftOut)
	}
}

// An incident that changes brings its message back early. What is refused then is the same refusal: a receiver that
// refuses everything for a minute must not lose what it refuses.
func TestARefusalIsTheSecondOneOnlyAfterAWhile(t *testing.T) {
	t.Parallel()
	bad := &PermanentError{Err: errors.New("the receiver answers 400"), Next: "Check its log.", Content: true}
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 1", err: bad})
	b.change(1, 1)
	b.pass(0)
	for v := int64(2); v < 6; v++ {
		b.change(v)
		b.notifier.expect(expected{call: fmt.Sprint("update v", v)}, expected{call: "reply 1", err: bad})
		if got := b.pass(time.Minute); !got.GaveUp || got.ThreadSent != 0 || b.Counts().LeftOut != 0 {
			t.Fatalf("version %d: %+v", v, got)
		}
	}
	b.notifier.expect(expected{call: "reply 1", err: bad})
	if got := b.pass(time.Minute); got.GaveUp || got.ThreadSent != 1 || b.Counts().LeftOut != 1 {
		t.Errorf("after five minutes: %+v", got)
	}
	for _, once := range []string{"was not delivered", "is left out"} {
		if n := b.logs.count(once); n != 1 {
			t.Errorf("%q is logged %d times", once, n)
		}
	}
	for _, next := range []string{
		"journal entry 1: the receiver answers 400", "Check its log. It is tried once more, 5 min later, and then left out.",
		"Check its log. It isn't sent again; the incident's page has it.",
	} {
		if b.logs.count(next) == 0 {
			t.Errorf("no line with %q", next)
		}
	}
}

func TestARefusedVersionIsLeftOut(t *testing.T) {
	t.Parallel()
	bad := &PermanentError{Err: errors.New("the receiver answers 413"), Next: "Check its log.", Content: true}
	b := newBench(t, expected{call: "post v1"})
	b.pass(0)
	b.change(2, 1)
	b.notifier.expect(expected{call: "update v2", err: bad})
	b.pass(time.Minute)
	b.notifier.expect(expected{call: "update v2", err: bad}, expected{call: "reply 1"})
	if got := b.pass(5 * time.Minute); got.Sent != 2 || got.ThreadSent != 1 || got.GaveUp {
		t.Errorf("%+v", got)
	}
}

// The versions of an incident that changes all the time are one refusal: it must not keep the thread for ever.
func TestRefusedVersionsThatMoveHoldUpTheThreadForAWhileOnly(t *testing.T) {
	t.Parallel()
	bad := &PermanentError{Err: errors.New("the receiver answers 413"), Next: "Check its log.", Content: true}
	b := newBench(t, expected{call: "post v1"})
	b.pass(0)
	b.change(2, 1)
	for v := int64(2); v < 7; v++ {
		b.notifier.expect(expected{call: fmt.Sprint("update v", v), err: bad})
		if got := b.pass(time.Minute); !got.GaveUp || got.ThreadSent != 0 || got.Sent != 1 {
			t.Fatalf("version %d: %+v", v, got)
		}
		b.change(v + 1)
	}
	b.notifier.expect(expected{call: "update v7", err: bad}, expected{call: "reply 1"})
	if got := b.pass(time.Minute); got.Sent != 7 || got.ThreadSent != 1 || got.GaveUp || b.Counts().LeftOut != 1 {
		t.Errorf("after five minutes: %+v", got)
	}
	b.change(8)
	b.notifier.expect(expected{call: "update v8"})
	if got := b.pass(time.Minute); got.Sent != 8 || got.LastError != "" {
		t.Errorf("one that is taken: %+v", got)
	}
}

func TestWhatIsRefusedByTheReceiverItselfIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		calls []string
	}{
		"unauthorized, an entry": {&PermanentError{Err: errors.New("401")}, []string{"post v1", "reply 1"}},
		"the message itself":     {&PermanentError{Err: errors.New("400"), Content: true}, []string{"post v1"}},
	} {
		b := newBench(t)
		b.change(1, 1, 2)
		last := tt.calls[len(tt.calls)-1]
		for _, call := range tt.calls[:len(tt.calls)-1] {
			b.notifier.expect(expected{call: call})
		}
		for range 4 {
			b.notifier.expect(expected{call: last, err: tt.err})
			if got := b.pass(5 * time.Minute); got.ThreadSent != 0 || !got.GaveUp {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if n := b.Counts().LeftOut; n != 0 {
			t.Errorf("%s: %d left out", name, n)
		}
	}
}
