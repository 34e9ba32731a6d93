package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// The bot takes nothing back by itself in a mode in which it writes nothing by itself; a person may.
func TestAMoreCarefulModeHoldsTheMitigation(t *testing.T) {
	t.Parallel()
	for _, mode := range []incident.Mode{incident.ModeObserve, incident.ModeDryRun} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := recovered(b, mitigation())
			b.restart(inMode(llama(), mode))
			b.pass(10 * time.Minute)
			lines := len(b.read(inc.ID).Journal)
			b.pass(time.Hour)
			got := b.read(inc.ID)
			if got.State != incident.StateWatching || b.live.value(incident.StepThrottle) != 32 {
				t.Errorf("in mode %s: %s, throttle %d", mode, got.State, b.live.value(incident.StepThrottle))
			}
			if len(got.Journal) != lines {
				t.Errorf("%d lines in an hour of waiting", len(got.Journal)-lines)
			}
		})
	}
}

func TestAPersonMayTakeBackInObserve(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	b.restart(inMode(llama(), incident.ModeObserve))
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	if _, err := b.engine.Decide(t.Context(), inc.ID, incident.Decision{
		Step: "p1-s1", Verb: incident.Undo,
		By: ada,
	}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if got := b.live.value(incident.StepThrottle); got != 64 {
		t.Errorf("throttle %d after the undo", got)
	}
}

// A refused undo neither ends the incident on an active throttle nor is tried in every investigation.
func TestARefusedUndoIsTriedEverMoreRarely(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, mitigation())
	no := answer{err: &incident.RefusedError{Reason: "the bot may not patch"}, lost: true}
	b.live.expect("do undo", no, no, no, no)
	b.pass(10*time.Minute + 5*time.Minute + 10*time.Minute + 20*time.Minute + 2*time.Minute)
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || !strings.Contains(got.Note, "still at 32") {
		t.Fatalf("%s: %s", got.State, got.Note)
	}
	if left := b.live.left("do undo"); left != 0 {
		t.Fatalf("%d of four tries are left after the time for them", left)
	}
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.pass(41 * time.Minute)
	if got := b.live.value(incident.StepThrottle); got != 64 {
		t.Errorf("throttle %d after the right came back", got)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.pass(10 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("the incident is %s", got.State)
	}
}

// What a person took back, policy does not put there again.
func TestAutoDoesNotRepeatWhatAPersonUndid(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)},
		func(c *remediation.Config, _ *remediation.Deps) {
			c.Policy.Automatic = []incident.StepKind{incident.StepThrottle}
			c.Policy.CoolDown = 0
		})
	b.sight.see(sick(5, throttle()))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	b.sweep()
	inc := b.open("llama")
	if got := b.live.value(incident.StepThrottle); got != 32 {
		t.Fatalf("policy did not throttle: %d, %s %s", got, inc.State, inc.Note)
	}
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	if _, err := b.engine.Decide(t.Context(), inc.ID, incident.Decision{
		Step: inc.Active.Step, Verb: incident.Undo,
		By: ada,
	}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.pass(15 * time.Minute)
	got := b.read(inc.ID)
	if diff := cmp.Diff([]string{"throttle=32", "throttle=64"}, b.live.written()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got.State != incident.StateDeciding || !strings.Contains(got.Plan.Steps[0].Tried, "rolled back by slack:U-ADA") {
		t.Errorf("%s, tried %q: people are asked, and told", got.State, got.Plan.Steps[0].Tried)
	}
}

func TestAlertsFindTheirPoolWhenTheAPIServerIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	const where = "10.0.0.1:8000"
	b.sight.owned(where, ownersAnswer{err: errSilent})
	a := alert("HighTTFT", "")
	delete(a.Labels, "model_name")
	a.Labels["instance"] = where
	b.deliver(a)
	for range 5 {
		b.sweep()
		b.skip(5 * time.Second)
	}
	stray := b.open("")
	b.sight.owned(where, ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.sight.see(sick(5, addReplica()))
	b.pass(2 * time.Minute)
	if got := b.open("llama"); len(got.Alerts) != 1 || got.State != incident.StateDeciding {
		t.Errorf("the pool's incident has %d alerts and is %s", len(got.Alerts), got.State)
	}
	if got := b.read(stray.ID); got.State != incident.StateClosed || len(got.Alerts) != 0 {
		t.Errorf("the incident without a pool is %s with %d alerts", got.State, len(got.Alerts))
	}
}

// Alerts of one delivery wait once for an API server that does not answer.
func TestAnAPIServerThatIsAwayIsAskedOnceForADelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	var alerts []incident.Alert
	for _, where := range []string{"10.0.0.1:8000", "10.0.0.2:8000"} {
		b.sight.owned(where, ownersAnswer{err: errSilent})
		a := alert("HighTTFT", where)
		delete(a.Labels, "model_name")
		a.Labels["instance"] = where
		alerts = append(alerts, a)
	}
	b.deliver(alerts...)
	for range 4 {
		b.sweep()
		b.skip(5 * time.Second)
	}
	if first, second := b.sight.asked("10.0.0.1:8000"), b.sight.asked("10.0.0.2:8000"); first != 4 || second != 0 {
		t.Errorf("asked %d and %d times in four tries", first, second)
	}
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.sight.owned("10.0.0.2:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.sweep()
	if got := b.open("llama"); len(got.Alerts) != 2 {
		t.Errorf("%d alerts in the pool's incident", len(got.Alerts))
	}
}

func TestAPoolThatIsGoneIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	inc := recovered(b, mitigation())
	b.restart(qwen())
	b.pass(time.Hour)
	got := b.read(inc.ID)
	if !strings.Contains(got.Note, "no longer configured") || !strings.Contains(got.Note, "Still in place, not reverted") {
		t.Errorf("the note is %q", got.Note)
	}
	said := 0
	for _, e := range got.Journal {
		if strings.Contains(e.Text, "no longer configured") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}
