package present_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func TestEveryHealthHasAWord(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, h := range incident.Healths() {
		word := present.HealthWord(h)
		if word == "" || seen[word] || word == string(h) && h != incident.HealthProblem {
			t.Errorf("%s is called %q", h, word)
		}
		if good := present.LevelOfHealth(h) == present.LevelHealthy; good != (h == incident.HealthOK) {
			t.Errorf("%s is shown as %s", h, present.LevelOfHealth(h))
		}
		seen[word] = true
		voice.Check(t, word, voice.Message(word))
	}
	if got := present.LevelOfHealth("a word of a newer version"); got != present.LevelUnknown {
		t.Errorf("what is not known is shown as %s", got)
	}
}

// A line on a page says what was measured, and never that all is well where something is missing.
func TestWhatWasMeasuredIsSaid(t *testing.T) {
	t.Parallel()
	ttft := incident.Reading{Signal: "ttft", Short: "TTFT p95", Direction: incident.HigherIsWorse}
	over := incident.Condition{
		Signal: "ttft", Truth: incident.False, Seen: "7.2 s", Relation: incident.RelationAtMost, Threshold: "2 s",
		ThresholdFrom: incident.OriginSLO,
	}
	open := incident.Condition{Signal: "tpot", Label: "TPOT p95", Truth: incident.Undecided, Seen: "no data"}
	zero := map[string]incident.Reading{
		incident.SignalRunning: {Value: new(0.0)}, incident.SignalWaiting: {Value: new(0.0)},
	}
	met := over
	met.Truth = incident.True
	for name, tc := range map[string]struct {
		measured   incident.Measured
		word, text string
	}{
		"within": {incident.Measured{Targets: []incident.Condition{met}}, "healthy", "within targets"},
		"beyond": {
			incident.Measured{Targets: []incident.Condition{over, open}}, "over target", "TTFT p95 7.2 s (target 2 s)",
		},
		"a part":     {incident.Measured{Targets: []incident.Condition{met, open}}, "incomplete", "TPOT p95 no data"},
		"no target":  {incident.Measured{}, "incomplete", "no targets set"},
		"no metrics": {incident.Measured{Absent: "no series", Targets: []incident.Condition{open}}, "no data", "no series"},
		"idle":       {incident.Measured{Readings: zero, Targets: []incident.Condition{open}}, "no traffic", ""},
		"failed": {incident.Measured{
			Readings: map[string]incident.Reading{"tpot": {Error: "timeout"}}, Targets: []incident.Condition{met, open},
		}, "unknown", "can't be read: timeout"},
		"failed, and another is beyond": {incident.Measured{
			Readings: map[string]incident.Reading{"tpot": {Error: "timeout"}}, Targets: []incident.Condition{over, open},
		}, "over target", "TTFT p95 7.2 s (target 2 s)"},
	} {
		a := incident.Assess(tc.measured)
		word, text := present.HealthWord(a.Health), present.Measured(a, map[string]incident.Reading{"ttft": ttft})
		if word != tc.word || text != tc.text {
			t.Errorf("%s: %q %q, want %q %q", name, word, text, tc.word, tc.text)
		}
		voice.Check(t, name, voice.Message(text))
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
	want := []string{"TTFT p95 900 ms (target 500 ms)", "GPU utilization 10% (limit ≥ 50%)", "GPU utilization no data"}
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
