package play

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// TestEveryAdviceIsClassified compares advice.yaml with the playbooks: each advice is there once, word for word, and
// nothing else is.
func TestEveryAdviceIsClassified(t *testing.T) {
	t.Parallel()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, f := range files {
		var doc struct {
			Diagnoses []struct {
				Name  string
				Steps []struct{ Manual struct{ Advice string } }
			}
		}
		if err := yaml.Unmarshal(f.Data, &doc); err != nil {
			t.Fatal(err)
		}
		for _, d := range doc.Diagnoses {
			for _, s := range d.Steps {
				if s.Manual.Advice != "" {
					want[d.Name+": "+oneLine(s.Manual.Advice)]++
				}
			}
		}
	}
	if len(want) < 20 {
		t.Errorf("the playbooks have %d pieces of advice", len(want))
	}
	all, err := readAdvice()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, a := range all {
		got[a.Diagnosis+": "+oneLine(a.Text)]++
		if len(a.Does)+len(a.Plans) == 0 {
			t.Errorf("%s: it says not what %q does", a.Diagnosis, a.Text)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("advice.yaml (-playbooks +file):\n%s", d)
	}
}

func step(kind incident.StepKind, from, to string) incident.Step {
	return incident.Step{
		Kind: kind, State: incident.StepProposed, Title: string(kind) + " to " + to, From: incident.Set(from),
		To: incident.Set(to),
	}
}

func TestHarmIsWhatSomebodyIsAskedFor(t *testing.T) {
	t.Parallel()
	p, err := NewPlayer()
	if err != nil {
		t.Fatal(err)
	}
	refused := step(incident.StepThrottle, "512", "256")
	refused.State, refused.Guardrails = incident.StepRefused, []incident.Guardrail{
		{Name: "bounds", Verdict: incident.GuardRefuse, Reason: "it is below the minimum"},
	}
	smaller := step(incident.StepMaxNumBatchedTokens, "8192", "4096")
	advised := func(i int) incident.Step {
		text := strings.NewReplacer("{", "", "}", "").Replace(p.advice[i].Text)
		return incident.Step{Kind: incident.StepManual, State: incident.StepProposed, Title: text}
	}
	of := func(diagnosis string) int {
		return slices.IndexFunc(p.advice, func(a advice) bool { return a.Diagnosis == diagnosis })
	}
	takeOut := slices.IndexFunc(p.advice, func(a advice) bool { return slices.Contains(a.Does, "take-pod-out") })
	plan := slices.IndexFunc(p.advice, func(a advice) bool { return slices.Contains(a.Plans, "raise-max-num-seqs") })
	for name, c := range map[string]struct {
		step    incident.Step
		harmful Harmful
		want    bool
	}{
		"a throttle":                       {step(incident.StepThrottle, "512", "256"), Harmful{Do: "throttle"}, true},
		"a throttle that is lifted":        {step(incident.StepThrottle, "256", "512"), Harmful{Do: "throttle"}, false},
		"a step that a guardrail refuses":  {refused, Harmful{Do: "throttle"}, false},
		"more replicas":                    {step(incident.StepReplicas, "2", "3"), Harmful{Do: "add-replicas"}, true},
		"more replicas are not fewer":      {step(incident.StepReplicas, "2", "3"), Harmful{Do: "remove-replicas"}, false},
		"a smaller token budget":           {smaller, Harmful{Do: "lower-max-num-batched-tokens"}, true},
		"a new argument restarts the pods": {smaller, Harmful{Do: "restart-all-pods"}, true},
		"an advice":                        {advised(takeOut), Harmful{Do: "take-pod-out"}, true},
		"another advice of that diagnosis": {advised(of("one-bad-replica")), Harmful{Do: "take-pod-out"}, false},
		"a plan for later":                 {advised(plan), Harmful{Do: "raise-max-num-seqs"}, false},
		"a plan that would be wrong, later": {
			advised(plan), Harmful{Do: "raise-max-num-seqs", Planned: true}, true,
		},
		"something else": {advised(plan), Harmful{Do: "take-pod-out", Planned: true}, false},
	} {
		c.harmful.Why = "because"
		inc := Incident{Harmful: []Harmful{c.harmful}}
		got, err := p.harm(inc, incident.Incident{Plan: &incident.Plan{Steps: []incident.Step{c.step}}})
		if err != nil || (len(got) == 1) != c.want {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	unknown := incident.Step{Kind: incident.StepManual, State: incident.StepProposed, Title: "Pray."}
	if _, err := p.harm(Incident{}, incident.Incident{Plan: &incident.Plan{Steps: []incident.Step{unknown}}}); err == nil {
		t.Error("an advice that nobody classified passes")
	}
	if got, err := p.harm(Incident{}, incident.Incident{}); err != nil || got != nil {
		t.Errorf("without a plan: %v, %v", got, err)
	}
}
