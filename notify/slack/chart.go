package slack

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

const (
	// minPoints is the least number of points that make a line worth looking at.
	minPoints = 3
	// maxTitle keeps a signal's line in the text on two lines of a phone.
	maxTitle = 60
)

// curve is the past of one signal in a unit that people think in, with what it should keep to.
type curve struct {
	name, title string
	unit        string // "s", "ms", "%"; empty for a count
	lower       bool   // low values are bad
	points      []incident.Point
	limit       float64
	limitName   string
}

// drawn is the signal to draw. ok is false when there is none.
func drawn(inc incident.Incident) (out curve, ok bool) {
	r, ok := present.Drawn(inc, func(r incident.Reading) bool {
		_, can := curveOf(r)
		return can
	})
	if !ok {
		return curve{}, false
	}
	return curveOf(r)
}

func curveOf(r incident.Reading) (curve, bool) {
	past := present.Past(r)
	if past == nil || r.Threshold == nil || !usable(*r.Threshold) || *r.Threshold <= 0 {
		return curve{}, false
	}
	c := curve{
		name: shortName(r), title: cmp.Or(present.Line(r.Label()), "signal"), limitName: "limit",
		lower: r.Direction == incident.LowerIsWorse, points: past,
	}
	if r.ThresholdFrom == incident.OriginSLO {
		c.limitName = "target"
	}
	if c.name == c.limitName {
		c.name = "signal"
	}
	scale := 1.0
	scale, c.unit = scaleOf(r.Unit, max(*r.Threshold, c.highest()))
	c.limit = *r.Threshold * scale
	for n := range c.points {
		c.points[n].Value *= scale
	}
	return c, true
}

// scaleOf is by how much values are multiplied for people, and the unit that they have then.
func scaleOf(u incident.Unit, highest float64) (scale float64, unit string) {
	switch u {
	case incident.UnitSeconds:
		if highest < 1 {
			return 1000, "ms"
		}
		return 1, "s"
	case incident.UnitRatio:
		return 100, "%"
	case incident.UnitPerSecond:
		return 1, "/s"
	case incident.UnitBytes:
		return 1.0 / (1 << 30), "GiB"
	case incident.UnitTokens:
		return 1, "tokens"
	case incident.UnitCount:
	}
	return 1, ""
}

func usable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && math.Abs(v) < 1e12 }

func (c curve) highest() float64 {
	return slices.MaxFunc(c.points, func(a, b incident.Point) int { return cmp.Compare(a.Value, b.Value) }).Value
}

func (c curve) worse(a, b float64) float64 {
	if c.lower {
		return min(a, b)
	}
	return max(a, b)
}

// shortName is the short name, or the title if that fits into a legend, else the signal's name.
func shortName(r incident.Reading) string {
	for _, t := range []string{present.Line(r.Short), present.Line(r.Title)} {
		if t != "" && utf8.RuneCountInString(t) <= maxLabel {
			return t
		}
	}
	return cmp.Or(present.Clip(present.Line(r.Signal), maxLabel), "signal")
}

// sample is one value of the line, with its time as the axis shows it.
type sample struct {
	label string
	value float64
}

// samples puts the points into bins; a bin has its worst point, so that no peak is lost. Bins without one are left out.
// Where the last bin's worst point is not the newest one, that one follows: the line ends at what is true now, or a
// recovery would be seen only when the next bin begins. They are at most maxPoints.
func (c curve) samples() []sample {
	newest := c.points[len(c.points)-1]
	start, end := c.points[0].At, newest.At
	start, width, bins := roundBins(start, end, min(len(c.points), maxPoints-1))
	binned := map[int]float64{}
	for _, p := range c.points {
		at := min(int(p.At.Sub(start)/width), bins-1)
		if old, ok := binned[at]; ok {
			p.Value = c.worse(old, p.Value)
		}
		binned[at] = p.Value
	}
	layout := "15:04"
	switch span := width * time.Duration(bins); {
	case width < time.Minute:
		layout = "15:04:05"
	case span >= 24*time.Hour:
		layout = "Jan 2 15:04"
	}
	var out []sample
	seen := map[string]bool{}
	for n := range bins {
		label := start.Add(time.Duration(n) * width).UTC().Format(layout)
		if v, ok := binned[n]; ok && !seen[label] {
			seen[label] = true
			out = append(out, sample{label, rounded(v)})
		}
	}
	last := sample{end.UTC().Format(layout), rounded(newest.Value)}
	if !seen[last.label] && out[len(out)-1].value != last.value {
		out = append(out, last)
	}
	return out
}

func rounded(v float64) float64 { return math.Round(v*100) / 100 }

// roundBins cuts the time from start to end into at most most bins of a round width.
func roundBins(start, end time.Time, most int) (time.Time, time.Duration, int) {
	span := end.Sub(start)
	for _, width := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
		5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour,
	} {
		first := start.Truncate(width)
		if n := int(end.Sub(first)/width) + 1; n <= most && (width >= time.Minute || span < 10*time.Minute) {
			return first, width, n
		}
	}
	return start, max(span/time.Duration(most), time.Second), most
}

// chart draws one signal in its own unit, and what it should keep to as a line. It is nil when there is too little to
// draw.
func chart(inc incident.Incident) *slackgo.DataVisualizationBlock {
	c, ok := drawn(inc)
	if !ok {
		return nil
	}
	samples := c.samples()
	if len(samples) < minPoints {
		return nil
	}
	labels := make([]string, len(samples))
	values := make([]slackgo.DataVisualizationDataPoint, len(samples))
	limits := make([]slackgo.DataVisualizationDataPoint, len(samples))
	for n, s := range samples {
		labels[n] = s.label
		values[n] = slackgo.NewDataVisualizationDataPoint(s.label, s.value)
		limits[n] = slackgo.NewDataVisualizationDataPoint(s.label, c.limit)
	}
	axis := slackgo.NewDataVisualizationAxisConfig(labels...).WithXLabel("UTC")
	title := c.name
	if c.unit != "" {
		axis, title = axis.WithYLabel(c.unit), title+" ("+c.unit+")"
	}
	b := slackgo.NewDataVisualizationBlock(title, slackgo.NewDataVisualizationLineChart(axis,
		slackgo.NewDataVisualizationDataSeries(c.name, values...),
		slackgo.NewDataVisualizationDataSeries(c.limitName, limits...)))
	if b.Validate() != nil {
		return nil // the text stands in for it
	}
	return b
}

var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline is the chart as one line of text; empty when there is too little to draw.
func sparkline(inc incident.Incident) string {
	c, ok := drawn(inc)
	if !ok {
		return ""
	}
	samples := c.samples()
	if len(samples) < minPoints {
		return ""
	}
	span := c.points[len(c.points)-1].At.Sub(c.points[0].At)
	unit := c.unit
	if unit != "%" && unit != "/s" && unit != "" {
		unit = " " + unit
	}
	amount := func(v float64) string { return incident.FormatValue(v, incident.UnitCount) + unit }
	return fmt.Sprintf("`%s` %s over %s: %s → %s (%s %s)", spark(samples, c.limit), escape(c.title, maxTitle),
		incident.FormatDuration(span), amount(samples[0].value), amount(samples[len(samples)-1].value), c.limitName,
		amount(c.limit))
}

func spark(samples []sample, limit float64) string {
	low, high := 0.0, limit
	for _, s := range samples {
		low, high = min(low, s.value), max(high, s.value)
	}
	var b strings.Builder
	for _, s := range samples {
		b.WriteRune(bars[int(math.Round((s.value-low)/(high-low)*float64(len(bars)-1)))])
	}
	return b.String()
}
