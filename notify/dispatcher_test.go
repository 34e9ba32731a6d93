package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestNewNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Sweep: -1, RetryMin: time.Hour}, nil, nil, nil, nil)
	if err == nil {
		t.Fatal("New took nothing at all")
	}
	for _, want := range []string{"outbox", "incidents", "notifier", "logger", "Owner", "Sweep", "RetryMax"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestMessageIsPostedThenEditedThenItsThreadGrows(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 1"}, expected{call: "reply 3"})
	b.change(1, 1, 3)
	got := b.pass(0)
	want := incident.Message{
		Incident: "inc-1", Channel: "C1", TS: "ts1", Wanted: 1, Sent: 1, ThreadSent: 3,
		NextAt: noon.Add(time.Second),
	}
	if diff := cmp.Diff(want, got, ignoreFence); diff != "" {
		t.Errorf("row after the first pass (-want +got):\n%s", diff)
	}
	b.notifier.expect(expected{call: "update v4"}, expected{call: "reply 4"})
	b.change(4, 4)
	b.pass(time.Second)
	if diff := cmp.Diff([]string{"inc-1 v1", "inc-1/1 in ts1", "inc-1/3 in ts1", "inc-1/4 in ts1", "ts1 v4"},
		b.notifier.sent()); diff != "" {
		t.Errorf("channel (-want +got):\n%s", diff)
	}
	if got := b.pass(time.Hour); got.Sent != 4 {
		t.Errorf("an up-to-date message was touched again: %+v", got)
	}
}

var ignoreFence = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Fence" }, cmp.Ignore())

func TestIntentIsStoredBeforeEveryPost(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 7"})
	b.change(1, 7)
	b.pass(0)
	var intents []string
	for _, m := range b.outbox.history {
		if !m.IntentAt.IsZero() {
			intents = append(intents, fmt.Sprintf("thread %d, ts %q", m.IntentThread, m.TS))
		}
	}
	if diff := cmp.Diff([]string{`thread 0, ts ""`, `thread 7, ts "ts1"`}, intents); diff != "" {
		t.Errorf("intents (-want +got):\n%s", diff)
	}
}

func TestNothingIsPostedWhenTheIntentCannotBeStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outbox.onSave = func(incident.Message, bool) error { return errors.New("disk full") }
	if _, err := b.Deliver(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Deliver = %v, want the store's error", err)
	}
}

func TestNothingIsPostedWhenTheClaimWasLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outbox.onSave = func(incident.Message, bool) error { return incident.ErrFenced }
	if n, err := b.Deliver(t.Context()); err != nil || n != 1 {
		t.Errorf("Deliver = %d, %v; a lost claim is no error", n, err)
	}
}

func TestBurstOfEditsBecomesOneAndTheLatestWins(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"})
	b.pass(0)
	b.change(2)
	b.change(3)
	b.pass(100 * time.Millisecond) // within the gap: nothing is sent yet
	b.change(9)
	b.notifier.expect(expected{call: "update v9"})
	if got := b.pass(time.Second); got.Sent != 9 {
		t.Errorf("sent = %d, want 9", got.Sent)
	}
}

func TestRateLimitIsObeyed(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1", err: &RateLimitedError{30 * time.Second}})
	got := b.pass(0)
	if !got.IntentAt.IsZero() || !got.NextAt.Equal(noon.Add(30*time.Second)) || got.Attempts != 0 {
		t.Fatalf("after the limit: %+v", got)
	}
	b.pass(29 * time.Second) // nothing may be sent
	b.notifier.expect(expected{call: "post v1"})
	if got := b.pass(2 * time.Second); got.TS == "" {
		t.Errorf("not posted after the wait: %+v", got)
	}
}

func TestTransientFailuresBackOffAndNeverGiveUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var waits []time.Duration
	for n := 1; n <= 12; n++ {
		b.notifier.expect(expected{call: "post v1", err: errors.New("connection refused")})
		got := b.pass(0)
		if got.Attempts != n || got.GaveUp || !got.IntentAt.IsZero() {
			t.Fatalf("after failure %d: %+v", n, got)
		}
		waits = append(waits, got.NextAt.Sub(b.now))
		b.now = got.NextAt
	}
	if waits[0] != 2*time.Second || waits[1] != 4*time.Second || waits[11] != 5*time.Minute {
		t.Errorf("waits = %v", waits)
	}
	if n := b.logs.count("connection refused"); n != 1 {
		t.Errorf("the same failure was logged %d times", n)
	}
	b.notifier.expect(expected{call: "post v1"})
	if got := b.pass(0); got.Attempts != 0 || got.LastError != "" {
		t.Errorf("after success: %+v", got)
	}
}

