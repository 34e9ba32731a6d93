package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// due makes the bench's message due in a bubble of synctest, whose clock is not noon.
func (b *bench) due() {
	b.clock = time.Now
	b.outbox.rows["inc-1"] = incident.Message{Incident: "inc-1", Channel: "C1", Wanted: 1, NextAt: time.Now()}
}

// run runs the dispatcher until stop is called.
func (b *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run = %v", err)
		}
	}
}

// A search before Slack shows a post finds nothing, and the post is made again. It must wait LookAfter from the lost
// answer, however slow the calls before it were.
func TestASlowNotifierDoesNotBringTheSearchForwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := expected{
			call: "reply 3", err: &AmbiguousError{errors.New("cut")}, done: true, takes: 8 * time.Second,
			shows: 12 * time.Second,
		}
		b := newBench(t, expected{call: "post v1", takes: 8 * time.Second}, expected{call: "reply 1", takes: 8 * time.Second},
			expected{call: "reply 2", takes: 5 * time.Second}, lost, expected{call: "find 3"})
		b.due()
		b.change(1, 1, 2, 3)
		stop := b.run()
		time.Sleep(5 * time.Minute)
		stop()
		if d := cmp.Diff([]string{"inc-1 v1", "inc-1/1 in ts1", "inc-1/2 in ts1", "inc-1/3 in ts1"},
			b.notifier.sent()); d != "" {
			t.Errorf("channel (-want +got):\n%s", d)
		}
	})
}

// The intent is what the search counts from after a crash: it must say when the post began, not when the pass did.
func TestTheIntentSaysWhenThePostBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, expected{call: "post v1", takes: 9 * time.Second}, expected{call: "reply 1", takes: 9 * time.Second},
			expected{call: "reply 2"})
		b.due()
		b.change(1, 1, 2)
		b.outbox.onSave = func(m incident.Message, _ bool) error {
			if !m.IntentAt.IsZero() && !m.IntentAt.Equal(time.Now()) {
				t.Errorf("the intent of entry %d is %s old when it is stored", m.IntentThread, time.Since(m.IntentAt))
			}
			return nil
		}
		stop := b.run()
		time.Sleep(time.Minute)
		stop()
	})
}

// A pass has many rounds. The lease of each must count from its own begin, or another replica claims a message that is
// being posted.
func TestALaterRoundHoldsItsClaimWhileItPosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		cfg := b.cfg
		cfg.Parallel = 1
		d, err := New(cfg, b.outbox, b.incidents, b.notifier, b.logs.logger())
		if err != nil {
			t.Fatal(err)
		}
		b.Dispatcher = d
		b.due()
		for n := 2; n <= 4; n++ {
			inc := incident.New(fmt.Sprint("inc-", n), "llama", incident.ModeApprove, false, time.Now())
			inc.Version = 1
			b.incidents.put(inc)
			b.outbox.rows[inc.ID] = incident.Message{Incident: inc.ID, Channel: "C1", Wanted: 1, NextAt: time.Now()}
		}
		for range 4 {
			b.notifier.expect(expected{call: "post v1", takes: 40 * time.Second})
		}
		stop := b.run()
		for range 160 {
			time.Sleep(time.Second)
			if ids := b.outbox.unguarded(time.Now()); len(ids) > 0 {
				t.Errorf("another replica could claim %v while the first one posts", ids)
				break
			}
		}
		stop()
	})
}

// One answer that does not come holds up its own message and no other: neither one that comes later nor its edits.
func TestASlowMessageHoldsUpOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newBench(t, expected{call: "post v1", hold: hold})
		b.due()
		stop := b.run()
		<-b.notifier.waiting
		inc := incident.New("inc-2", "llama", incident.ModeApprove, false, time.Now())
		inc.Version = 1
		b.incidents.put(inc)
		b.notifier.expect(expected{call: "post v1"}, expected{call: "update v2"})
		b.outbox.put(incident.Message{Incident: "inc-2", Channel: "C1", Wanted: 1, NextAt: time.Now()})
		time.Sleep(2 * time.Second)
		inc.Version = 2
		b.incidents.put(inc)
		b.outbox.want("inc-2", 2)
		time.Sleep(5 * time.Second)
		if d := cmp.Diff([]string{"inc-2 v1", "ts1 v2"}, b.notifier.sent()); d != "" {
			t.Errorf("channel while the first post waits (-want +got):\n%s", d)
		}
		close(hold)
		synctest.Wait()
		stop()
		if got := b.outbox.row(); got.TS == "" {
			t.Errorf("the slow one was lost: %+v", got)
		}
	})
}

