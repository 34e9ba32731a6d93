package remediation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestDecisionsOnWhatIsNotThereChangeNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*incident.Decision)
		want   string
	}{
		{"an old digest", func(d *incident.Decision) { d.Digest = "0123456789ab" }, "plan changed"},
		{"no digest", func(d *incident.Decision) { d.Digest = "" }, "plan changed"},
		{"no such step", func(d *incident.Decision) { d.Step = "p9-s9" }, "no longer has this step"},
		{"a step for a person", func(d *incident.Decision) { d.Step = "p1-s2" }, "manual"},
		{"no such verb", func(d *incident.Decision) { d.Verb = "maybe" }, "not a decision"},
		{"undo of what was not done", func(d *incident.Decision) { d.Verb = incident.Undo }, "nothing to roll back"},
		{"no confirmation", func(*incident.Decision) {}, "confirmation"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			b.live.needs[incident.StepReplicas] = incident.Needs{Confirm: true}
			inc := b.asked(sick(5, addReplica(), incident.StepRequest{Kind: incident.StepManual, Advice: "Look."}))
			d := decision(inc, "p1-s1", incident.Approve)
			tt.change(&d)
			_, err := b.engine.Decide(t.Context(), inc.ID, d)
			if refusal(t, err); !strings.Contains(err.Error(), tt.want) {
				t.Errorf("refused with %q, want %q", err, tt.want)
			}
			b.sweep()
			if got := b.read(inc.ID); got.Version != inc.Version || len(got.Decisions) != 0 {
				t.Errorf("version %d, was %d; decisions %v", got.Version, inc.Version, got.Decisions)
			}
		})
	}
}

func TestASecondDecisionIsRefusedAndSaysWhoWasFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	second := decision(inc, "p1-s1", incident.Deny)
	second.By = bob
	_, err := b.engine.Decide(t.Context(), inc.ID, second)
	if refusal(t, err); !strings.Contains(err.Error(), ada.String()) {
		t.Errorf("the answer does not name who decided: %v", err)
	}
	if got := b.read(inc.ID); len(got.Decisions) != 1 || got.State != incident.StateApplying {
		t.Errorf("state %s, decisions %v", got.State, got.Decisions)
	}
}

func TestAStepOfAReplacedPlanIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	old := b.asked(sick(5, addReplica()))
	b.live.scale(4) // somebody scales by hand
	b.pass(time.Minute)
	inc := b.read(old.ID)
	if inc.Plan.Digest == old.Plan.Digest || inc.Plan.Steps[0].From.Text != "4" {
		t.Fatalf("the plan was not replaced: %+v", inc.Plan.Steps[0])
	}
	if err := b.decide(old, "p1-s1", incident.Approve); err == nil {
		t.Error("a step of the old plan was approved")
	} else if refusal(t, err); !strings.Contains(err.Error(), "plan changed") {
		t.Errorf("the answer: %v", err)
	}
}

func TestTwoApprovalsMustComeFromTwoPeople(t *testing.T) {
	t.Parallel()
	p := llama()
	p.Approvers = map[incident.StepKind]incident.Approvers{"": {Users: []string{"U-ADA", "U-BOB"}, Count: 2}}
	b := newBench(t, []incident.Pool{p})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	refusal(t, b.decide(inc, "p1-s1", incident.Approve))
	b.pass(2 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(b.writes("llama")) != 0 {
		t.Fatalf("state %s after one of two approvals", got.State)
	}
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	second := decision(inc, "p1-s1", incident.Approve)
	second.By = bob
	if _, err := b.engine.Decide(t.Context(), inc.ID, second); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateSettling {
		t.Errorf("state %s after two approvals", got.State)
	}
}

func TestDenyingOneStepLeavesTheOthersOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	if err := b.decide(inc, "p1-s1", incident.Deny); err != nil {
		t.Fatal(err)
	}
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(got.Proposed()) != 1 {
		t.Fatalf("state %s, %d steps left", got.State, len(got.Proposed()))
	}
	if err := b.decide(inc, "p1-s2", incident.Deny); err != nil {
		t.Fatal(err)
	}
	if got := b.read(inc.ID); got.State != incident.StateWatching || got.MuteReason != incident.MutedDenied {
		t.Errorf("state %s, muted for %q", got.State, got.MuteReason)
	}
}

func TestAnIncidentThatDoesNotExistIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	if _, err := b.engine.Act(t.Context(), "inc-none", incident.Acked{By: ada}); !errors.Is(err, incident.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestADecisionThatMeetsAnAlertIsWorkedOutAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.store.once(func(ch incident.Change) bool { return len(ch.Incident.Decisions) > 0 }, func() {
		if _, err := b.engine.Act(t.Context(), inc.ID, incident.Acked{By: bob}); err != nil {
			t.Error(err)
		}
	})
	b.approve(inc)
	got := b.read(inc.ID)
	if got.State != incident.StateApplying || got.AckedBy == nil || len(got.Decisions) != 1 {
		t.Errorf("state %s, acked by %v, decisions %v", got.State, got.AckedBy, got.Decisions)
	}
}

func TestAStoreThatAlwaysChangesIsGivenUpOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.store.onCommit(func([]incident.Change) error { return incident.ErrStale })
	if err := b.decide(inc, "p1-s1", incident.Approve); !errors.Is(err, incident.ErrStale) {
		t.Errorf("got %v", err)
	}
	if got := b.read(inc.ID); got.Version != inc.Version {
		t.Error("something was committed")
	}
}

func TestAnAbortBeforeTheWriteWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck", answer{then: func() { // in the middle of the check
		if _, err := b.engine.Act(t.Context(), inc.ID, incident.Aborted{By: bob, Reason: "no"}); err != nil {
			t.Error(err)
		}
	}})
	b.sweep()
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || got.Plan.Steps[0].State != incident.StepDenied ||
		len(b.writes("llama")) != 0 {
		t.Errorf("state %s, step %s, writes %v", got.State, got.Plan.Steps[0].State, b.writes("llama"))
	}
	b.unlocked()
}