func TestPermanentFailureGivesUpSaysTheNextStepOnceAndTriesANewVersion(t *testing.T) {
	t.Parallel()
	perm := &PermanentError{Err: errors.New("channel_not_found"), Next: "Invite the app."}
	b := newBench(t, expected{call: "post v1", err: perm})
	got := b.pass(0)
	if !got.GaveUp || got.LastError != "channel_not_found" || !got.IntentAt.IsZero() {
		t.Fatalf("after the refusal: %+v", got)
	}
	b.pass(4 * time.Minute) // given up: nothing is sent
	b.change(2)
	b.notifier.expect(expected{call: "post v2", err: perm})
	b.pass(0)
	if n := b.logs.count("Invite the app."); n != 1 {
		t.Errorf("the next step was logged %d times", n)
	}
	b.change(3)
	b.notifier.expect(expected{call: "post v3"})
	if got := b.pass(0); got.GaveUp || got.Sent != 3 {
		t.Errorf("after the repair: %+v", got)
	}
}

// What is refused until a person acts is still true when they have: nobody tells the bot, so it tries now and then, and
// neither a restart nor a change of the incident is needed.
func TestARefusedMessageIsDeliveredWhenWhatWasWrongIsPutRight(t *testing.T) {
	t.Parallel()
	perm := &PermanentError{Err: errors.New("token_revoked"), Next: "Install the app again."}
	b := newBench(t, expected{call: "post v1", err: perm})
	b.pass(0)
	for range 3 { // days may pass
		b.notifier.expect(expected{call: "post v1", err: perm})
		if got := b.pass(5 * time.Minute); !got.GaveUp || got.Sent != 0 {
			t.Fatalf("while it is refused: %+v", got)
		}
		b.pass(4 * time.Minute) // not more often
	}
	b.notifier.expect(expected{call: "post v1"})
	if got := b.pass(time.Minute); got.GaveUp || got.Refused || got.Sent != 1 || got.LastError != "" {
		t.Errorf("when it is put right: %+v", got)
	}
	if n := b.logs.count("Install the app again."); n != 1 {
		t.Errorf("the next step was logged %d times", n)
	}
}

func TestDeletedMessageOfAnOpenIncidentIsPostedAnew(t *testing.T) {
	t.Parallel()
	gone := &GoneError{errors.New("message_not_found")}
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 1"})
	b.change(1, 1)
	b.pass(0)
	b.change(2)
	b.notifier.expect(expected{call: "update v2", err: gone})
	b.pass(time.Second)
	b.notifier.expect(expected{call: "post v2"})
	if got := b.pass(time.Second); got.TS != "ts2" || got.Sent != 2 || got.ThreadSent != 1 {
		t.Errorf("after the deletion: %+v", got)
	}
}

func TestDeletedMessageOfAClosedIncidentStaysDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"})
	b.pass(0)
	inc, err := b.incidents.IncidentWithJournal(t.Context(), "inc-1")
	if err != nil {
		t.Fatal(err)
	}
	inc.State = incident.StateClosed
	b.incidents.put(inc)
	b.change(2, 5)
	b.notifier.expect(expected{call: "update v2", err: &GoneError{errors.New("message_not_found")}})
	b.pass(time.Second)
	if got := b.pass(time.Hour); got.Sent != 2 || got.ThreadSent != 5 || got.TS != "" {
		t.Errorf("after the deletion: %+v", got)
	}
}

func TestLongThreadIsSentInSeveralTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"})
	var seqs []int64
	for n := int64(1); n <= maxReplies+2; n++ {
		seqs = append(seqs, n)
		if n <= maxReplies {
			b.notifier.expect(expected{call: fmt.Sprint("reply ", n)})
		}
	}
	b.change(1, seqs...)
	if got := b.pass(0); got.Sent != 1 || got.ThreadSent != maxReplies {
		t.Fatalf("after the first turn: %+v", got)
	}
	b.notifier.expect(expected{call: "reply 21"}, expected{call: "reply 22"})
	if got := b.pass(time.Second); got.Sent != 1 || got.ThreadSent != maxReplies+2 {
		t.Errorf("after the second turn: %+v", got)
	}
}