// An intent of a clock that was ahead would keep its message waiting until that time comes. The search waits as long as
// ever, counted anew.
func TestAClockThatWasSetBackDoesNotHoldUpTheSearch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outbox.rows["inc-1"] = incident.Message{
		Incident: "inc-1", Channel: "C1", Wanted: 1, NextAt: noon,
		IntentAt: noon.Add(3 * time.Hour),
	}
	if got := b.pass(0); got.IntentAt != noon || got.NextAt.After(noon.Add(time.Minute)) {
		t.Errorf("the row waits for %s, its intent is of %s", got.NextAt, got.IntentAt)
	}
	b.notifier.expect(expected{call: "find 0"}, expected{call: "post v1"})
	if got := b.pass(20 * time.Second); got.TS == "" {
		t.Errorf("after the search: %+v", got)
	}
}

// lingering is an outbox whose answer to the save that ends a turn comes late.
type lingering struct {
	*outbox
	released func()
}

func (o lingering) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	err := o.outbox.SaveMessage(ctx, m, release)
	if release && m.Sent == 1 {
		o.released()
	}
	return err
}

// The store may have released a message that changes again before the dispatcher knows that its turn has ended. The
// claim of the change must not be kept until its lease runs out.
func TestAChangeAtTheEndOfATurnIsShownWhenTheTurnHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, expected{call: "post v1"}, expected{call: "update v2"})
		b.Dispatcher.outbox = lingering{b.outbox, sync.OnceFunc(func() {
			b.change(2)
			b.outbox.wake <- struct{}{}
			time.Sleep(time.Second) // the dispatcher claims the change meanwhile
		})}
		b.due()
		stop := b.run()
		time.Sleep(2 * time.Second)
		if d := cmp.Diff([]string{"inc-1 v1", "ts1 v2"}, b.notifier.sent()); d != "" {
			t.Errorf("channel (-want +got):\n%s", d)
		}
		stop()
	})
}

// A turn that has outlived its lease may still post. Its message is not given to another replica at once: the new claim
// runs out first, and says so in the log.
func TestATurnThatOutlivesItsLeaseKeepsItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, expected{call: "post v1", takes: 100 * time.Second})
		b.due()
		stop := b.run()
		time.Sleep(b.cfg.Lease + 5*time.Second)
		if ids := b.outbox.unguarded(time.Now()); len(ids) > 0 {
			t.Errorf("another replica could claim %v while the first one may still post", ids)
		}
		if n := b.logs.count("the turn of a message does not end"); n != 1 {
			t.Errorf("it was said %d times", n)
		}
		stop()
	})
}

// A claim that cannot be given back runs out, and the change is shown then.
func TestAChangeWhoseClaimCannotBeGivenBackIsShownWhenTheClaimHasRunOut(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]error{"the store fails": errors.New("disk full"), "fenced": incident.ErrFenced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, expected{call: "post v1"}, expected{call: "update v2"})
				var failing atomic.Bool
				b.outbox.onSave = func(_ incident.Message, release bool) error {
					if release && failing.CompareAndSwap(true, false) {
						return broken
					}
					return nil
				}
				b.Dispatcher.outbox = lingering{b.outbox, sync.OnceFunc(func() {
					b.change(2)
					failing.Store(true)
					b.outbox.wake <- struct{}{}
					time.Sleep(time.Second) // the dispatcher claims the change meanwhile
				})}
				b.due()
				stop := b.run()
				time.Sleep(b.cfg.Lease + 5*time.Second)
				if d := cmp.Diff([]string{"inc-1 v1", "ts1 v2"}, b.notifier.sent()); d != "" {
					t.Errorf("channel (-want +got):\n%s", d)
				}
				if failing.Load() {
					t.Error("the claim was not given back at all")
				}
				stop()
			})
		})
	}
}
