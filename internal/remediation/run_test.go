package remediation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var errAway = errors.New("connection refused")

// claims says that a change opens a write.
func claims(ch incident.Change) bool { return ch.Claim != nil }

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
