package evidence

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A value is compared with one point a minute of the hour before, and only when there are as many points as the
// published detector asks for ("vLLM v1 Performance Profiling", MetricAnomalyDetector: at least 20 samples).
const (
	baselineStep   = time.Minute
	baselinePoints = 20
)

// The parts of a baseline's answer.
const (
	partMean      = "mean"
	partDeviation = "deviation"
	partScore     = "score"
	partPoints    = "points"
	partYesterday = "yesterday"
)

// baseline asks how a signal compares with its own past, in one request. Its failure costs the comparison, not the
// reading.
func (c *Collector) baseline(ctx context.Context, p prepared, at time.Time) (*incident.Baseline, string) {
	got, err := c.prom.Instant(ctx, c.baselineQuery(p.query), at)
	if err != nil {
		return nil, "its usual value could not be read: " + err.Error()
	}
	parts, err := vectorParts(got.Value)
	if err != nil {
		return nil, "its usual value could not be read: " + err.Error()
	}
	return baselineOf(func(part string) *float64 { return finite(parts[part]) }), got.Note
}

// baselineQuery leaves out the last five minutes: they are the trouble itself and still in every rate.
func (c *Collector) baselineQuery(query string) string {
	window, step := model.Duration(c.cfg.BaselineWindow), model.Duration(baselineStep)
	// NaN, as in a quiet minute, would make every mean NaN; the comparison drops it.
	before := fmt.Sprintf("((%s) >= 0)[%s:%s] offset 5m", query, window, step)
	return joined([]part{
		{partMean, "avg_over_time(" + before + ")"},
		{partDeviation, "stddev_over_time(" + before + ")"},
		{partScore, fmt.Sprintf("((%s) - avg_over_time(%s)) / stddev_over_time(%s)", query, before, before)},
		{partPoints, "count_over_time(" + before + ")"},
		{partYesterday, fmt.Sprintf("avg_over_time(((%s) >= 0)[%s:%s] offset 1d)", query, window, step)},
	})
}

// baselineOf is nil when the past is too short. A signal that never moved has no score: any change would be infinitely
// unusual.
func baselineOf(get func(part string) *float64) *incident.Baseline {
	mean, deviation, points := get(partMean), get(partDeviation), get(partPoints)
	if mean == nil || deviation == nil || points == nil || *points < baselinePoints {
		return nil
	}
	b := &incident.Baseline{Mean: *mean, Deviation: *deviation, Yesterday: get(partYesterday)}
	if *deviation > 0 {
		b.Score = get(partScore)
	}
	return b
}

// finite is the one number of a part; nil for anything else.
func finite(v model.Vector) *float64 {
	value, ok, err := single(v)
	if err != nil || !ok {
		return nil
	}
	kept, _, _ := bounded(value, edges{})
	return kept
}
