package remediation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var errAway = errors.New("connection refused")

// claims says that a change opens a write.
func claims(ch incident.Change) bool { return ch.Claim != nil }

// refusedStep expects the first step refused for the reason, with nothing written and no lock held.
func (b *bench) refusedStep(id, reason string) {
	b.t.Helper()
	const step = "p1-s1"
	inc := b.read(id)
	s, _ := inc.Step(step)
	if s.State != incident.StepRefused || !strings.Contains(s.Reason, reason) {
		b.t.Errorf("step %s is %s because %q, want refused because %q", step, s.State, s.Reason, reason)
	}
	if inc.Active != nil || inc.State.Running() {
		b.t.Errorf("the incident is %s with the active step %+v", inc.State, inc.Active)
	}
	if got := b.live.written(); len(got) != 0 {
		b.t.Errorf("written: %v", got)
	}
	b.unlocked()
}

func TestAnApprovedStepIsWrittenOnceAndRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.approve(inc)
	b.sweep()
	if diff := cmp.Diff([]string{"replicas=3"}, b.live.written()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	w := b.writes("llama")
	if len(w) != 1 || w[0].Result != incident.ResultApplied || w[0].EndedAt.IsZero() || w[0].DryRun ||
		w[0].Op != incident.OpApply {
		t.Errorf("the ledger has %+v", w)
	}
	got := b.read(inc.ID)
	if got.State != incident.StateSettling || got.Plan.Steps[0].State != incident.StepApplied ||
		*got.Active.Before["ttft"].Value != 5 {
		t.Errorf("state %s, step %s, before %v", got.State, got.Plan.Steps[0].State, got.Active.Before)
	}
	if locks, err := b.store.Locks(t.Context()); err != nil || locks["REPLICAS/llm/llama"] != inc.ID {
		t.Errorf("locks %v %v", locks, err)
	}
}

