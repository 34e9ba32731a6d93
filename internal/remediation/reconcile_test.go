package remediation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// claimed approves the step and loses the answer of its write.
func claimed(b *bench, a answer) incident.Incident {
	b.t.Helper()
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck")
	b.live.expect("do apply", a)
	b.sweep()
	inc = b.read(inc.ID)
	if inc.State != incident.StateApplying || inc.Active.Phase != incident.PhaseClaimed {
		b.t.Fatalf("state %s, active %+v", inc.State, inc.Active)
	}
	return inc
}

// The bot is started again without a cluster while a write is under way: it says so and waits, and neither claims that
// nothing was written nor fails over and over.
func TestAClaimedWriteWithoutAClusterIsHeldForAPerson(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := claimed(b, answer{err: errAway, lost: true})
	b.deps.Live = nil
	b.restart(llama())
	b.pass(2 * time.Minute)
	got := b.read(inc.ID)
	if got.Active == nil || got.Active.Phase != incident.PhaseClaimed ||
		!strings.Contains(got.Note, "no Kubernetes API is configured") {
		t.Errorf("active %+v, note %q", got.Active, got.Note)
	}
	if n := strings.Count(said(got), "no Kubernetes API is configured"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said(got))
	}
	b.pass(5 * time.Minute)
	if got, err := b.engine.Act(t.Context(), inc.ID, incident.Aborted{By: ada, Reason: "looked"}); err != nil ||
		got.State != incident.StateWatching {
		t.Errorf("the abort: %v, state %s", err, got.State)
	}
}

func TestAnUnknownOutcomeIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answer  answer
		prepare func(*bench)
		state   incident.StepState
		value   int
	}{
		{"it took effect", answer{err: errAway}, func(b *bench) {
			b.live.expect("observe")
			b.live.expect("rollout", rolled(incident.RolloutRunning))
		}, incident.StepApplied, 3},
		{"it did not happen", answer{err: errAway, lost: true}, func(b *bench) {
			b.live.expect("observe")
			b.live.expect("do apply")
			b.live.expect("rollout", rolled(incident.RolloutRunning))
		}, incident.StepApplied, 3},
		{"somebody else changed it", answer{err: errAway, lost: true}, func(b *bench) {
			b.live.scale(9)
			b.live.expect("observe")
		}, incident.StepFailed, 9},
		{"somebody else set the same value", answer{err: errAway, lost: true}, func(b *bench) {
			b.live.scale(3)
			b.live.expect("observe")
		}, incident.StepFailed, 3},
		{"it took effect and was set back", answer{err: errAway}, func(b *bench) {
			b.live.scale(2)
			b.live.expect("observe")
		}, incident.StepReverted, 2},
		{"it took effect and somebody went further", answer{err: errAway}, func(b *bench) {
			b.live.scale(9)
			b.live.expect("observe")
		}, incident.StepReverted, 9},
		{"somebody was there and nobody can tell", answer{err: errAway}, func(b *bench) {
			b.live.objects[incident.StepReplicas].nameless = true
			b.live.scale(2)
			b.live.expect("observe")
		}, incident.StepFailed, 2},
		{"it cannot be looked at", answer{err: errAway, lost: true}, func(b *bench) {
			b.live.expect("observe", answer{err: errAway})
		}, incident.StepApplying, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := claimed(b, tt.answer)
			tt.prepare(b)
			b.skip(5 * time.Second)
			b.sweep()
			if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != tt.state {
				t.Errorf("step %s because %q, want %s", s.State, s.Reason, tt.state)
			}
			if got := b.live.value(incident.StepReplicas); got != tt.value {
				t.Errorf("%d replicas, want %d", got, tt.value)
			}
			if got := b.writes("llama"); len(got) != 1 || (got[0].Result == "") != (tt.state == incident.StepApplying) {
				t.Errorf("the ledger has %+v", got)
			}
		})
	}
}

func TestAnUnknownOutcomeIsNeverForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := claimed(b, answer{err: errAway})
	b.live.expect("observe", slices.Repeat([]answer{{err: errAway}}, 10)...)
	for range 10 {
		b.skip(10 * time.Minute)
		b.sweep()
	}
	got := b.read(inc.ID)
	if got.State != incident.StateApplying || !strings.Contains(got.Note, "may or may not have happened") {
		t.Fatalf("state %s while the outcome is not known: %s", got.State, got.Note)
	}
	if n := len(slices.DeleteFunc(got.Journal,
		func(e incident.Entry) bool { return e.Kind != incident.KindNoted })); n != 1 {
		t.Errorf("the reason for the silence was said %d times", n)
	}
	b.live.expect("observe")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(10 * time.Minute)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateSettling || len(b.live.written()) != 1 {
		t.Errorf("state %s, written %v", got.State, b.live.written())
	}
}

