package remediation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// reverted expects the first step told as reverted, with no verdict and no undo, one write and no lock.
func (b *bench) reverted(id, why string) {
	b.t.Helper()
	inc := b.read(id)
	s, _ := inc.Step("p1-s1")
	if s.State != incident.StepReverted || !strings.Contains(s.Reason, why) || s.Verification != nil {
		b.t.Errorf("the step is %s (%s), verification %+v; want reverted (%s)", s.State, s.Reason, s.Verification, why)
	}
	if inc.Active != nil || inc.UndoOffered != "" || !strings.Contains(said(inc), "Reverted: "+why) {
		b.t.Errorf("active %+v, undo offered for %q, said:\n%s", inc.Active, inc.UndoOffered, said(inc))
	}
	if d := cmp.Diff([]string{"replicas=3"}, b.live.written()); d != "" {
		b.t.Errorf("writes (-want +got):\n%s", d)
	}
	if w := b.writes("llama"); len(w) != 1 || w[0].Result != incident.ResultApplied {
		b.t.Errorf("the ledger has %+v", w)
	}
	b.unlocked()
}

const setBack = "argocd-controller set it back to 2"

func TestAValueThatIsSetBackEndsTheStepWithoutAVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(b *bench) incident.Incident
	}{
		{"after a lost answer", func(b *bench) incident.Incident {
			inc := claimed(b, answer{err: errAway})
			b.live.scale(2)
			b.live.expect("observe")
			b.skip(5 * time.Second)
			b.sweep()
			return inc
		}},
		{"during the rollout", func(b *bench) incident.Incident {
			back := incident.Rollout{State: incident.RolloutFailed, Reversal: &incident.Reversal{
				Value: value(2),
				By:    "argocd-controller",
			}}
			return applied(b, sick(5, addReplica()), answer{rollout: back})
		}},
		{"while settling", func(b *bench) incident.Incident {
			inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
			b.live.scale(2)
			b.pass(30 * time.Second)
			return inc
		}},
		{"at the first reading", func(b *bench) incident.Incident {
			inc := settled(b, sick(5, addReplica()))
			b.live.scale(2)
			b.pass(time.Second)
			return inc
		}},
		{"between two readings", func(b *bench) incident.Incident {
			inc := settled(b, sick(5, addReplica()))
			b.sight.see(sick(8, addReplica()))
			b.pass(time.Second)
			if got := b.read(inc.ID); got.State != incident.StateVerifying || got.Active.WorseInRow != 1 {
				b.t.Fatalf("state %s", got.State)
			}
			b.live.scale(2)
			b.pass(30 * time.Second)
			return inc
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()}, undoing)
			b.reverted(tt.run(b).ID, setBack)
		})
	}
}

// In mode auto nobody asks before the step, and it must not be made a second time either.
func TestPolicyDoesNotFightOverAValue(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas), undoing)
	b.sight.see(sick(5, addReplica()))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.deliver(alert("HighTTFT", "llama"))
	b.pass(2 * time.Minute)
	b.live.scale(2)
	b.pass(30 * time.Second)
	b.reverted(b.open("llama").ID, setBack)
	b.pass(2 * time.Hour)
	if d := cmp.Diff([]string{"replicas=3"}, b.live.written()); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	inc := b.open("llama")
	if tried := inc.Plan.Steps[0].Tried; !strings.Contains(tried, setBack) {
		t.Errorf("people are asked again without a word about it: %q", tried)
	}
}

func TestWhatMovedOnlyBecauseItCannotBeReadDidNotMove(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := settled(b, sick(5, addReplica()))
	b.live.reversalErr = errAway
	b.sight.see(well())
	b.pass(time.Second)
	if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != incident.StepApplied || s.Verification == nil ||
		b.live.reversals == 0 {
		t.Errorf("the step is %s, verification %+v after %d reads", s.State, s.Verification, b.live.reversals)
	}
}

// A verdict that offers or makes an undo waits for a look at the value, and not for ever: set back, the change is not
// what did not help.
func TestABadVerdictWaitsForALookAtTheValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after finding
	}{{"unchanged", sick(5, addReplica())}, {"worse", sick(8, addReplica())}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()}, undoing)
			inc := settled(b, sick(5, addReplica()))
			b.sight.see(tt.after)
			b.live.scale(2)
			b.live.reversalErr = errAway
			b.pass(5*time.Minute + 30*time.Second)
			if got := b.read(inc.ID); got.State != incident.StateVerifying {
				t.Fatalf("the incident is %s while nobody can say whether the change stands", got.State)
			}
			b.live.reversalErr = nil
			b.pass(time.Minute)
			b.reverted(inc.ID, setBack)
		})
	}
	t.Run("it stays unread", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		inc := settled(b, sick(5, addReplica()))
		b.live.reversalErr = errAway
		b.pass(10 * time.Minute)
		s, _ := b.read(inc.ID).Step("p1-s1")
		if v := s.Verification; v == nil || v.Verdict != incident.VerdictUnchanged ||
			!strings.Contains(v.Why, "Could not check whether the change is still in place") {
			t.Errorf("the verification is %+v", v)
		}
	})
}

// The value is looked at all through settling, and not with every sweep.
func TestTheValueIsLookedAtWhileTheSignalsSettle(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
	b.pass(5*time.Minute - time.Second)
	if n := b.live.reversals; n < 9 || n > 11 {
		t.Errorf("%d reads in five minutes, want one each 30 s", n)
	}
}

