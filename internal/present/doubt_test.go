package present_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

func TestADoubtSaysTheOtherCauseAndWhatDecides(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{Readings: map[string]incident.Reading{
		"prefix_hit_rate": {Direction: incident.LowerIsWorse}, "tpot_p95": {Direction: incident.HigherIsWorse},
	}}
	hits := incident.Condition{
		Signal: "prefix_hit_rate", Label: "Prefix hit rate", Seen: "74%", Truth: incident.False,
		Relation: incident.RelationBelow, Threshold: "68%",
	}
	late := incident.Condition{
		Signal: "tpot_p95", Label: "TPOT p95", Seen: "173 ms", Truth: incident.True, Relation: incident.RelationAbove,
		Threshold: "50 ms", ThresholdFrom: incident.OriginSLO,
	}
	none := incident.Condition{
		Signal: "preemption_rate", Label: "Preemptions", Seen: "no data", Truth: incident.Undecided,
		Relation: incident.RelationAbove, Threshold: "0",
	}
	for name, tt := range map[string]struct {
		doubt       incident.Doubt
		cause, text string
	}{
		"near a limit": {
			incident.Doubt{Kind: incident.DoubtNear, Name: "warming-up", Conditions: []incident.Condition{hits}},
			"Could also be warming up", "Prefix hit rate 74%, close to 68%",
		},
		"without data": {
			incident.Doubt{Kind: incident.DoubtMissing, Name: "kv-thrash", Conditions: []incident.Condition{none}},
			"Could also be kv thrash", "no data for Preemptions",
		},
		"both hold": {
			incident.Doubt{Kind: incident.DoubtBoth, Name: "prefill-interference", Conditions: []incident.Condition{late}},
			"Prefill interference is also true", "TPOT p95 173 ms, target 50 ms",
		},
		"many conditions": {
			incident.Doubt{
				Kind: incident.DoubtMissing, Name: "x", Conditions: []incident.Condition{none, hits, late, none},
			},
			"Could also be x", "no data for Preemptions, Prefix hit rate, …and 2 more",
		},
		"no conditions": {incident.Doubt{Kind: incident.DoubtBoth, Name: "x"}, "X is also true", ""},
	} {
		cause, text := present.Doubt(inc, tt.doubt)
		if cause != tt.cause || text != tt.text {
			t.Errorf("%s: %q, %q, want %q, %q", name, cause, text, tt.cause, tt.text)
		}
	}
}
