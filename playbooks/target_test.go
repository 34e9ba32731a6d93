package playbooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A part of a target, a fallback for pools without one, and a measured value are limits of the rule.
func TestOnlyThePoolsOwnTargetIsATarget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule string
		slo  incident.SLO
		want incident.Condition
	}{
		{"lat > slo.ttft", incident.SLO{TTFT: 0.5}, incident.Condition{
			Label: "Latency", Relation: incident.RelationAbove, Threshold: "500 ms", ThresholdFrom: incident.OriginSLO,
		}},
		{"slo.ttft.or(3s) >= lat", incident.SLO{TTFT: 0.5}, incident.Condition{
			Label: "Latency", Relation: incident.RelationAtMost, Threshold: "500 ms", ThresholdFrom: incident.OriginSLO,
		}},
		{"lat > slo.ttft.or(3s)", incident.SLO{}, incident.Condition{
			Label: "Latency", Relation: incident.RelationAbove, Threshold: "3 s",
		}},
		{"lat > 2 * slo.ttft.or(3s)", incident.SLO{TTFT: 0.5}, incident.Condition{
			Label: "Latency", Relation: incident.RelationAbove, Threshold: "1 s",
		}},
		{"lat > (2 * slo.ttft).or(5s)", incident.SLO{TTFT: 0.5}, incident.Condition{
			Label: "Latency", Relation: incident.RelationAbove, Threshold: "1 s",
		}},
		{"1.5 * lat < other", incident.SLO{}, incident.Condition{
			Label: "1.5 × Latency", Relation: incident.RelationBelow, Threshold: "9 s (Other latency)",
			ThresholdFrom: incident.OriginReading,
		}},
		{"-2 * lat < 0", incident.SLO{}, incident.Condition{
			Label: "-2 × Latency", Relation: incident.RelationBelow, Threshold: "0 s",
		}},
		{"use >= 95%", incident.SLO{}, incident.Condition{
			Label: "Use", Relation: incident.RelationAtLeast, Threshold: "95%",
		}},
	} {
		l := newRuleLoader(t)
		r := compileForTest(t, l, tt.rule)
		readings := map[string]incident.Reading{"lat": value(7.2), "other": value(9), "use": value(0.5)}
		got := r.ask(l.catalog.factsOf(incident.Evidence{Readings: readings}, tt.slo)).evidence()[0]
		got.Text, got.Truth, got.Signal, got.Seen = "", "", "", ""
		got.SeenValue, got.ThresholdValue = incident.Amount{}, incident.Amount{}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.rule, diff)
		}
	}
}
