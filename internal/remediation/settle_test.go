package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// applied brings llama's incident to the first look at the rollout of its approved step.
func applied(b *bench, f finding, rollout ...answer) incident.Incident {
	b.t.Helper()
	inc := b.asked(f)
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rollout...)
	b.approve(inc)
	b.sweep()
	return b.read(inc.ID)
}

func TestTheSignalsSettleAfterTheRolloutAndTheWarmUp(t *testing.T) {
	t.Parallel()
	warm := addReplica()
	warm.WarmUp = 3 * time.Minute
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, warm), rolled(incident.RolloutRunning), rolled(incident.RolloutRunning),
		rolled(incident.RolloutDone))
	for b.live.left("rollout") > 0 {
		b.skip(5 * time.Second)
		b.sweep()
	}
	inc = b.read(inc.ID)
	if got := inc.Active.SettleUntil.Sub(b.clock()); inc.Active.Phase != incident.PhaseSettle || got != 8*time.Minute {
		t.Fatalf("phase %s, settles for %s, want 5 min of the window and 3 min of warm-up", inc.Active.Phase, got)
	}
	b.pass(8*time.Minute - time.Second)
	if got := b.read(inc.ID); got.State != incident.StateSettling {
		t.Fatalf("state %s a second before the signals have settled", got.State)
	}
	b.sight.see(well())
	b.pass(time.Second)
	if got := b.read(inc.ID); got.Plan.Steps[0].Verification == nil ||
		got.Plan.Steps[0].Verification.Verdict != incident.VerdictRecovered {
		t.Errorf("not verified when the signals had settled: %s", got.State)
	}
}

func TestARolloutThatDoesNotEndWellIsWorse(t *testing.T) {
	t.Parallel()
	running := answer{rollout: incident.Rollout{State: incident.RolloutRunning, Note: "2 of 3 pods are ready."}}
	for _, tt := range []struct {
		name, said string
		first      answer
		wait       time.Duration
		last       []answer
	}{
		{
			"failed", "The rollout failed: it crashes",
			answer{rollout: incident.Rollout{State: incident.RolloutFailed, Note: "it crashes"}},
			0, nil,
		},
		{"late", "not complete after 30 min. 2 of 3 pods are ready.", running, 30 * time.Minute, []answer{running}},
		{
			"cannot be looked at", "could not be checked: connection refused",
			answer{err: errAway},
			30 * time.Minute,
			[]answer{{err: errAway}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := applied(b, sick(5, addReplica()), tt.first)
			if tt.wait > 0 {
				b.live.expect("rollout", tt.first)
				b.skip(tt.wait - time.Second)
				b.sweep()
				if got := b.read(inc.ID); got.State != incident.StateSettling {
					t.Fatalf("state %s before the limit", got.State)
				}
				b.live.expect("rollout", tt.last...)
				b.skip(5 * time.Second)
				b.sweep()
			}
			inc = b.read(inc.ID)
			s := inc.Plan.Steps[0]
			if s.Verification == nil || s.Verification.Verdict != incident.VerdictWorse ||
				!strings.Contains(s.Verification.Why, "rollout failed") {
				t.Fatalf("verification %+v", s.Verification)
			}
			if inc.State != incident.StateDeciding || inc.UndoOffered != "p1-s1" {
				t.Errorf("state %s, undo offered for %q", inc.State, inc.UndoOffered)
			}
			if j := said(inc); !strings.Contains(j, tt.said) {
				t.Errorf("the journal lacks %q:\n%s", tt.said, j)
			}
			if len(b.live.written()) != 1 {
				t.Errorf("written %v: nothing is undone without being asked", b.live.written())
			}
			b.unlocked()
		})
	}
}

func said(inc incident.Incident) string {
	var out strings.Builder
	for _, e := range inc.Journal {
		out.WriteString(e.Text + "\n")
	}
	return out.String()
}

func TestARolloutIsNotLookedAtWithoutKubernetes(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutRunning))
	b.deps.Live = nil
	b.restart(llama())
	b.pass(time.Hour)
	got := b.read(inc.ID)
	if got.State != incident.StateSettling {
		t.Errorf("state %s although nobody could look", got.State)
	}
	if n := strings.Count(said(got), "no Kubernetes API is configured anymore"); n != 1 {
		t.Errorf("people are told %d times that nobody can look, want once:\n%s", n, said(got))
	}
}

func TestAnUndoIsPossibleWhileItSettles(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
	b.live.expect("do undo")
	b.live.expect("rollout", rolled(incident.RolloutDone))
	if err := b.decide(inc, "p1-s1", incident.Undo); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	inc = b.read(inc.ID)
	if s := inc.Plan.Steps[0]; s.State != incident.StepUndone || b.live.value(incident.StepReplicas) != 2 {
		t.Errorf("step %s, %d replicas", s.State, b.live.value(incident.StepReplicas))
	}
	b.unlocked()
}
