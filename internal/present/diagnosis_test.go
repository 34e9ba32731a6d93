package present

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAConditionIsWrittenWithItsLimit(t *testing.T) {
	t.Parallel()
	const (
		above, below    = incident.RelationAbove, incident.RelationBelow
		atLeast, atMost = incident.RelationAtLeast, incident.RelationAtMost
		higher, lower   = incident.HigherIsWorse, incident.LowerIsWorse
		rule, slo       = incident.OriginRule, incident.OriginSLO
		yes, no, open   = incident.True, incident.False, incident.Undecided
	)
	for _, tt := range []struct {
		relation  incident.Relation
		threshold string
		from      incident.Origin
		truth     incident.Truth
		direction incident.Direction
		want      string
	}{
		{above, "90%", rule, yes, higher, "limit 90%"},
		{above, "90%", rule, no, higher, "limit 90%"},
		{atLeast, "90%", rule, yes, higher, "limit 90%"},
		{below, "50%", rule, yes, higher, "below 50%"},
		{below, "1/s", rule, open, higher, "needs below 1/s"},
		{atMost, "5", rule, yes, higher, "≤ 5"},
		{atMost, "5", rule, no, higher, "needs ≤ 5"},
		{below, "100/s", rule, yes, lower, "limit ≥ 100/s"},
		{atMost, "0/s", rule, yes, lower, "limit > 0/s"},
		{atMost, "0/s", rule, no, lower, "limit > 0/s"},
		{above, "0/s", rule, yes, lower, "above 0/s"},
		{above, "0", rule, yes, incident.Neutral, "above 0"},
		{atLeast, "95%", rule, yes, incident.Neutral, "≥ 95%"},
		{above, "500 ms", slo, yes, higher, "target 500 ms"},
		{atMost, "500 ms", slo, yes, higher, "target ≤ 500 ms"},
		{below, "500 ms", slo, yes, higher, "below target 500 ms"},
		{incident.RelationPresent, "", rule, yes, higher, ""},
		{incident.RelationPresent, "", rule, no, higher, "needs data"},
		{incident.RelationAbsent, "", rule, yes, higher, ""},
		{incident.RelationAbsent, "", rule, no, higher, "needs no data"},
		{"", "", rule, yes, higher, ""},
		{"", "90%", rule, yes, higher, "limit 90%"},      // stored by an older version
		{"", "100/s", rule, yes, lower, "limit ≥ 100/s"}, // likewise
		{"near", "1/s", rule, yes, incident.Neutral, "1/s"},
	} {
		c := incident.Condition{Relation: tt.relation, Threshold: tt.threshold, ThresholdFrom: tt.from, Truth: tt.truth}
		if got := Expected(c, incident.Reading{Direction: tt.direction}); got != tt.want {
			t.Errorf("%+v where %s: %q, want %q", c, tt.direction, got, tt.want)
		}
	}
}

// A metric has one limit in one incident: what a rule asks for beside it is no second one.
func TestAMetricHasOneLimit(t *testing.T) {
	t.Parallel()
	r := incident.Reading{
		Direction: incident.HigherIsWorse, Unit: incident.UnitSeconds, Value: new(4.0), Threshold: new(2.0),
		ThresholdFrom: incident.OriginSLO,
	}
	above := func(threshold string, from incident.Origin) incident.Condition {
		return incident.Condition{
			Relation: incident.RelationAbove, Threshold: threshold, ThresholdFrom: from, Truth: incident.True,
		}
	}
	own, other := above("2 s", incident.OriginSLO), above("3 s", incident.OriginRule)
	if got := Expected(own, r); got != "target 2 s" {
		t.Errorf("its target is %q", got)
	}
	if got := Expected(other, r); got != "above 3 s" {
		t.Errorf("what a rule asks for is %q", got)
	}
	if got := MainExpected([]incident.Condition{other, own}, r); got != "target 2 s" {
		t.Errorf("it is compared with %q", got)
	}
	if got := MainExpected([]incident.Condition{other}, r); got != "above 3 s" {
		t.Errorf("without its target it is compared with %q", got)
	}
	if got := MainExpected(nil, r); got != "" {
		t.Errorf("without a condition it is compared with %q", got)
	}
}

// A verification leaves the newest readings without limits; the diagnosis keeps one for each metric.
func TestAMetricKeepsItsLimitAfterAChange(t *testing.T) {
	t.Parallel()
	above := func(threshold string, value float64, holds incident.Truth) incident.Condition {
		return incident.Condition{
			Signal: "waiting", Relation: incident.RelationAbove, Threshold: threshold, Truth: holds,
			ThresholdFrom: incident.OriginRule, ThresholdValue: incident.Amount{Value: value, Unit: incident.UnitCount},
		}
	}
	inc := incident.Incident{
		Readings: map[string]incident.Reading{"waiting": {Direction: incident.HigherIsWorse, Value: new(1.0)}},
		Diagnosis: &incident.Diagnosis{Evidence: []incident.Condition{
			above("50", 50, incident.False), above("5", 5, incident.True), above("1", 1, incident.True),
		}},
	}
	var got []string
	for _, c := range inc.Diagnosis.Evidence {
		got = append(got, Expected(c, Compared(inc, c)))
	}
	if want := []string{"needs above 50", "limit 5", "above 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The source of a rule is for its author, also where an older version has stored nothing else.
func TestAConditionIsCalledByItsSignal(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{Readings: map[string]incident.Reading{
		"ttft_p95": {Short: "TTFT p95", Title: "Time to first token (TTFT), p95"},
		"waiting":  {Title: "Requests waiting"},
	}}
	for want, c := range map[string]incident.Condition{
		"50% of TTFT p95":  {Text: "0.5 * ttft_p95 > 1s", Signal: "ttft_p95", Label: "50% of TTFT p95"},
		"TTFT p95":         {Text: "ttft_p95 > slo.ttft", Signal: "ttft_p95"},
		"Requests waiting": {Text: "waiting > 5", Signal: "waiting"},
		"kv_usage":         {Text: "kv_usage > 95%", Signal: "kv_usage"},
		"Condition":        {Text: "slo.ttft > 1s"},
	} {
		if got := Subject(inc, c); got != want {
			t.Errorf("%+v is called %q, want %q", c, got, want)
		}
	}
}
