package incident

import (
	"errors"
	"testing"
	"time"
)

// Replicas of two versions share a store while an update rolls out. What only the newer one knows, the older one
// refuses, and says so.
func TestWhatANewerVersionWroteIsNotRun(t *testing.T) {
	t.Parallel()
	held := scaleStep("2", "3")
	held.Guardrails = []Guardrail{
		{Name: "bounds", Verdict: GuardPass},
		{Name: "capacity", Verdict: "hold", Reason: "no GPU is free"},
	}
	kind := scaleStep("2", "3")
	kind.Kind = "quarantine"
	unsaid := scaleStep("2", "3")
	unsaid.Guardrails = []Guardrail{{Name: "bounds", Verdict: GuardRefuse}}
	for name, tc := range map[string]struct {
		step Step
		why  Reason
	}{
		"a verdict": {held, Reason{
			Kind: ReasonVerdict, Check: "capacity", Given: "hold", Text: "no GPU is free",
		}},
		"a kind of step":           {kind, Reason{Kind: ReasonStepKind, Given: "quarantine"}},
		"a refusal without reason": {unsaid, Reason{Kind: ReasonCheck, Check: "bounds"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.step.Executable() || tc.step.Refusal() != tc.why {
				t.Errorf("it can run: %t, refused: %+v", tc.step.Executable(), tc.step.Refusal())
			}
			// A plan that the newer version has asked about.
			inc := deciding(t, scaleStep("2", "3"))
			inc.Plan.Steps[0].Kind, inc.Plan.Steps[0].Guardrails = tc.step.Kind, tc.step.Guardrails
			if len(inc.Proposed()) != 0 {
				t.Error("it is still proposed")
			}
			_, err := Apply(inc, approve(inc, "p1-s1", alice), now)
			var no *RefusedError
			if !errors.As(err, &no) || no.Said.Kind != RefusedBlocked || no.Said.Cause != tc.why {
				t.Errorf("the approval is refused: %+v, %v", no, err)
			}
			// A plan of this version's own.
			inc = must(t, investigating(t), found("queueing", tc.step))
			if s := inc.Plan.Steps[0]; s.State != StepRefused || s.Cause != tc.why {
				t.Errorf("the step is %s: %+v", s.State, s.Cause)
			}
			// The same plan, looked at again.
			inc = deciding(t, scaleStep("2", "3"), throttleStep())
			again := found("queueing", scaleStep("2", "3"), throttleStep())
			again.Steps[0].Guardrails = tc.step.Guardrails
			inc.Plan.Steps[0].Kind = tc.step.Kind
			inc = must(t, inc, again)
			if s := inc.Plan.Steps[0]; s.State != StepRefused || s.Cause != tc.why {
				t.Errorf("after another investigation the step is %s: %+v", s.State, s.Cause)
			}
		})
	}
}

// How far an undo was is not known when a newer version has led it. It may not have been made, so its step still
// stands.
func TestAnAbortedUndoInAPhaseOfANewerVersionStillStands(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleStep()), UndoStarted{Step: "p1-s1", By: alice}, WriteClaimed{WriteID: "w"})
	inc.Active.Phase = "draining"
	inc, _ = at(t, inc, time.Hour, Aborted{By: alice, Reason: "too slow"})
	if s, _ := inc.Step("p1-s1"); len(inc.Mitigations()) != 1 || !s.Cause.NotUndone {
		t.Errorf("the step is %s: %+v", s.State, s.Cause)
	}
}
