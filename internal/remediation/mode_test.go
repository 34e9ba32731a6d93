package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// history puts a write of earlier on the object of llama's replicas into the ledger, made by an incident that is over.
func history(b *bench, pool string, ago time.Duration) {
	b.t.Helper()
	at := b.clock().Add(-ago)
	old := incident.New("old-"+at.String()+time.Duration(len(b.writes(pool))).String(), "gone", incident.ModeApprove,
		false, at)
	old.State, old.ClosedAt = incident.StateClosed, at
	w := incident.Write{
		ID: old.ID, Incident: old.ID, Step: "p1-s1", Pool: pool, Kind: incident.StepReplicas, Target: "REPLICAS/llm/llama",
		Op: incident.OpApply, StartedAt: at,
	}
	end := w
	end.EndedAt, end.Result = at, incident.ResultApplied
	if err := b.store.Store.Commit(b.t.Context(), incident.Change{Incident: old, Claim: &w, Finish: &end}); err != nil {
		b.t.Fatal(err)
	}
}

func TestADryRunRunsWithoutAWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeDryRun)})
	inc := b.asked(sick(5, addReplica()))
	if !inc.DryRun {
		t.Fatal("mode dry-run opened an incident that is none")
	}
	b.dryRun.expect("recheck")
	b.dryRun.expect("do apply")
	b.approve(inc)
	b.sweep() // the live cluster has no script: a call to it fails the test
	inc = b.read(inc.ID)
	if inc.State != incident.StateWatching || inc.MuteReason != incident.MutedDryRun {
		t.Errorf("state %s, muted for %q", inc.State, inc.MuteReason)
	}
	if v := inc.Plan.Steps[0].Verification; v == nil || v.Verdict != incident.VerdictInconclusive {
		t.Errorf("a dry run verified %+v", v)
	}
	if w := b.writes("llama"); len(w) != 1 || !w[0].DryRun || w[0].Result != incident.ResultDryRun {
		t.Errorf("the ledger has %+v", w)
	}
	if len(b.live.written())+len(b.dryRun.written()) != 0 {
		t.Error("a dry run wrote")
	}
	b.unlocked()
	b.pass(10 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Errorf("the same diagnosis was asked about again after its dry run: %s", got.State)
	}
}

// auto lets policy run kinds of steps.
func auto(kinds ...incident.StepKind) func(*remediation.Config, *remediation.Deps) {
	return func(c *remediation.Config, _ *remediation.Deps) { c.Policy.Automatic = kinds }
}

func TestModeAutoRunsOnlyWhatPolicyAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*remediation.Config, *remediation.Deps)
		mode   incident.Mode
		needs  incident.Needs
		count  int
		runs   bool
	}{
		{name: "allowed", change: auto(incident.StepReplicas), mode: incident.ModeAuto, runs: true},
		{name: "another kind is allowed", change: auto(incident.StepThrottle), mode: incident.ModeAuto},
		{name: "nothing is allowed", change: auto(), mode: incident.ModeAuto},
		{name: "mode approve", change: auto(incident.StepReplicas), mode: incident.ModeApprove},
		{
			name: "it needs a confirmation", change: auto(incident.StepReplicas), mode: incident.ModeAuto,
			needs: incident.Needs{Confirm: true},
		},
		{name: "the pool wants two people", change: auto(incident.StepReplicas), mode: incident.ModeAuto, count: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := inMode(llama(), tt.mode)
			p.Approvers = map[incident.StepKind]incident.Approvers{"": {Users: []string{"U-ADA"}, Count: tt.count}}
			b := newBench(t, []incident.Pool{p}, tt.change)
			b.live.needs[incident.StepReplicas] = tt.needs
			if tt.runs {
				b.live.expect("recheck")
				b.live.expect("do apply")
				b.live.expect("rollout", rolled(incident.RolloutRunning))
			}
			b.sight.see(sick(5, addReplica()))
			b.deliver(alert("HighTTFT", "llama"))
			b.sweep()
			b.pass(5 * time.Second)
			inc := b.open("llama")
			if want := incident.StateSettling; tt.runs && inc.State != want || !tt.runs && inc.State != incident.StateDeciding {
				t.Fatalf("state %s: %s", inc.State, inc.Note)
			}
			if (b.live.value(incident.StepReplicas) == 3) != tt.runs {
				t.Errorf("%d replicas", b.live.value(incident.StepReplicas))
			}
			if tt.runs && (len(inc.Decisions) != 1 || inc.Decisions[0].By.Kind != "policy") {
				t.Errorf("decisions %+v", inc.Decisions)
			}
		})
	}
}

