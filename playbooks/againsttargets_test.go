package playbooks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func TestTargetsAreMetOnlyByWhatWasMeasured(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	pool := incident.Pool{SLO: incident.SLO{TTFT: 0.5, E2E: 10}}
	const yes, no, open = incident.True, incident.False, incident.Undecided
	none := incident.Reading{}
	for name, tc := range map[string]struct {
		ttft, e2e  incident.Reading
		want       [2]incident.Truth
		wantExcess float64
	}{
		"met":            {exactly(0.25), exactly(5), [2]incident.Truth{yes, yes}, 0.5},
		"missed":         {exactly(2), exactly(15), [2]incident.Truth{no, no}, 4},
		"exactly":        {exactly(0.5), exactly(10), [2]incident.Truth{yes, yes}, 1},
		"no data":        {none, none, [2]incident.Truth{open, open}, 0},
		"an error":       {incident.Reading{Error: "x"}, exactly(5), [2]incident.Truth{open, yes}, 0.5},
		"a lower bound":  {bound(1, incident.AtLeast), exactly(5), [2]incident.Truth{no, yes}, 2},
		"an upper bound": {bound(0.3, incident.AtMost), exactly(5), [2]incident.Truth{yes, yes}, 0.5},
		"a bound that does not settle it": {
			bound(0.3, incident.AtLeast), exactly(5), [2]incident.Truth{open, yes}, 0.6,
		},
	} {
		ev := incident.Evidence{Readings: map[string]incident.Reading{"ttft_p95": tc.ttft, "e2e_p95": tc.e2e}}
		r := c.Diagnose(playbooks.Input{Pool: pool, Evidence: ev})
		got, excess := r.Targets, r.Excess
		if len(got) != 2 {
			t.Fatalf("%s: %+v: a target that the pool does not have is no condition", name, got)
		}
		if d := cmp.Diff(tc.want, [2]incident.Truth{got[0].Truth, got[1].Truth}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if excess != tc.wantExcess {
			t.Errorf("%s: excess %g, want %g", name, excess, tc.wantExcess)
		}
	}
	ev := incident.Evidence{Readings: map[string]incident.Reading{"ttft_p95": exactly(2)}}
	got := c.Diagnose(playbooks.Input{Pool: pool, Evidence: ev}).Targets
	want := incident.Condition{
		Text: "ttft_p95 <= slo.ttft", Truth: incident.False, Signal: "ttft_p95", Label: "TTFT p95", Seen: "2 s",
		Relation: incident.RelationAtMost, Threshold: "500 ms", ThresholdFrom: incident.OriginSLO,
		SeenValue:      incident.Amount{Value: 2, Unit: incident.UnitSeconds},
		ThresholdValue: incident.Amount{Value: 0.5, Unit: incident.UnitSeconds},
	}
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func exactly(v float64) incident.Reading { return bound(v, incident.Exact) }
