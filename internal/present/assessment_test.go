package present_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

func TestEveryHealthHasAWord(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, h := range incident.Healths() {
		word := present.HealthWord(h)
		if word == "" || seen[word] || (word == string(h)) != (h == incident.HealthProblem || h == incident.HealthOK) {
			t.Errorf("%s is called %q", h, word)
		}
		seen[word] = true
	}
}

func TestAnAssessmentInWords(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{Readings: map[string]incident.Reading{
		"ttft": {Signal: "ttft", Short: "TTFT p95", Direction: incident.HigherIsWorse},
		"gpu":  {Signal: "gpu", Short: "GPU utilization", Direction: incident.LowerIsWorse},
	}}
	a := incident.Assessment{Health: incident.HealthOverLimit, Because: []incident.Condition{
		{
			Signal: "ttft", Truth: incident.False, Seen: "900 ms", Relation: incident.RelationAtMost, Threshold: "500 ms",
			ThresholdFrom: incident.OriginSLO,
		},
		{Signal: "gpu", Truth: incident.False, Seen: "10%", Relation: incident.RelationAtLeast, Threshold: "50%"},
		{Signal: "gpu", Truth: incident.Undecided, Seen: "no data", Relation: incident.RelationAtLeast, Threshold: "50%"},
	}}
	want := []string{"TTFT p95 900 ms, target 500 ms", "GPU utilization 10%, limit ≥ 50%", "GPU utilization no data"}
	if d := cmp.Diff(want, present.Because(a, inc)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	a = incident.Assessment{Health: incident.HealthOverTarget}
	if got := present.WhyHealth(a, inc); got != "no known cause" {
		t.Errorf("over target: %q", got)
	}
	inc.Diagnosis = &incident.Diagnosis{Name: "warming-up"}
	if got := present.WhyHealth(a, inc); got != "warming up" {
		t.Errorf("over target with a diagnosis: %q", got)
	}
	at := time.Date(2025, time.November, 19, 10, 30, 0, 0, time.UTC)
	if got, want := present.Gone(at.Add(-9*time.Minute), at),
		"No metrics now; the newest sample is from 10:21 UTC, 9 min ago. "+
			"The pods are down, scaled to zero or no longer scraped."; got != want {
		t.Errorf("%q", got)
	}
}