func TestModeObserveNeverActsEvenWhenAStepIsAutomatic(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeObserve)}, auto(incident.StepReplicas))
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(time.Hour)
	inc := b.open("llama")
	if inc.State != incident.StateWatching || len(inc.Decisions) != 0 || len(b.writes("llama")) != 0 {
		t.Errorf("state %s, decisions %v", inc.State, inc.Decisions)
	}
}

// A mode that was made more careful holds for incidents that are open already; one that was made bolder does not.
func TestTheMoreCarefulModeHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)})
	inc := b.asked(sick(5, addReplica()))
	b.restart(inMode(llama(), incident.ModeObserve))
	b.live.expect("recheck")
	b.approve(inc)
	b.sweep()
	if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != incident.StepRefused ||
		!strings.Contains(s.Reason, "mode observe") {
		t.Errorf("step %s: %s", s.State, s.Reason)
	}

	bold := newBench(t, []incident.Pool{llama()})
	inc = bold.asked(sick(5, addReplica()))
	bold.cfg.Policy.Automatic = []incident.StepKind{incident.StepReplicas, incident.StepThrottle}
	bold.restart(inMode(llama(), incident.ModeAuto))
	bold.sight.see(sick(6, throttle()))
	bold.pass(time.Minute)
	if got := bold.read(inc.ID); got.State != incident.StateDeciding || got.Plan.Revision != 2 {
		t.Errorf("an incident of mode approve is %s, plan %d", got.State, got.Plan.Revision)
	}
}

// A dry run is over, the pool goes to mode approve, and the alert fires again within half an hour: now it is real. And
// the other way round.
func TestAnIncidentThatIsOpenedAgainRunsInThePresentMode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, now incident.Mode
		writes      int
	}{
		"from dry run to approve": {incident.ModeDryRun, incident.ModeApprove, 1},
		"from approve to dry run": {incident.ModeApprove, incident.ModeDryRun, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{inMode(llama(), tt.before)})
			b.sight.see(well())
			b.deliver(alert("HighTTFT", "llama"))
			b.sweep()
			b.pass(time.Minute)
			inc := b.open("llama")
			if _, err := b.engine.Act(t.Context(), inc.ID, incident.Closed{By: ada, Reason: "fine"}); err != nil {
				t.Fatal(err)
			}
			b.restart(inMode(llama(), tt.now))
			b.skip(10 * time.Minute)
			again := alert("HighTTFT", "llama")
			again.StartsAt = b.clock()
			b.sight.see(sick(5, addReplica()))
			b.deliver(again)
			b.sweep()
			b.pass(5 * time.Second)
			got := b.open("llama")
			if got.ID != inc.ID || got.DryRun != (tt.now == incident.ModeDryRun) || got.State != incident.StateDeciding {
				t.Fatalf("the incident %s is %s, dry run %t", got.ID, got.State, got.DryRun)
			}
			exec := map[bool]*cluster{true: b.dryRun, false: b.live}[got.DryRun]
			exec.expect("recheck")
			exec.expect("do apply")
			if !got.DryRun {
				exec.expect("rollout", rolled(incident.RolloutRunning))
			}
			b.approve(got)
			b.sweep()
			if n := len(b.live.written()); n != tt.writes {
				t.Errorf("%d writes, want %d", n, tt.writes)
			}
		})
	}
}

// A pool that goes to mode dry-run asks nobody any more about what it would not write.
func TestAnOpenPlanIsOnHoldWhenThePoolGoesToDryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.restart(inMode(llama(), incident.ModeDryRun))
	b.pass(time.Minute)
	got := b.read(inc.ID)
	if s := got.Plan.Steps[0]; got.State != incident.StateWatching || s.State != incident.StepRefused ||
		!strings.Contains(s.Reason, "mode dry-run now") {
		t.Errorf("the incident is %s, its step %s because %q", got.State, s.State, s.Reason)
	}
	b.restart(llama())
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateDeciding {
		t.Errorf("the incident is %s after the pool is back in approve", got.State)
	}
}
