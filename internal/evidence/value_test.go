package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestBoundedSaysWhatANumberProves(t *testing.T) {
	t.Parallel()
	histogram := edges{lowest: 0.3, highest: 60}
	for _, tt := range []struct {
		name  string
		v     float64
		edges edges
		want  string
		note  bool
	}{
		{"inside", 7.5, histogram, "7.5 s", false},
		{"at the first bucket", 0.3, histogram, "≤ 300 ms", false},
		{"interpolated inside the first bucket", 0.285, histogram, "≤ 300 ms", false},
		{"zero in a histogram is a bound", 0, histogram, "≤ 300 ms", false},
		{"at the last bucket", 60, histogram, "≥ 60 s", false},
		{"above the last bucket", math.Inf(1), histogram, "≥ 60 s", false},
		{"no samples", math.NaN(), histogram, "no data", false},
		{"a true zero", 0, edges{}, "0 s", false},
		{"division by zero", math.Inf(1), edges{}, "no data", true},
		{"negative division by zero", math.Inf(-1), edges{lowest: 1}, "no data", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			value, bound, note := bounded(tt.v, tt.edges)
			got := incident.Reading{Value: value, Bound: bound, Unit: incident.UnitSeconds}.Text()
			if got != tt.want || (note != "") != tt.note {
				t.Errorf("bounded(%v) reads %q with note %q; want %q", tt.v, got, note, tt.want)
			}
		})
	}
}

func TestSingleTakesOneNumberOrRefuses(t *testing.T) {
	t.Parallel()
	sample := &model.Sample{Value: 3}
	for _, tt := range []struct {
		name  string
		v     model.Value
		value float64
		ok    bool
		err   string
	}{
		{"one series", model.Vector{sample}, 3, true, ""},
		{"a scalar", &model.Scalar{Value: 4}, 4, true, ""},
		{"an empty vector", model.Vector{}, 0, false, ""},
		{"several series", model.Vector{sample, sample, sample}, 0, false, "3 series"},
		{
			"a native histogram, whose value is zero",
			model.Vector{{Histogram: &model.SampleHistogram{}}},
			0, false,
			"native histogram",
		},
		{"a matrix", model.Matrix{}, 0, false, "gives a matrix"},
		{"nothing at all", nil, 0, false, "nothing that can be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, ok, err := single(tt.v)
			if v != tt.value || ok != tt.ok || (err != nil) != (tt.err != "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("single = %v, %v, %v", v, ok, err)
			}
		})
	}
}

func TestPastLeavesGapsOut(t *testing.T) {
	t.Parallel()
	pairs := []model.SamplePair{
		{Timestamp: 1000, Value: 1},
		{Timestamp: 2000, Value: model.SampleValue(math.NaN())},
		{Timestamp: 3000, Value: model.SampleValue(math.Inf(1))},
		{Timestamp: 4000, Value: 4},
	}
	got, err := past(model.Matrix{{Values: pairs}})
	if err != nil || len(got) != 2 || got[0].Value != 1 || got[1].Value != 4 || got[1].At.UnixMilli() != 4000 {
		t.Errorf("past = %v, %v", got, err)
	}
	if got, err := past(model.Matrix{}); err != nil || got != nil {
		t.Errorf("an empty past = %v, %v", got, err)
	}
	for name, v := range map[string]model.Value{
		"two series": model.Matrix{{}, {}}, "a vector": model.Vector{},
		"histograms": model.Matrix{{Histograms: []model.SampleHistogramPair{{}}}},
	} {
		if got, err := past(v); err == nil {
			t.Errorf("%s: past = %v without an error", name, got)
		}
	}
}