// A person may end the waiting, not at once, and what may stand can be undone.
func TestAPersonMayStopWaitingForAnOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := claimed(b, answer{err: errAway})
	stop := incident.Aborted{By: bob, Reason: "stop"}
	if _, err := b.engine.Act(t.Context(), inc.ID, stop); err == nil {
		t.Error("a write that has just been made was aborted")
	}
	b.skip(5 * time.Minute)
	got, err := b.engine.Act(t.Context(), inc.ID, stop)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := got.Step("p1-s1")
	if got.State != incident.StateWatching || s.State != incident.StepApplied ||
		!strings.Contains(s.Reason, "unknown whether") {
		t.Errorf("%s, the step is %s (%s)", got.State, s.State, s.Reason)
	}
	if w := b.writes("llama"); len(w) != 1 || w[0].Result != incident.ResultUnknown {
		t.Errorf("the ledger has %+v", w)
	}
	b.unlocked()
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	if _, err := b.engine.Decide(t.Context(), inc.ID, incident.Decision{
		Step: "p1-s1", Verb: incident.Undo,
		By: bob,
	}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if v := b.live.value(incident.StepReplicas); v != 2 {
		t.Errorf("%d replicas after the undo", v)
	}
}

// The process ends between the claim and the write. The one that takes over looks before anything else.
func TestACrashAfterTheClaimIsSettledByALook(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck")
	ctx, kill := context.WithCancel(t.Context())
	b.store.onCommit(func(changes []incident.Change) error {
		if !claims(changes[0]) {
			return nil
		}
		err := b.store.Store.Commit(ctx, changes...)
		kill()
		return errors.Join(err, errors.New("killed"))
	})
	if _, err := b.engine.Sweep(ctx); err == nil {
		t.Fatal("the sweep of the killed process did not fail")
	}
	b.store.onCommit(nil)
	b.restart(llama())
	b.live.expect("observe")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(3 * time.Minute) // the lease
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateSettling {
		t.Errorf("state %s", got.State)
	}
	if w, got := b.writes("llama"), b.live.written(); len(w) != 1 || len(got) != 1 {
		t.Errorf("ledger %+v, written %v", w, got)
	}
}

// What was claimed and did not happen is not written under a pause that came later, nor for a diagnosis that does not
// hold any more.
func TestAWriteIsNotRepeatedWhenTheWorldHasMovedOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		after      time.Duration
		prepare    func(*bench)
	}{
		{"paused", "paused for all pools", 5 * time.Second, func(b *bench) { b.pause("") }},
		{
			"mode observe", "mode observe", 5 * time.Second,
			func(b *bench) { b.restart(inMode(llama(), incident.ModeObserve)) },
		},
		{"mode dry-run", "mode dry-run", 5 * time.Second, func(b *bench) { b.restart(inMode(llama(), incident.ModeDryRun)) }},
		{"healthy long after", "metrics are healthy again", time.Hour, func(b *bench) { b.sight.see(well()) }},
		{"blind long after", "the diagnosis no longer holds", time.Hour, func(b *bench) { b.sight.see(blind()) }},
		{"another step long after", "the runbook now asks for another change", time.Hour, func(b *bench) {
			b.sight.see(sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := claimed(b, answer{err: errAway, lost: true})
			tt.prepare(b)
			b.live.expect("observe")
			b.skip(tt.after)
			b.sweep()
			s, _ := b.read(inc.ID).Step("p1-s1")
			if s.State != incident.StepFailed || !strings.Contains(s.Reason, tt.want) {
				t.Errorf("step %s because %q", s.State, s.Reason)
			}
			if got := b.live.written(); len(got) != 0 {
				t.Errorf("written %v", got)
			}
			if w := b.writes("llama"); len(w) != 1 || w[0].Result != incident.ResultFailed {
				t.Errorf("the ledger has %+v", w)
			}
			b.unlocked()
		})
	}
}

func TestAClaimedWriteWaitsWhileThePausesCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := claimed(b, answer{err: errAway, lost: true})
	b.store.ledger = errors.New("locked up")
	b.live.expect("observe", answer{}, answer{})
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.read(inc.ID); got.Active == nil || got.Active.Phase != incident.PhaseClaimed ||
		len(b.live.written()) != 0 {
		t.Errorf("active %+v, written %v", got.Active, b.live.written())
	}
	b.store.ledger = nil
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}

func TestAClaimedWriteWaitsWhileItsStepCannotBeWorkedOutAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := claimed(b, answer{err: errAway, lost: true})
	b.live.refuse[incident.StepReplicas] = errAway
	b.live.expect("observe", answer{}, answer{})
	b.skip(time.Hour)
	b.sweep()
	if got := b.read(inc.ID); got.Active == nil || got.Active.Phase != incident.PhaseClaimed ||
		len(b.live.written()) != 0 {
		t.Errorf("active %+v, written %v", got.Active, b.live.written())
	}
	delete(b.live.refuse, incident.StepReplicas)
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}

func TestALateWriteIsMadeWhileTheDiagnosisHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	claimed(b, answer{err: errAway, lost: true})
	b.live.expect("observe")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(time.Hour)
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}
