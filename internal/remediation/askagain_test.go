package remediation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

func TestADenialOfEverythingAndThenAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	if got := inc.Plan.Steps[0].Needs.Users; !slices.Equal(got, llama().Approvers[""].Users) {
		t.Errorf("the step names the approvers %v", got)
	}
	if err := b.decide(inc, "", incident.Deny); err != nil {
		t.Fatal(err)
	}
	b.pass(10 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching || !got.CanAskAgain() {
		t.Fatalf("state %s, muted for %q", got.State, got.MuteReason)
	}
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.AskedAgain{By: bob, Reason: "back"}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	got := b.read(inc.ID)
	if got.State != incident.StateDeciding || got.Plan.Revision != 2 || len(got.Proposed()) != 2 {
		t.Fatalf("state %s, revision %d, %d steps asked about", got.State, got.Plan.Revision, len(got.Proposed()))
	}
	refusal(t, b.decide(inc, "p1-s1", incident.Approve))
	_, err := b.engine.Act(t.Context(), inc.ID, incident.AskedAgain{By: bob})
	refusal(t, err)
	if len(b.writes("llama")) != 0 {
		t.Error("asking has claimed a write")
	}
}

// Whoever asks to be asked is asked, also about what policy would run by itself.
func TestPolicyDoesNotAnswerWhoAskedAgain(t *testing.T) {
	t.Parallel()
	pool := inMode(llama(), incident.ModeAuto)
	b := newBench(t, []incident.Pool{pool}, func(c *remediation.Config, _ *remediation.Deps) {
		c.Mode, c.Policy.Automatic = incident.ModeAuto, []incident.StepKind{}
	})
	inc := b.asked(sick(5, addReplica()))
	if err := b.decide(inc, "", incident.Deny); err != nil {
		t.Fatal(err)
	}
	b.cfg.Policy = policy.Defaults()
	b.cfg.Policy.Automatic = []incident.StepKind{incident.StepReplicas}
	b.restart(pool)
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.AskedAgain{By: bob}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(b.writes("llama")) != 0 {
		t.Errorf("state %s, writes %v", got.State, b.writes("llama"))
	}
}

func TestOnlyDecideRecordsDecisions(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	d := incident.Decided{Decision: decision(inc, "p1-s1", incident.Approve)}
	if _, err := b.engine.Act(t.Context(), inc.ID, d); err == nil {
		t.Error("a decision was recorded elsewhere")
	}
	if got := b.read(inc.ID); len(got.Decisions) != 0 || got.State != incident.StateDeciding {
		t.Errorf("state %s, decisions %+v", got.State, got.Decisions)
	}
}
