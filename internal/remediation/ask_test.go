package remediation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// guard is what the guardrail of this name says of a step.
func guard(t testing.TB, s incident.Step, name string) incident.Guardrail {
	t.Helper()
	n := slices.IndexFunc(s.Guardrails, func(g incident.Guardrail) bool { return g.Name == name })
	if n < 0 {
		t.Fatalf("step %s has no guardrail %s: %+v", s.ID, name, s.Guardrails)
	}
	return s.Guardrails[n]
}

func TestAPlanFollowsFromTheDiagnosis(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	manual := incident.StepRequest{Kind: incident.StepManual, Advice: "Look at the gateway.", Why: "clients give up"}
	inc := b.asked(sick(5, throttle(), addReplica(), manual))
	if inc.Diagnosis == nil || inc.Diagnosis.Name != "overload" || len(inc.Plan.Steps) != 3 {
		t.Fatalf("diagnosis %+v, plan %+v", inc.Diagnosis, inc.Plan)
	}
	first, last := inc.Plan.Steps[0], inc.Plan.Steps[2]
	if first.Kind != incident.StepThrottle || first.From.Text != "64" || first.To.Text != "32" ||
		first.Undo.Text != "64" || first.State != incident.StepProposed {
		t.Errorf("first step %+v", first)
	}
	if last.Title != "Look at the gateway." || last.Executable() || last.Target != (incident.Target{}) {
		t.Errorf("the step for a person %+v", last)
	}
	if want := inc.ReadAt; want.IsZero() || inc.Plan.Digest != inc.Plan.ComputeDigest() ||
		first.Digest != first.ComputeDigest() {
		t.Error("the plan's digest is not that of its steps")
	}
	if got := inc.Plan.ExpiresAt.Sub(b.clock()); got != 30*time.Minute {
		t.Errorf("asked for %s, the pool says 30 min", got)
	}
	if len(b.writes("llama")) != 0 {
		t.Error("asking has claimed a write")
	}
}

func TestAStepThatCannotBeProposedStaysVisibleWithItsReason(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.live.refuse[incident.StepThrottle] = &incident.RefusedError{
		Reason: "there is no BackendTrafficPolicy",
		Hint:   "apiVersion: gateway",
	}
	b.live.refuse[incident.StepMaxNumBatchedTokens] = errors.New("the API server is away")
	tokens := incident.StepRequest{Kind: incident.StepMaxNumBatchedTokens, Factor: 0.5}
	inc := b.asked(sick(5, throttle(), tokens, addReplica()))
	for n, want := range []struct {
		state        incident.StepState
		reason, hint string
	}{
		{incident.StepRefused, "there is no BackendTrafficPolicy", "apiVersion: gateway"},
		{incident.StepRefused, "could not be read: the API server is away", ""},
		{incident.StepProposed, "", ""},
	} {
		s := inc.Plan.Steps[n]
		if s.State != want.state || s.Reason != want.reason || s.Diff != want.hint || s.Title == "" {
			t.Errorf("step %d is %s because %q, hint %q, title %q", n, s.State, s.Reason, s.Diff, s.Title)
		}
	}
	err := b.decide(inc, "p1-s1", incident.Approve)
	if refusal(t, err); !strings.Contains(err.Error(), "BackendTrafficPolicy") {
		t.Errorf("the answer to an approval of a refused step: %v", err)
	}
}

// refusal fails unless the error is one whose sentence a person may read.
func refusal(t testing.TB, err error) {
	t.Helper()
	if _, ok := errors.AsType[*incident.RefusedError](err); !ok {
		t.Fatalf("not refused: %v", err)
	}
}

func TestWithoutKubernetesEveryStepSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, func(_ *remediation.Config, d *remediation.Deps) { d.Live = nil })
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	inc := b.open("llama")
	if inc.State != incident.StateWatching || inc.Plan.Steps[0].State != incident.StepRefused ||
		!strings.Contains(inc.Plan.Steps[0].Reason, "no Kubernetes") {
		t.Errorf("state %s, step %+v", inc.State, inc.Plan.Steps[0])
	}
}

