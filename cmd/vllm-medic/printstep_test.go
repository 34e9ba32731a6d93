package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What is asked has the price that the question in Slack has, and what was applied has none: it would be of now.
func TestAProposedStepIsPrintedWithItsPrice(t *testing.T) {
	t.Parallel()
	inc := known()
	s := incident.Step{
		Kind: incident.StepReplicas, State: incident.StepProposed, Cost: "Needs free GPUs.",
		From: incident.Set("2"), To: incident.Set("4"),
		Target: incident.Target{APIVersion: "apps/v1", Setting: incident.SettingReplicas},
	}
	inc.Cluster.Pods = []incident.Pod{{GPUs: 4}}
	for state, priced := range map[incident.StepState]bool{incident.StepProposed: true, incident.StepApplied: false} {
		s.State = state
		inc.Plan = &incident.Plan{Steps: []incident.Step{s}}
		var out bytes.Buffer
		printIncident(&out, inc, false)
		if strings.Contains(out.String(), "price: Needs 8 more GPUs (2 pods × 4).\n") != priced ||
			strings.Contains(out.String(), "cost: Needs free GPUs.\n") == priced {
			t.Errorf("%s:\n%s", state, out.String())
		}
	}
}

// The commands of a manual step stand below it, for incidents and for models that were looked at.
func TestManualStepsArePrintedWithTheirCommands(t *testing.T) {
	t.Parallel()
	inc := known()
	inc.Plan = &incident.Plan{Steps: []incident.Step{{
		Kind: incident.StepManual, State: incident.StepProposed, Title: "Look at it.",
		Commands: []string{"kubectl -n llm logs f", "kubectl -n llm delete pod 'a b'"},
	}}}
	var of, by bytes.Buffer
	printIncident(&of, inc, false)
	printByHand(&by, inc)
	for _, out := range []string{of.String(), by.String()} {
		if !strings.Contains(out, "$ kubectl -n llm logs f\n") ||
			!strings.Contains(out, "$ kubectl -n llm delete pod 'a b'\n") {
			t.Errorf("they are missing in:\n%s", out)
		}
	}
}
