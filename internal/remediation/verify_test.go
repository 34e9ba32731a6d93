package remediation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// settled brings llama's incident to just before the first reading after its step.
func settled(b *bench, f finding) incident.Incident {
	b.t.Helper()
	inc := applied(b, f, rolled(incident.RolloutDone))
	b.skip(5*time.Minute - time.Second)
	b.sweep()
	return b.read(inc.ID)
}

func TestTheVerdictFollowsFromTheReadings(t *testing.T) {
	t.Parallel()
	still := func(v float64) finding { return sick(v, addReplica()) }
	for _, tt := range []struct {
		name    string
		after   finding
		want    incident.Verdict
		wait    time.Duration // from the first reading to the final one
		offered bool
		state   incident.State
	}{
		{"recovered at once", well(), incident.VerdictRecovered, 0, false, incident.StateWatching},
		{"worse in a row of two", still(8), incident.VerdictWorse, 30 * time.Second, true, incident.StateDeciding},
		{
			"unchanged when the time is up", still(5.1), incident.VerdictUnchanged, 5 * time.Minute, true,
			incident.StateDeciding,
		},
		{"improved when the time is up", still(2), incident.VerdictImproved, 5 * time.Minute, false, incident.StateDeciding},
		{
			"not recovered while what was asked about is beyond its limit",
			finding{healthy: incident.True, ttft: new(2.0)},
			incident.VerdictImproved, 5 * time.Minute, false, incident.StateDeciding,
		},
		{"no data is inconclusive", blind(), incident.VerdictInconclusive, 5 * time.Minute, false, incident.StateDeciding},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := settled(b, sick(5, addReplica()))
			b.sight.see(tt.after)
			b.skip(time.Second)
			b.sweep()
			if tt.wait > 0 {
				if got := b.read(inc.ID); got.State != incident.StateVerifying || got.Active.Readings != 1 {
					t.Fatalf("state %s after the first reading", got.State)
				}
				b.pass(tt.wait - time.Second)
				if got := b.read(inc.ID); got.State != incident.StateVerifying {
					t.Fatalf("state %s a second before the end", got.State)
				}
				b.skip(time.Second)
				b.sweep()
			}
			inc = b.read(inc.ID)
			v := inc.Plan.Steps[0].Verification
			if v == nil || v.Verdict != tt.want || v.Why == "" {
				t.Fatalf("verification %+v", v)
			}
			if inc.State != tt.state || (inc.UndoOffered == "p1-s1") != tt.offered {
				t.Errorf("state %s, undo offered for %q", inc.State, inc.UndoOffered)
			}
			if *v.Before["ttft"].Value != 5 {
				t.Errorf("before %v", v.Before)
			}
			if diff := cmp.Diff(tt.after.ttft, v.After["ttft"].Value); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			if got := b.live.written(); len(got) != 1 {
				t.Errorf("written %v", got)
			}
			b.unlocked()
		})
	}
}

// Load that rises makes the readings worse whatever was added. Capacity that is in use is kept then, and more proposed;
// what adds nothing, or isn't asked for any more, is offered to be taken back as ever.
func TestCapacityThatIsInUseIsNotTakenBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		step   incident.StepRequest
		before float64
		after  finding
		want   incident.Verdict
	}{
		"more work, and still too little": {
			addReplica(), 1000, sick(8, addReplica()).doing(1400), incident.VerdictNotEnough,
		},
		"no more work than before":  {addReplica(), 1000, sick(8, addReplica()).doing(1050), incident.VerdictWorse},
		"another step is asked for": {addReplica(), 1000, sick(8, throttle()).doing(1400), incident.VerdictWorse},
		"a throttle":                {throttle(), 1000, sick(8, throttle()).doing(1400), incident.VerdictWorse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := settled(b, sick(5, tt.step).doing(tt.before))
			b.sight.see(tt.after)
			b.skip(time.Second)
			b.sweep()
			if got := b.read(inc.ID); got.State != incident.StateVerifying {
				t.Fatalf("state %s after one reading", got.State)
			}
			b.skip(30 * time.Second)
			b.sweep()
			got := b.read(inc.ID)
			i := slices.IndexFunc(got.Plan.Steps, func(s incident.Step) bool { return s.Verification != nil })
			if i < 0 || got.Plan.Steps[i].Verification.Verdict != tt.want {
				t.Fatalf("state %s, steps %+v", got.State, got.Plan.Steps)
			}
			if kept := tt.want == incident.VerdictNotEnough; got.State != incident.StateDeciding ||
				kept != (got.UndoOffered == "") {
				t.Errorf("state %s, undo of %q offered", got.State, got.UndoOffered)
			}
		})
	}
}

func TestOneWorseReadingIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, undoing)
	inc := settled(b, sick(5, addReplica()))
	for n := range 6 { // worse, unchanged, worse, ...
		b.sight.see(sick([]float64{8, 5}[n%2], addReplica()))
		b.skip(30 * time.Second)
		b.sweep()
		if got := b.read(inc.ID); got.State != incident.StateVerifying {
			t.Fatalf("state %s after reading %d", got.State, n+1)
		}
	}
	b.sight.see(well())
	b.skip(30 * time.Second)
	b.sweep()
	if got := b.read(inc.ID); got.Plan.Steps[0].Verification.Verdict != incident.VerdictRecovered {
		t.Errorf("verdict %+v", got.Plan.Steps[0].Verification)
	}
}

// Whoever wakes the bot between two readings makes no second one: it would see the same samples.
func TestAWakeUpMakesNoSecondReading(t *testing.T) {
	t.Parallel()
	wake := map[string]func(*bench, incident.Incident) error{
		"a person who has seen it": func(b *bench, inc incident.Incident) error {
			_, err := b.engine.Act(b.t.Context(), inc.ID, incident.Acked{By: ada})
			return err
		},
		"an alert": func(b *bench, inc incident.Incident) error {
			late := alert("QueueBuildUp", "llama")
			late.SeenAt = b.clock()
			_, err := b.engine.Act(b.t.Context(), inc.ID, incident.AlertsReceived{Alerts: []incident.Alert{late}})
			return err
		},
	}
	for name, wake := range wake {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()}, undoing)
			inc := settled(b, sick(5, addReplica()))
			b.sight.see(sick(8, addReplica()))
			b.skip(time.Second)
			b.sweep()
			for range 3 {
				if err := wake(b, inc); err != nil {
					t.Fatal(err)
				}
				b.skip(5 * time.Second)
				b.sweep()
			}
			if got := b.read(inc.ID); got.State != incident.StateVerifying || got.Active.Readings != 1 {
				t.Fatalf("the incident is %s, active %+v: it was read again", got.State, got.Active)
			}
			b.live.expect("do undo")
			b.live.expect("rollout", rolled(incident.RolloutRunning))
			b.skip(15 * time.Second)
			b.sweep()
			if got := b.read(inc.ID); got.State != incident.StateUndoing || len(b.live.written()) != 2 {
				t.Errorf("the incident is %s after the second reading, written %v", got.State, b.live.written())
			}
		})
	}
}

// Prometheus scrapes more rarely than the bot reads: worse twice from one sample is worse once.
func TestTheSameSampleDoesNotConfirmItself(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, undoing)
	inc := settled(b, sick(5, addReplica()))
	worse := sick(8, addReplica())
	worse.sampled = b.clock()
	b.sight.see(worse)
	b.skip(time.Second)
	b.sweep()
	for range 3 {
		b.skip(30 * time.Second)
		b.sweep()
	}
	if got := b.read(inc.ID); got.State != incident.StateVerifying || got.Active.WorseInRow != 1 {
		t.Fatalf("the incident is %s, active %+v", got.State, got.Active)
	}
	newer := worse
	newer.sampled = b.clock()
	b.sight.see(newer)
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(30 * time.Second)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateUndoing {
		t.Errorf("the incident is %s after a newer sample", got.State)
	}
}

// A reading without data between two worse ones breaks the row: it says nothing either way.
func TestMissingDataBreaksTheRow(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, undoing)
	inc := settled(b, sick(5, addReplica()))
	for _, f := range []finding{sick(8, addReplica()), blind(), sick(8, addReplica())} {
		b.sight.see(f)
		b.skip(30 * time.Second)
		b.sweep()
	}
	if got := b.read(inc.ID); got.State != incident.StateVerifying {
		t.Errorf("state %s", got.State)
	}
}

func undoing(c *remediation.Config, _ *remediation.Deps) { c.Policy.AutomaticUndo = true }

func TestPolicyUndoesWhatDidNotHelp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after float64
		wait  time.Duration
	}{{"worse", 8, 30 * time.Second}, {"unchanged", 5, 5 * time.Minute}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()}, undoing)
			inc := settled(b, sick(5, addReplica()))
			b.live.expect("do undo")
			b.live.expect("rollout", rolled(incident.RolloutDone))
			b.sight.see(sick(tt.after, addReplica()))
			b.pass(time.Second)
			b.pass(tt.wait)
			if diff := cmp.Diff([]string{"replicas=3", "replicas=2"}, b.live.written()); diff != "" {
				t.Fatalf("writes (-want +got):\n%s", diff)
			}
			w := b.writes("llama")
			if n := slices.IndexFunc(w, func(w incident.Write) bool { return w.Op == incident.OpUndo }); n < 0 ||
				w[n].Result != incident.ResultApplied {
				t.Errorf("the ledger has %+v", w)
			}
			inc = b.read(inc.ID)
			if s, _ := inc.Step("p1-s1"); s.State != incident.StepUndone {
				t.Errorf("step %s", s.State)
			}
			b.unlocked()
		})
	}
}

