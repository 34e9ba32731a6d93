package evidence

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// errNativeHistogram is for a sample that client_golang reports with value 0.
var errNativeHistogram = errors.New(
	"the query gives a native histogram, not a number: use histogram_quantile or histogram_avg",
)

// single takes the one number out of an answer. ok is false for an empty answer. More than one series is an error: the
// query says nothing about which of them counts.
func single(v model.Value) (value float64, ok bool, err error) {
	switch v := v.(type) {
	case *model.Scalar:
		return float64(v.Value), true, nil
	case model.Vector:
		switch {
		case len(v) == 0:
			return 0, false, nil
		case len(v) > 1:
			return 0, false, fmt.Errorf("the query gives %d series, it must give one: aggregate it", len(v))
		case v[0].Histogram != nil:
			return 0, false, errNativeHistogram
		}
		return float64(v[0].Value), true, nil
	case nil:
		return 0, false, errors.New("the answer holds nothing that can be read")
	default:
		return 0, false, fmt.Errorf("the query gives a %s, it must give one number", v.Type())
	}
}

// edges are the lowest and highest finite bucket bounds of the histogram that a reading rests on. Zero: unknown, or not
// a histogram.
type edges struct{ lowest, highest float64 }

// bounded turns a number into what it proves. NaN is what histogram_quantile gives without samples and 0/0 gives: no
// data. +Inf above a histogram's edge is "at least the edge"; any other infinity is a division by zero and measures
// nothing.
func bounded(v float64, e edges) (value *float64, bound incident.Bound, note string) {
	switch {
	case math.IsNaN(v):
		return nil, incident.Exact, ""
	case e.highest > 0 && v >= e.highest:
		return &e.highest, incident.AtLeast, ""
	case math.IsInf(v, 0):
		return nil, incident.Exact, fmt.Sprintf("Prometheus answered %v, which measures nothing (a division by zero?)", v)
	case e.lowest > 0 && v <= e.lowest:
		return &e.lowest, incident.AtMost, ""
	}
	return &v, incident.Exact, ""
}

// past turns a range answer into points, without the times at which there was no data.
func past(v model.Value) ([]incident.Point, error) {
	m, ok := v.(model.Matrix)
	switch {
	case !ok:
		return nil, errors.New("the query has no past that can be drawn")
	case len(m) == 0:
		return nil, nil
	case len(m) > 1:
		return nil, fmt.Errorf("the query gives %d series over time, it must give one", len(m))
	case len(m[0].Histograms) > 0:
		return nil, errNativeHistogram
	}
	points := make([]incident.Point, 0, len(m[0].Values))
	for _, s := range m[0].Values {
		if f := float64(s.Value); !math.IsNaN(f) && !math.IsInf(f, 0) {
			points = append(points, incident.Point{At: s.Timestamp.Time().UTC().Round(time.Millisecond), Value: f})
		}
	}
	return points, nil
}