func TestRateLimitInTheThreadDoesNotDrawTheMessageAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"}, expected{call: "reply 1", err: &RateLimitedError{5 * time.Second}})
	b.change(1, 1)
	if got := b.pass(0); got.Sent != 1 || got.ThreadSent != 0 {
		t.Fatalf("after the limit: %+v", got)
	}
	b.notifier.expect(expected{call: "reply 1"})
	if got := b.pass(5*time.Second + giveWay); got.ThreadSent != 1 {
		t.Errorf("after the wait: %+v", got)
	}
}

// When a rate limit ends, what asks people comes before what only tells: they share what Slack allows.
func TestAfterARateLimitWhatAsksComesFirst(t *testing.T) {
	t.Parallel()
	limited := func(asks bool) time.Time {
		b := newBench(t, expected{call: "post v1"})
		b.pass(0)
		b.change(2)
		if asks {
			inc := b.incidents.all["inc-1"]
			inc.State = incident.StateDeciding
			b.incidents.all["inc-1"] = inc
		}
		b.notifier.expect(expected{call: "update v2", err: &RateLimitedError{5 * time.Second}})
		return b.pass(time.Second).NextAt
	}
	if tells, asks := limited(false), limited(true); !asks.Before(tells) {
		t.Errorf("what asks is due at %s, what tells at %s", asks, tells)
	}
}

func TestMessageOfALostIncidentGivesUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.incidents.all = nil
	if got := b.pass(0); !got.GaveUp || got.Refused {
		t.Errorf("row = %+v", got)
	}
}

func TestUnreadableIncidentIsAStoreErrorAndSendsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.incidents.err = errors.New("database is locked")
	if _, err := b.Deliver(t.Context()); err == nil || !strings.Contains(err.Error(), "database is locked") {
		t.Errorf("Deliver = %v", err)
	}
}

func TestReplicaThatLostItsClaimDuringAPostStoresNothing(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	b := newBench(t, expected{call: "post v1", hold: hold})
	done := make(chan error, 1)
	go func() {
		_, err := b.Deliver(t.Context())
		done <- err
	}()
	<-b.notifier.waiting
	b.outbox.steal("inc-1")
	close(hold)
	if err := <-done; err != nil {
		t.Errorf("Deliver = %v", err)
	}
	if got := b.outbox.row(); got.TS != "" || got.IntentAt.IsZero() {
		t.Errorf("the row of the other replica was overwritten: %+v", got)
	}
}

func TestRunSweepsWakesAndReportsABrokenStoreOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, expected{call: "post v1"})
		b.due()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		synctest.Wait()
		if got := b.outbox.row(); got.TS == "" {
			t.Error("the first pass waits for the first sweep")
		}

		b.outbox.mu.Lock()
		b.outbox.broken = errors.New("store is down")
		b.outbox.mu.Unlock()
		time.Sleep(10 * time.Second)
		if n := b.logs.count("store is down"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		b.outbox.mu.Lock()
		b.outbox.broken = nil
		b.outbox.mu.Unlock()

		b.notifier.expect(expected{call: "update v2"})
		b.change(2)
		start := time.Now()
		b.outbox.wake <- struct{}{}
		synctest.Wait()
		if got := b.outbox.row(); got.Sent != 2 || !time.Now().Equal(start) {
			t.Errorf("not delivered at the wake: %+v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestStopLetsACallInFlightFinishButNotForever(t *testing.T) {
	t.Parallel()
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			hold := make(chan struct{})
			b := newBench(t, expected{call: "post v1", hold: hold})
			b.due()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- b.Run(ctx) }()
			<-b.notifier.waiting
			cancel()
			start := time.Now()
			if answers {
				time.Sleep(5 * time.Second)
				close(hold)
			}
			if err := <-done; err != nil {
				t.Errorf("Run = %v", err)
			}
			got, took := b.outbox.row(), time.Since(start)
			switch {
			case answers && (got.TS == "" || got.Sent != 1):
				t.Errorf("the answer was thrown away: %+v", got)
			case !answers && (got.IntentAt.IsZero() || took != b.cfg.Drain):
				t.Errorf("after %s: %+v", took, got)
			}
		})
	}
}