// Two neighbouring causes take turns under load. An approval binds to what is done, so it holds as long as the cause of
// the moment asks for the same change; what it must refuse stands in the table below.
func TestAnApprovalHoldsForAnotherCauseThatAsksForTheSameChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	other := sick(5, throttle(), addReplica())
	other.diagnosis = "something else"
	b.sight.see(other)
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.approve(inc)
	b.sweep()
	if diff := cmp.Diff([]string{"replicas=3"}, b.live.written()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTheCheckBeforeTheWriteRefuses(t *testing.T) {
	t.Parallel()
	other := sick(5, throttle())
	other.diagnosis = "something else"
	more := sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2})
	more.diagnosis = "something bigger"
	for _, tt := range []struct {
		name, want string
		prepare    func(*bench)
	}{
		{"drift", "it was 2 and is 7 now", func(b *bench) {
			b.live.scale(7)
			b.live.expect("recheck")
		}},
		{"a rule of the knob", "an autoscaler owns it", func(b *bench) {
			b.live.expect("recheck", answer{err: &incident.RefusedError{Reason: "an autoscaler owns it"}})
		}},
		{
			"another diagnosis", "the diagnosis no longer holds: now it is It is something else.",
			func(b *bench) { b.sight.see(other) },
		},
		{
			"another diagnosis that asks for more", "the diagnosis no longer holds: now it is It is something bigger.",
			func(b *bench) {
				b.sight.see(more)
				b.live.expect("recheck")
			},
		},
		{
			"the same diagnosis that asks for more", "the runbook now asks for another change: Set replicas to 4",
			func(b *bench) {
				b.sight.see(sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2}))
				b.live.expect("recheck")
			},
		},
		{
			"the same diagnosis that asks for another kind", "It now asks for: Throttle to 50% of the present limit",
			func(b *bench) { b.sight.see(sick(5, throttle())) },
		},
		{
			"the same diagnosis that asks for nothing", "the runbook no longer asks for this step",
			func(b *bench) { b.sight.see(sick(5)) },
		},
		{"the same diagnosis on a healthy pool", "the signals are healthy again", func(b *bench) {
			f := sick(5, addReplica())
			f.healthy = incident.True
			b.sight.see(f)
		}},
		{
			"what can't be proposed any more", "this step can't be proposed any more: at the configured maximum",
			func(b *bench) {
				b.live.refuse[incident.StepReplicas] = &incident.RefusedError{Reason: "at the configured maximum"}
				b.live.expect("recheck")
			},
		},
		{"it is well", "the signals are healthy again", func(b *bench) { b.sight.see(well()) }},
		{"nothing holds", "the diagnosis no longer holds", func(b *bench) { b.sight.see(finding{healthy: incident.False}) }},
		{"paused since", "paused for all pools by slack:U-BOB", func(b *bench) {
			b.pause("")
			b.live.expect("recheck")
		}},
		{"paused at the last moment", "paused for pool llama", func(b *bench) {
			b.live.expect("recheck")
			b.store.once(claims, func() { b.pause("llama") })
		}},
		{"the budget is spent since", "4 of 4 changes", func(b *bench) {
			for range 4 {
				history(b, "llama", 50*time.Minute)
			}
			b.live.expect("recheck")
		}},
		{"another incident has the object", "is being changed by incident inc-other", func(b *bench) {
			lockedByAnother(b)
			b.live.expect("recheck")
		}},
		{"another incident takes the object at the last moment", "is being changed by incident inc-other", func(b *bench) {
			b.live.expect("recheck")
			b.store.once(claims, func() { lockedByAnother(b) })
		}},
		{"the store's ledger", "cannot be read", func(b *bench) {
			b.live.expect("recheck")
			b.store.ledger = errors.New("locked up")
		}},
		{"mode dry-run since", "the pool is in mode dry-run now", func(b *bench) {
			b.restart(inMode(llama(), incident.ModeDryRun))
			b.live.expect("recheck")
		}},
		{"no Kubernetes any more", "no Kubernetes API is configured anymore", func(b *bench) {
			b.deps.Live = nil
			b.restart(llama())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			tt.prepare(b)
			b.sweep()
			b.store.ledger = nil
			for _, w := range b.writes("llama") {
				if w.Incident == inc.ID {
					t.Errorf("a write was claimed: %+v", w)
				}
			}
			if _, err := b.store.OpenWrites(t.Context()); err != nil {
				t.Error(err)
			}
			if tt.want != "is being changed by incident inc-other" {
				b.refusedStep(inc.ID, tt.want)
				return
			}
			s, _ := b.read(inc.ID).Step("p1-s1")
			if s.State != incident.StepRefused || !strings.Contains(s.Reason, tt.want) || len(b.live.written()) != 0 {
				t.Errorf("step %s because %q, written %v", s.State, s.Reason, b.live.written())
			}
			if locks, err := b.store.Locks(t.Context()); err != nil || locks["REPLICAS/llm/llama"] != "inc-other" {
				t.Errorf("the lock of the other incident is gone: %v %v", locks, err)
			}
		})
	}
}

func lockedByAnother(b *bench) {
	b.t.Helper()
	other := incident.New("inc-other", "other", incident.ModeApprove, false, b.clock())
	if err := b.store.Store.Commit(b.t.Context(), incident.Change{
		Incident: other,
		Lock:     "REPLICAS/llm/llama",
	}); err != nil {
		b.t.Error(err)
	}
}

func TestARefusedStepLeavesTheOthersToDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	b.approve(inc)
	b.live.expect("recheck", answer{err: &incident.RefusedError{Reason: "no"}})
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(got.Proposed()) == 0 {
		t.Errorf("state %s", got.State)
	}
}

func TestACheckThatCannotBeMadeIsTriedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want string
		set  func(*bench)
	}{
		{"the API server", "it could not be checked again: connection refused", func(b *bench) {
			b.live.expect("recheck", slices.Repeat([]answer{{err: errAway}}, 5)...)
		}},
		{"Prometheus", "the diagnosis no longer holds: The readings are missing.", func(b *bench) { b.sight.see(blind()) }},
		{"the live value", "it could not be checked again: work the step out again: connection refused", func(b *bench) {
			b.live.expect("recheck", slices.Repeat([]answer{{}}, 5)...)
			b.live.refuse[incident.StepReplicas] = errAway
		}},
		{"a part of the cluster", "the runbook no longer asks for this step", func(b *bench) {
			f := sick(5) // its step has a condition on what could not be read
			f.cluster.Error = "timed out"
			b.sight.see(f)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			tt.set(b)
			for range 4 {
				b.sweep()
				if got := b.read(inc.ID); got.State != incident.StateApplying || got.Active.Phase != incident.PhaseRecheck {
					t.Fatalf("state %s: gave up early", got.State)
				}
				b.skip(30 * time.Second)
			}
			b.sweep()
			b.refusedStep(inc.ID, tt.want)
		})
	}
}

func TestALateCheckThatSucceedsWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck", answer{err: errAway}, answer{})
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.sweep()
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}

func TestAnAnswerThatSaysNoIsFinal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		state  incident.StepState
		result incident.WriteResult
	}{
		{"drift", &incident.DriftError{Why: "the object was replaced"}, incident.StepRefused, incident.ResultDrift},
		{
			"refused", &incident.RefusedError{Reason: "an admission webhook says no"}, incident.StepFailed,
			incident.ResultFailed,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			b.live.expect("recheck")
			b.live.expect("do apply", answer{err: tt.err, lost: true})
			b.sweep()
			got := b.read(inc.ID)
			s, _ := got.Step("p1-s1")
			if s.State != tt.state || !strings.Contains(s.Reason, tt.err.Error()) || got.State != incident.StateWatching {
				t.Errorf("step %s because %q, incident %s", s.State, s.Reason, got.State)
			}
			if w := b.writes("llama"); len(w) != 1 || w[0].Result != tt.result {
				t.Errorf("the ledger has %+v", w)
			}
			b.unlocked()
		})
	}
}

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
		{"healthy long after", "the signals are healthy again", time.Hour, func(b *bench) { b.sight.see(well()) }},
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

func TestATurnWhoseClaimWasTakenChangesAndReportsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck")
	var thief []incident.Claimed
	b.store.once(claims, func() {
		var err error
		if thief, err = b.store.ClaimDue(t.Context(), "bot-2", b.clock().Add(time.Hour), time.Minute, 1); err != nil ||
			len(thief) != 1 {
			t.Errorf("take the claim: %v %v", thief, err)
		}
	})
	b.sweep() // an error would fail; so would a call to do
	got := b.read(inc.ID)
	if got.Version != inc.Version+1 || got.Active.Phase != incident.PhaseRecheck || len(b.writes("llama")) != 0 {
		t.Errorf("version %d, phase %s, writes %v", got.Version, got.Active.Phase, b.writes("llama"))
	}
	if log := b.log.String(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
		t.Errorf("reported:\n%s", log)
	}
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	if err := b.engine.Advance(t.Context(), thief[0]); err != nil {
		t.Fatal(err)
	}
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("the new holder wrote %v", got)
	}
	b.sweep()
}

// Somebody decides during the turn, and the claim is taken as well: the turn was overtaken and has nothing to give
// back.
func TestAnOvertakenTurnWithoutItsClaimReportsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.skip(time.Minute)
	b.sight.during = func() {
		if err := b.decide(inc, "p1-s1", incident.Deny); err != nil {
			t.Error(err)
		}
		if _, err := b.engine.Act(t.Context(), inc.ID, incident.Closed{By: bob, Reason: "done"}); err != nil {
			t.Error(err)
		}
		deliverAgain(b)
		if c, err := b.store.ClaimDue(t.Context(), "bot-2", b.clock().Add(time.Hour), time.Minute, 1); err != nil ||
			len(c) != 1 {
			t.Errorf("take the claim: %v %v", c, err)
		}
	}
	b.sweep()
}

// deliverAgain keeps the incident closed and brings a line to its journal.
func deliverAgain(b *bench) {
	b.t.Helper()
	if _, err := b.engine.Act(b.t.Context(), b.all()[0].ID,
		incident.AlertsReceived{Alerts: []incident.Alert{resolved(alert("HighTTFT", "llama"), b.clock())}}); err != nil {
		b.t.Error(err)
	}
}
