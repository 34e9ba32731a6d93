package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Replicas of two versions share a store while an update rolls out. What only the newer one knows, the older one
// refuses.
func TestWhatANewerVersionWroteRefuses(t *testing.T) {
	t.Parallel()
	in := sound()
	in.Op = "drain"
	if got := refusal(Check(in, Defaults())); !strings.Contains(got, `operation "drain"`) {
		t.Errorf("an operation: %q", got)
	}
	in = sound()
	in.Writes = []incident.Write{{
		Target: in.Step.Target.Key(), StartedAt: in.Now.Add(-time.Minute),
		EndedAt: in.Now.Add(-time.Minute), Result: "partly",
	}}
	if got := refusal(Check(in, Defaults())); !strings.Contains(got, "was changed 1 min ago") {
		t.Errorf("the result of a write, which may have changed the object: %q", got)
	}
	auto := Defaults()
	auto.Automatic = []incident.StepKind{incident.StepThrottle}
	approvers := incident.Approvers{Users: []string{"U1"}}
	for name, step := range map[string]incident.Step{
		"a verdict": {
			Kind:       incident.StepThrottle,
			Guardrails: []incident.Guardrail{{Name: "capacity", Verdict: "hold"}},
		},
		"a refusal without reason": {
			Kind:       incident.StepThrottle,
			Guardrails: []incident.Guardrail{{Name: "bounds", Verdict: incident.GuardRefuse}},
		},
		"a kind of step": {Kind: "quarantine"},
	} {
		for _, mode := range incident.Modes() {
			if got, why := Decide(mode, step, approvers, auto); got != Refused || why == "" {
				t.Errorf("%s in mode %s: %s, %q", name, mode, got, why)
			}
		}
		if why := refusal(step.Guardrails); why == "" && len(step.Guardrails) > 0 {
			t.Errorf("%s refuses nothing before the write", name)
		}
	}
}
