package incident

import (
	"testing"
	"time"
)

// tokens is a step that restarts the pods.
func tokens(from, to string) Step {
	s := scaleStep(from, to)
	s.Kind, s.Target.Field, s.Needs.Restart = StepMaxNumBatchedTokens, "args[vllm] --max-num-batched-tokens", true
	s.Digest = s.ComputeDigest()
	return s
}

// Three looks in a row must miss the cause before its question is replaced, unless it has become unsafe.
func TestAQuestionHoldsForThreeLooks(t *testing.T) {
	t.Parallel()
	blind := Investigated{Evidence: Evidence{At: now}, Healthy: False, Note: "No known cause."}
	unread := Investigated{Evidence: Evidence{At: now}, Healthy: Undecided, Note: "Prometheus can't be asked."}
	other, again := found("memory", throttleStep()), found("queueing", scaleStep("2", "3"))
	refused := scaleStep("2", "3")
	refused.Guardrails = []Guardrail{{Verdict: GuardRefuse, Reason: "paused"}}
	warns := found("memory", throttleStep())
	warns.Diagnosis.Never = []Never{{Change: "raise", Knob: string(StepReplicas)}}
	restarts := found("memory", throttleStep())
	restarts.Diagnosis.Never = []Never{{Change: NeverRestart, Knob: "pods"}}
	for name, tt := range map[string]struct {
		asked Step
		looks []Event
		holds bool
		note  NoteKind
	}{
		"no cause, once":       {scaleStep("2", "3"), []Event{blind}, true, NoteNotFoundAgain},
		"no cause, twice":      {scaleStep("2", "3"), []Event{blind, blind}, true, NoteNotFoundAgain},
		"no cause, three":      {scaleStep("2", "3"), []Event{blind, blind, blind}, false, NoteText},
		"another, twice":       {scaleStep("2", "3"), []Event{other, other}, true, NoteOtherCause},
		"another, three":       {scaleStep("2", "3"), []Event{other, other, other}, false, ""},
		"found in between":     {scaleStep("2", "3"), []Event{blind, other, again, other, blind}, true, NoteNotFoundAgain},
		"unread between":       {scaleStep("2", "3"), []Event{blind, unread, unread, blind}, true, NoteNotFoundAgain},
		"unread, then a third": {scaleStep("2", "3"), []Event{blind, unread, blind, blind}, false, NoteText},
		"refused by now":       {scaleStep("2", "3"), []Event{found("memory", refused)}, false, NoteNoStep},
		"warned against":       {scaleStep("2", "3"), []Event{warns}, false, ""},
		"restarts are harmful": {tokens("8192", "4096"), []Event{restarts}, false, ""},
		"that restarts none":   {scaleStep("2", "3"), []Event{restarts}, true, NoteOtherCause},
		"healthy":              {scaleStep("2", "3"), []Event{Investigated{Healthy: True}}, false, NoteHealthyAgain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc := deciding(t, tt.asked)
			id := inc.Plan.Steps[0].ID
			inc = must(t, inc, tt.looks...)
			s, ok := inc.Step(id)
			holds := inc.State == StateDeciding && ok && s.State == StepProposed
			if holds != tt.holds || inc.Said.Kind != tt.note {
				t.Errorf("holds: %t, state %s, note %+v", holds, inc.State, inc.Said)
			}
		})
	}
}

// A number changes only when it moves by a fifth or more: 10 pods stay 10 when the newest look says 11, and what they
// start from is never kept when it moves.
func TestANumberChangesByAFifth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		stays    bool
	}{
		{"5", "10", true},
		{"5", "11", true},
		{"5", "12", false},
		{"5", "9", true},
		{"5", "8", false},
		{"6", "10", false},
	} {
		inc := deciding(t, scaleStep("5", "10"))
		res := after(t, inc, time.Minute, found("queueing", scaleStep(tt.from, tt.to)))
		if got := res.Incident; (got.Plan.Digest == inc.Plan.Digest) != tt.stays || (got.State == StateDeciding) != tt.stays {
			t.Errorf("%s to %s: state %s, step %+v", tt.from, tt.to, got.State, got.Plan.Steps[0].To)
		}
	}
}

// The buttons do not vanish between a plan that follows the live values and the policy that looks at it.
func TestAPlanThatFollowsTheLoadIsShownWithItsButtons(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("5", "10"))
	moved := after(t, inc, time.Minute, found("queueing", scaleStep("5", "20")))
	if moved.Render || moved.Incident.State != StateProposed {
		t.Errorf("state %s is shown: %t", moved.Incident.State, moved.Render)
	}
	if asked := after(t, moved.Incident, time.Minute, Asked{ExpiresAt: now.Add(time.Hour)}); !asked.Render {
		t.Error("the plan is not shown")
	}
	if first := after(t, missed(inc), time.Minute, found("memory", throttleStep())); !first.Render {
		t.Error("another cause is not shown")
	}
}

// What was rolled back is no longer recommended, to whatever value.
func TestAKnobThatWasTriedIsKnown(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep())
	if inc.Attempted(throttleStep()) {
		t.Error("tried before anything was")
	}
	other := throttleStep()
	other.To = Set("90")
	inc.Attempts = []Attempt{{Kind: StepThrottle, Target: throttleStep().Target.Key(), To: Set("129")}}
	if !inc.Attempted(other) || inc.Attempted(scaleStep("2", "3")) {
		t.Errorf("%+v", inc.Attempts)
	}
}
