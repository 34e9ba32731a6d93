package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// mitigation is a throttle that is undone after ten healthy minutes.
func mitigation() incident.StepRequest {
	s := throttle()
	s.RevertAfter = 10 * time.Minute
	return s
}

func TestAMitigationIsUndoneAfterItsTimeAndThenTheIncidentCloses(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.pass(9 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching || b.live.value(incident.StepThrottle) != 32 {
		t.Fatalf("state %s, throttle %d before its time", got.State, b.live.value(incident.StepThrottle))
	}
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.Closed{By: ada, Reason: "fine"}); err == nil {
		t.Error("a person closed it while the mitigation is active")
	}
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.pass(2 * time.Minute)
	if diff := cmp.Diff([]string{"throttle=32", "throttle=64"}, b.live.written()); diff != "" {
		t.Fatalf("writes (-want +got):\n%s", diff)
	}
	if got := b.read(inc.ID); got.State != incident.StateWatching || got.Plan.Steps[0].State != incident.StepUndone {
		t.Errorf("state %s, step %s: it must hold without the mitigation first", got.State, got.Plan.Steps[0].State)
	}
	b.pass(8 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s", got.State)
	}
	b.unlocked()
}

func TestAPauseHoldsTheMitigation(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	b.pause("llama")
	b.pass(time.Hour)
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || b.live.value(incident.StepThrottle) != 32 || len(b.writes("llama")) != 1 {
		t.Fatalf("state %s, throttle %d, writes %+v", got.State, b.live.value(incident.StepThrottle), b.writes("llama"))
	}
	lines := len(got.Journal)
	b.pass(10 * time.Minute)
	if n := len(b.read(inc.ID).Journal); n != lines {
		t.Errorf("%d journal lines while it waits, %d before: it must wait quietly", n, lines)
	}
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.resume("llama")
	b.pass(2 * time.Minute)
	if got := b.live.value(incident.StepThrottle); got != 64 {
		t.Errorf("throttle %d after the pause", got)
	}
}

// A later step changed the mitigation's value. The mitigation waits for a person to roll that step back, says so once,
// and holds no other mitigation.
func TestAMitigationUnderALaterStepWaitsQuietly(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	scale := addReplica()
	scale.RevertAfter = 10 * time.Minute
	inc := b.asked(sick(9, scale))
	b.runs("p1-s1", sick(7, mitigation()))
	b.pass(15 * time.Minute) // settles, is verified, and the next step is asked about
	b.runs("p2-s1", sick(5, throttle()))
	b.pass(15 * time.Minute)
	b.runs("p3-s1", well())
	b.pass(6 * time.Minute)
	if diff := cmp.Diff([]string{"replicas=3", "throttle=32", "throttle=16"}, b.live.written()); diff != "" {
		t.Fatalf("writes (-want +got):\n%s", diff)
	}
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.pass(30 * time.Minute)
	if got := b.live.written(); got[len(got)-1] != "replicas=2" {
		t.Fatalf("written %v: the mitigation that no later step changed was not undone", got)
	}
	got := b.read(inc.ID)
	const why = "Set throttle to 32 stays in place for now: " +
		"a later step changed the same value (Set throttle to 16); roll that one back first."
	if got.State != incident.StateWatching || got.Note != why || strings.Count(said(got), why) != 1 {
		t.Errorf("state %s, note %q, said:\n%s", got.State, got.Note, said(got))
	}
	if log := b.log.String(); strings.Contains(log, "ERROR") || strings.Contains(log, "WARN") {
		t.Errorf("reported:\n%s", log)
	}
	b.live.expect("do undo", answer{}, answer{})
	b.live.expect("rollout", rolled(incident.RolloutDone), rolled(incident.RolloutDone))
	if _, err := b.engine.Decide(t.Context(), inc.ID, incident.Decision{
		Step: "p3-s1", Verb: incident.Undo,
		By: ada,
	}); err != nil {
		t.Fatal(err)
	}
	b.pass(15 * time.Minute)
	if got := b.live.value(incident.StepThrottle); got != 64 {
		t.Errorf("throttle %d after the later step was rolled back", got)
	}
}

// runs has a step approved and written. What is seen from then on follows.
func (b *bench) runs(step string, after finding) {
	b.t.Helper()
	if err := b.decide(b.open("llama"), step, incident.Approve); err != nil {
		b.t.Fatal(err)
	}
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.sweep()
	b.sight.see(after)
}

func TestAMitigationStaysWhileNothingCanBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sight.see(blind())
	b.pass(30 * time.Minute)
	b.skip(48 * time.Hour)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateWatching || b.live.value(incident.StepThrottle) != 32 {
		t.Errorf("state %s, throttle %d", got.State, b.live.value(incident.StepThrottle))
	}
}

// What the API server does not take back still stands: it is tried again, ever more rarely, and the incident does not
// end before.
func TestAMitigationWhoseUndoIsRefusedKeepsTheIncidentOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	no := answer{err: &incident.RefusedError{Reason: "an admission webhook says no"}, lost: true}
	b.live.expect("do undo", no)
	b.pass(11 * time.Minute)
	got := b.read(inc.ID)
	if s := got.Plan.Steps[0]; got.State != incident.StateWatching || s.State != incident.StepApplied ||
		!strings.Contains(s.Reason, "admission webhook") {
		t.Fatalf("state %s, step %s because %q", got.State, s.State, s.Reason)
	}
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.Closed{By: ada, Reason: "fine"}); err == nil {
		t.Error("a person closed it while the mitigation is active")
	}
	b.unlocked()
	b.pass(3 * time.Minute) // not yet: a call would fail the test
	b.live.expect("do undo", no)
	b.pass(5 * time.Minute)
	b.pass(4 * time.Minute) // the pause has doubled
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.pass(20 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed || b.live.value(incident.StepThrottle) != 64 {
		t.Errorf("state %s, throttle %d", got.State, b.live.value(incident.StepThrottle))
	}
}