// Pause and drift stop an undo too; cool-down and budget do not.
func TestAnUndoIsStoppedByPauseAndDriftOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(*bench)
		state   incident.StepState
		value   int
	}{
		{"the budget is spent", func(b *bench) {
			for range 4 {
				history(b, "llama", 10*time.Minute)
			}
			b.live.expect("do undo")
			b.live.expect("rollout", rolled(incident.RolloutDone))
		}, incident.StepUndone, 2},
		{"paused", func(b *bench) { b.pause("") }, incident.StepApplied, 3},
		{"the store's pauses", func(b *bench) { b.store.ledger = errAway }, incident.StepApplied, 3},
		{"somebody changed it", func(b *bench) {
			b.live.scale(6)
			b.live.expect("do undo")
		}, incident.StepFailed, 6},
		{"dry run since", func(b *bench) { b.restart(inMode(llama(), incident.ModeDryRun)) }, incident.StepApplied, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
			if err := b.decide(inc, "p1-s1", incident.Undo); err != nil {
				t.Fatal(err)
			}
			tt.prepare(b)
			b.sweep()
			b.store.ledger = nil
			inc = b.read(inc.ID)
			if s, _ := inc.Step("p1-s1"); s.State != tt.state || b.live.value(incident.StepReplicas) != tt.value {
				t.Errorf("step %s, %d replicas", s.State, b.live.value(incident.StepReplicas))
			}
			if inc.Active != nil || inc.State != incident.StateWatching {
				t.Errorf("state %s, active %+v", inc.State, inc.Active)
			}
			b.unlocked()
		})
	}
}

// An undo whose answer was lost waits under a pause and is made when that ends: what it restores still stands.
func TestAClaimedUndoWaitsForThePauseToEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
	if err := b.decide(inc, "p1-s1", incident.Undo); err != nil {
		t.Fatal(err)
	}
	b.live.expect("do undo", answer{err: errAway, lost: true})
	b.sweep()
	b.pause("llama")
	b.live.expect("observe")
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateUndoing || b.live.value(incident.StepReplicas) != 3 {
		t.Fatalf("state %s, %d replicas", got.State, b.live.value(incident.StepReplicas))
	}
	b.resume("llama")
	b.live.expect("observe")
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	b.skip(time.Minute)
	b.sweep()
	if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != incident.StepUndone || b.live.value(incident.StepReplicas) != 2 {
		t.Errorf("step %s, %d replicas", s.State, b.live.value(incident.StepReplicas))
	}
}

func TestTheNextStepIsAskedAboutAfterOneThatDidNotSuffice(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := settled(b, sick(5, addReplica(), throttle()))
	b.sight.see(sick(2, addReplica(), throttle()))
	b.pass(time.Second)
	b.pass(5 * time.Minute)
	got := b.read(inc.ID)
	if got.State != incident.StateDeciding || len(got.Proposed()) == 0 || !got.Plan.ExpiresAt.After(b.clock()) {
		t.Fatalf("state %s, %d proposed, expires %s", got.State, len(got.Proposed()), got.Plan.ExpiresAt)
	}
	b.pass(time.Minute) // the investigation works the plan out from what is true now
	got = b.read(inc.ID)
	if len(got.Applied()) != 1 {
		t.Errorf("the applied step is lost: %+v", got.AppliedEarlier)
	}
	b.pass(30 * time.Minute)
	if got = b.read(inc.ID); got.MuteReason != incident.MutedExpired {
		t.Errorf("state %s, muted for %q after the time", got.State, got.MuteReason)
	}
}

func TestPolicyDoesNotRepeatWhatItHasUndone(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, undoing, auto(incident.StepReplicas))
	b.sight.see(sick(5, addReplica()))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone), rolled(incident.RolloutDone))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(time.Hour) // settles, is unchanged, is undone; the cool-down passes
	if diff := cmp.Diff([]string{"replicas=3", "replicas=2"}, b.live.written()); diff != "" {
		t.Fatalf("writes (-want +got):\n%s", diff)
	}
	inc := b.open("llama")
	for _, s := range inc.Proposed() {
		if s.Tried == "" {
			t.Errorf("step %s does not say that it was tried", s.ID)
		}
	}
	for _, d := range inc.Decisions {
		if d.By.Kind != "policy" || d.Step != "p1-s1" {
			t.Errorf("decision %+v", d)
		}
	}
}
