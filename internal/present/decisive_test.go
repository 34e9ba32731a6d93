package present_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Only what holds decided, each signal once with the shortest limit, and what is bad comes first.
func TestWhatDecidedIsEachReadingOnceTheBadFirst(t *testing.T) {
	t.Parallel()
	if got := present.Decisive(incident.Incident{}); got != nil {
		t.Errorf("without a diagnosis: %+v", got)
	}
	inc := incident.Incident{
		Readings: map[string]incident.Reading{
			"queue": {Short: "Queue time p95", Direction: incident.HigherIsWorse},
			"kv":    {Short: "KV cache", Direction: incident.HigherIsWorse, Value: new(0.5), Unit: incident.UnitRatio},
		},
		Diagnosis: &incident.Diagnosis{Evidence: []incident.Condition{
			{Truth: incident.True, Signal: "kv", Relation: incident.RelationBelow, Threshold: "60%"},
			{
				Truth: incident.True, Signal: "queue", Seen: "5 s", Relation: incident.RelationAbove,
				Threshold: "3.5 s (half of TTFT p95)",
			},
			{Truth: incident.True, Signal: "queue", Seen: "5 s", Relation: incident.RelationAbove, Threshold: "4 s"},
			{Truth: incident.False, Signal: "ttft", Label: "TTFT p95", Seen: "1 s"},
		}},
	}
	want := []present.DecisiveReading{
		{Signal: "queue", Subject: "Queue time p95", Seen: "5 s", Expected: "limit 4 s", Bad: true},
		{Signal: "kv", Subject: "KV cache", Seen: "50%", Expected: "below 60%"},
	}
	if diff := cmp.Diff(want, present.Decisive(inc)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