func TestAMitigationThatIsTakenAwayIsNotUndone(t *testing.T) {
	t.Parallel()
	temporary := throttle()
	temporary.RevertAfter = 10 * time.Minute
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, temporary), rolled(incident.RolloutDone))
	b.sight.see(well())
	b.pass(6 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching || len(got.Mitigations()) != 1 {
		t.Fatalf("state %s with %d mitigations", got.State, len(got.Mitigations()))
	}
	b.live.set(incident.StepThrottle, 64)
	b.pass(2 * time.Minute)
	got := b.read(inc.ID)
	if s, _ := got.Step("p1-s1"); s.State != incident.StepReverted || len(got.Mitigations()) != 0 {
		t.Errorf("the step is %s", s.State)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.pass(10 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed || len(b.live.written()) != 1 {
		t.Errorf("state %s, written %v", got.State, b.live.written())
	}
}

func TestAnUndoWithoutAnAnswerThatWasSetBackIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		nameless bool
		want     incident.StepState
	}{
		{"it can be told", false, incident.StepUndone},
		{"it cannot be told", true, incident.StepApplied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
			b.live.objects[incident.StepReplicas].nameless = tt.nameless
			b.live.expect("do undo", answer{err: errAway})
			if err := b.decide(inc, "p1-s1", incident.Undo); err != nil {
				t.Fatal(err)
			}
			b.sweep()
			b.live.scale(3)
			b.live.expect("observe")
			b.pass(5 * time.Second)
			if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != tt.want || s.UndoUnsure != tt.nameless {
				t.Errorf("the step is %s (%s)", s.State, s.Reason)
			}
			if d := cmp.Diff([]string{"replicas=3", "replicas=2"}, b.live.written()); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
			b.unlocked()
			b.pass(3 * time.Hour)
			if len(b.live.written()) != 2 {
				t.Errorf("written %v", b.live.written())
			}
		})
	}
}

func TestAWriteWithoutAnAnswerIsTriedEverMoreRarelyAndThenGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
	b.sight.see(sick(5, addReplica()))
	b.live.expect("recheck")
	away := errors.New("503 Service Unavailable: <html>\n  <p>no upstream</p>" + strings.Repeat(" x", 400))
	var at []time.Duration
	b.live.expect("do apply", slices.Repeat([]answer{{
		err: away, lost: true,
		then: func() { at = append(at, b.clock().Sub(start)) },
	}}, 6)...)
	b.live.expect("observe", slices.Repeat([]answer{{}}, 6)...)
	b.deliver(alert("HighTTFT", "llama"))
	for open := true; open && b.clock().Before(start.Add(10*time.Minute)); {
		b.skip(time.Second)
		b.sweep()
		w := b.writes("llama")
		open = len(w) == 0 || w[0].Result == ""
	}
	var pauses []time.Duration
	for n := 1; n < len(at); n++ {
		pauses = append(pauses, at[n]-at[n-1])
	}
	if d := cmp.Diff([]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute},
		pauses); d != "" {
		t.Errorf("pauses between the tries (-want +got):\n%s", d)
	}
	inc := b.open("llama")
	s, _ := inc.Step("p1-s1")
	if s.State != incident.StepFailed || !strings.Contains(s.Reason, "gave up after 6 tries") ||
		!strings.Contains(s.Reason, "503 Service Unavailable: <html> <p>no upstream</p>") || len(s.Reason) > 500 {
		t.Errorf("the step is %s (%s)", s.State, s.Reason)
	}
	if n := strings.Count(threaded(inc), "No clear answer"); n != 1 {
		t.Errorf("said %d times in the thread:\n%s", n, threaded(inc))
	}
	if w := b.writes("llama"); len(w) != 1 || w[0].Result != incident.ResultFailed {
		t.Errorf("the ledger has %+v", w)
	}
	b.unlocked()
	// Policy does not begin anew; people are asked, and know.
	b.pass(time.Hour)
	if inc := b.open("llama"); len(b.live.written()) != 0 ||
		!strings.Contains(inc.Plan.Steps[0].Tried, "no clear answer") {
		t.Errorf("written %v, tried %q", b.live.written(), inc.Plan.Steps[0].Tried)
	}
}

// threaded is what the thread says.
func threaded(inc incident.Incident) string {
	inc.Journal = slices.DeleteFunc(slices.Clone(inc.Journal), func(e incident.Entry) bool { return !e.Thread })
	return said(inc)
}

func TestADryRunWithoutAnAnswerIsGivenUpToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeDryRun)})
	inc := b.asked(sick(5, addReplica()))
	b.dryRun.expect("recheck")
	b.dryRun.expect("do apply", slices.Repeat([]answer{{err: errAway}}, 6)...)
	b.approve(inc)
	b.pass(10 * time.Minute)
	if inc := b.read(inc.ID); inc.Active != nil || !strings.Contains(said(inc),
		"gave up after 6 tries without a clear answer; last: connection refused") {
		t.Errorf("active %+v, said:\n%s", inc.Active, said(inc))
	}
}

// Without a look at the object before the write nobody could tell afterwards what became of it: it is not claimed.
func TestAnObjectThatCannotBeLookedAtIsNotWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.markErr = errAway
	b.live.expect("recheck", slices.Repeat([]answer{{}}, 5)...)
	for range 5 {
		b.sweep()
		b.skip(30 * time.Second)
	}
	b.refusedStep(inc.ID, "its object could not be read: connection refused")
	if w := b.writes("llama"); len(w) != 0 {
		t.Errorf("the ledger has %+v", w)
	}
}