func TestEveryGuardrailThatRefusesSaysWhy(t *testing.T) {
	t.Parallel()
	done := func(n int, ago time.Duration) func(*bench) {
		return func(b *bench) {
			for range n {
				history(b, "llama", ago)
			}
		}
	}
	for _, tt := range []struct {
		name, guard, reason string
		prepare             func(*bench)
		pool                incident.Pool
	}{
		{"cool-down", "cool-down", "the next change is allowed in 5 min", done(1, 5*time.Minute-5*time.Second), llama()},
		{"hourly budget", "budget", "4 of 4 changes in the last hour", done(4, 30*time.Minute), llama()},
		{"daily budget", "budget", "12 of 12 changes in the last day", done(12, 5*time.Hour), llama()},
		{
			"pause of everything", "pause", "paused for all pools by slack:U-BOB: maintenance", func(b *bench) { b.pause("") },
			llama(),
		},
		{"pause of the pool", "pause", "paused for pool llama", func(b *bench) { b.pause("llama") }, llama()},
		{"observe", "mode", "mode observe", func(*bench) {}, inMode(llama(), incident.ModeObserve)},
		{"an unknown mode", "mode", `"yolo" is not known`, func(*bench) {}, inMode(llama(), "yolo")},
		{
			"the store", "lock", "cannot be read from the store: locked up",
			func(b *bench) { b.store.ledger = errors.New("locked up") }, llama(),
		},
		{
			"the store's pauses", "pause", "cannot be read from the store: locked up",
			func(b *bench) { b.store.ledger = errors.New("locked up") }, llama(),
		},
		{
			"the store's history", "budget", "history of writes cannot be read",
			func(b *bench) { b.store.ledger = errors.New("locked up") }, llama(),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{tt.pool})
			tt.prepare(b)
			b.sight.see(sick(5, addReplica()))
			b.deliver(alert("HighTTFT", "llama"))
			b.sweep()
			b.pass(5 * time.Second)
			inc := b.open("llama")
			s := inc.Plan.Steps[0]
			if g := guard(t, s, tt.guard); g.Verdict != incident.GuardRefuse || !strings.Contains(g.Reason, tt.reason) {
				t.Errorf("%s says %s: %s", tt.guard, g.Verdict, g.Reason)
			}
			if inc.State != incident.StateWatching || s.State != incident.StepRefused || s.Reason == "" {
				t.Errorf("state %s, step %s because %q: nobody may be asked about it", inc.State, s.State, s.Reason)
			}
			refusal(t, b.decide(inc, s.ID, incident.Approve))
		})
	}
}

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

func TestARefusedPlanIsAskedAboutWhenItsReasonIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.pause("")
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	b.resume("")
	b.pass(time.Minute)
	if got := b.open("llama").State; got != incident.StateDeciding {
		t.Errorf("state %s after the pause", got)
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

func TestExpiryIsANo(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	b.pass(30*time.Minute - time.Second)
	if got := b.read(inc.ID); got.State != incident.StateDeciding {
		t.Fatalf("state %s before the time is over: %s", got.State, got.Note)
	}
	b.skip(time.Second)
	refusal(t, b.decide(inc, "p1-s1", incident.Approve)) // before the sweep has noticed
	b.sweep()
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || got.MuteReason != incident.MutedExpired {
		t.Fatalf("state %s, muted for %q", got.State, got.MuteReason)
	}
	for _, s := range got.Plan.Steps {
		if s.State != incident.StepExpired {
			t.Errorf("step %s is %s", s.ID, s.State)
		}
	}
	refusal(t, b.decide(inc, "p1-s1", incident.Approve))
	b.pass(time.Hour)
	if got := b.read(inc.ID); got.State != incident.StateWatching || len(b.writes("llama")) != 0 {
		t.Errorf("state %s an hour after the end of the time", got.State)
	}
}

func TestWhatWasRefusedIsAskedAgainWhenTheDiagnosisChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	if err := b.decide(inc, "p1-s1", incident.Deny); err != nil {
		t.Fatal(err)
	}
	b.pass(10 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching || got.MuteReason != incident.MutedDenied {
		t.Fatalf("state %s, muted for %q", got.State, got.MuteReason)
	}
	other := sick(9, throttle())
	other.diagnosis = "memory pressure"
	b.sight.see(other)
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateDeciding || got.Plan.Revision != 2 {
		t.Errorf("state %s after another diagnosis", got.State)
	}
}

func TestRecoveryBeforeADecisionAsksNothingMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.sight.see(well())
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching || got.Plan.Steps[0].State != incident.StepSuperseded {
		t.Errorf("state %s, step %s", got.State, got.Plan.Steps[0].State)
	}
	refusal(t, b.decide(inc, "p1-s1", incident.Approve))
}

func TestAPlanStaysWhileNothingCanBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.sight.see(blind())
	b.pass(5 * time.Minute)
	got := b.read(inc.ID)
	if got.State != incident.StateDeciding || got.Plan.Digest != inc.Plan.Digest || got.Note == "" {
		t.Errorf("state %s, plan %s, note %q", got.State, got.Plan.Digest, got.Note)
	}
	if r := got.Readings["ttft"]; r.Value != nil {
		t.Errorf("a reading without data has the value %v", *r.Value)
	}
}

func TestTheEndOfTheTimeIsNoticedWhenItComes(t *testing.T) {
	t.Parallel()
	p := llama()
	p.Approvers = map[incident.StepKind]incident.Approvers{"": {Users: []string{"U-ADA"}, Expire: 90 * time.Second}}
	b := newBench(t, []incident.Pool{p})
	inc := b.asked(sick(5, addReplica()))
	b.pass(time.Minute) // an investigation, after which the next one would come at two minutes
	b.pass(30 * time.Second)
	if got := b.read(inc.ID); got.MuteReason != incident.MutedExpired {
		t.Errorf("state %s, muted for %q", got.State, got.MuteReason)
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
