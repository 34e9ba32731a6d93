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

// One request is for all steps that are asked: it is open no longer than each of them may wait.
func TestARequestEndsWhenTheFirstOfItsStepsExpires(t *testing.T) {
	t.Parallel()
	expiring := func(throttle, replicas time.Duration) incident.Pool {
		p := llama()
		users := []string{"U-ADA", "U-BOB"}
		p.Approvers = map[incident.StepKind]incident.Approvers{
			"":                    {Users: users, Expire: 20 * time.Minute},
			incident.StepThrottle: {Users: users, Expire: throttle},
			incident.StepReplicas: {Users: users, Expire: replicas},
		}
		return p
	}
	for name, tc := range map[string]struct {
		pool incident.Pool
		want time.Duration
	}{
		"the first":  {expiring(4*time.Minute, 30*time.Minute), 4 * time.Minute},
		"the second": {expiring(30*time.Minute, 4*time.Minute), 4 * time.Minute},
		"both":       {expiring(40*time.Minute, 30*time.Minute), 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{tc.pool})
			inc := b.asked(sick(5, throttle(), addReplica()))
			if got := inc.Plan.ExpiresAt.Sub(b.clock()); got != tc.want {
				t.Errorf("asked for %s, want %s", got, tc.want)
			}
			if err := b.decide(inc, "p1-s1", incident.Approve); err != nil {
				t.Fatal(err)
			}
			// It is stopped before its write; the other one is still asked.
			b.live.expect("recheck", answer{err: &incident.RefusedError{Reason: "no"}})
			b.sweep()
			got := b.read(inc.ID)
			if open := got.Plan.ExpiresAt.Sub(b.clock()); got.State != incident.StateDeciding || open != tc.want {
				t.Errorf("state %s, what is left is asked for %s, want %s", got.State, open, tc.want)
			}
		})
	}
}

// In mode auto a step is asked about because of a caution, and a person denies it for an hour. When the hour is over,
// the caution is gone: people are asked again, and policy does not do what they denied.
func TestTheEndOfASnoozeIsNoYes(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
	b.live.needs[incident.StepReplicas] = incident.Needs{Confirm: true}
	inc := b.asked(sick(5, addReplica()))
	no := incident.Decision{Digest: inc.Plan.Digest, Verb: incident.Deny, By: ada, Snooze: time.Hour}
	if _, err := b.engine.Decide(t.Context(), inc.ID, no); err != nil {
		t.Fatal(err)
	}
	delete(b.live.needs, incident.StepReplicas)
	b.pass(time.Hour + time.Minute)
	if got := b.open("llama"); got.State != incident.StateDeciding || len(b.live.written()) != 0 {
		t.Errorf("the incident is %s, written %v", got.State, b.live.written())
	}
}
