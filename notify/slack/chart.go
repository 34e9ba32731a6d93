package slack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const (
	// minPoints is the least number of points that make a line worth looking at.
	minPoints = 3
	limitName = "limit"
	// maxTitle keeps a signal's line in the text on two lines of a phone.
	maxTitle = 60
)

// curve is a signal's past as multiples of its threshold.
type curve struct {
	name   string // in the legend
	title  string // in text
	lower  bool   // low values are bad
	points []incident.Point
	worst  float64
}

// curves returns the signals that can be drawn, the worst first. Only those with a threshold and a past count; nothing
// is made up.
func curves(readings map[string]incident.Reading) []curve {
	var out []curve
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		r := readings[name]
		if r.Threshold == nil || !usable(*r.Threshold) || *r.Threshold <= 0 {
			continue
		}
		c := curve{
			name: shortName(name, r), title: cmp.Or(line(r.Title), line(name)),
			lower: r.Direction == incident.LowerIsWorse,
		}
		for _, p := range r.Series {
			if v := p.Value / *r.Threshold; usable(v) && !p.At.IsZero() {
				c.points = append(c.points, incident.Point{At: p.At, Value: v})
			}
		}
		if len(c.points) == 0 {
			continue
		}
		slices.SortStableFunc(c.points, func(a, b incident.Point) int { return a.At.Compare(b.At) })
		c.worst = c.points[0].Value
		for _, p := range c.points {
			c.worst = c.worse(c.worst, p.Value)
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b curve) int { return cmp.Compare(b.badness(), a.badness()) })
	return unique(out)
}

func usable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && math.Abs(v) < 1e12 }

func (c curve) worse(a, b float64) float64 {
	if c.lower {
		return min(a, b)
	}
	return max(a, b)
}

// badness orders curves: how far the worst point is on the bad side of the threshold.
func (c curve) badness() float64 {
	if c.lower {
		return 1 - c.worst
	}
	return c.worst - 1
}

// shortName is the short name, or the title if that fits into a legend, else the signal's name.
func shortName(name string, r incident.Reading) string {
	for _, t := range []string{line(r.Short), line(r.Title)} {
		if t != "" && utf8.RuneCountInString(t) <= maxLabel {
			return t
		}
	}
	return cmp.Or(clip(line(name), maxLabel), "signal")
}

// unique makes the names differ, as a legend must.
func unique(in []curve) []curve {
	seen := map[string]bool{limitName: true}
	for i := range in {
		name := in[i].name
		for n := 2; seen[in[i].name]; n++ {
			tail := fmt.Sprintf(" %d", n)
			in[i].name = clip(name, maxLabel-len(tail)) + tail
		}
		seen[in[i].name] = true
	}
	return in
}

// grid is several curves on the same points in time.
type grid struct {
	labels []string
	names  []string
	values [][]float64 // by curve, then by label
}

// align puts curves on one grid of at most maxPoints bins and drops every bin in which one of them has no point. When
// too little is left, the curve with the fewest points goes, until the rest can be drawn.
func align(cs []curve) (grid, bool) {
	cs = slices.Clone(cs[:min(len(cs), maxSeries-1)])
	for len(cs) > 0 {
		if g := gridOf(cs); len(g.labels) >= minPoints {
			return g, true
		}
		sparse := slices.MinFunc(cs, func(a, b curve) int { return cmp.Compare(len(a.points), len(b.points)) })
		cs = slices.DeleteFunc(cs, func(c curve) bool { return c.name == sparse.name })
	}
	return grid{}, false
}

func gridOf(cs []curve) grid {
	start, end, longest := cs[0].points[0].At, cs[0].points[0].At, 0
	for _, c := range cs {
		longest = max(longest, len(c.points))
		for _, p := range c.points {
			if p.At.Before(start) {
				start = p.At
			}
			if p.At.After(end) {
				end = p.At
			}
		}
	}
	start, width, bins := roundBins(start, end, min(longest, maxPoints))
	binned := make([]map[int]float64, len(cs))
	for i, c := range cs {
		binned[i] = map[int]float64{}
		for _, p := range c.points {
			at := min(int(p.At.Sub(start)/width), bins-1)
			if old, ok := binned[i][at]; ok {
				p.Value = c.worse(old, p.Value)
			}
			binned[i][at] = p.Value
		}
	}
	return complete(cs, binned, start, width, bins)
}

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

// complete keeps the bins in which every curve has a point.
func complete(cs []curve, binned []map[int]float64, start time.Time, width time.Duration, bins int) grid {
	g := grid{values: make([][]float64, len(cs))}
	for _, c := range cs {
		g.names = append(g.names, c.name)
	}
	layout := "15:04"
	switch span := width * time.Duration(bins); {
	case width < time.Minute:
		layout = "15:04:05"
	case span >= 24*time.Hour:
		layout = "Jan 2 15:04"
	}
	seen := map[string]bool{}
	for n := range bins {
		label := start.Add(time.Duration(n) * width).UTC().Format(layout)
		if seen[label] || slices.ContainsFunc(binned, func(b map[int]float64) bool { _, ok := b[n]; return !ok }) {
			continue
		}
		seen[label] = true
		g.labels = append(g.labels, label)
		for i := range cs {
			g.values[i] = append(g.values[i], math.Round(binned[i][n]*100)/100)
		}
	}
	return g
}

// chart draws each signal as a multiple of its threshold, so that they share an axis, with the threshold itself at 1.
// It is nil when there is too little to draw.
func chart(readings map[string]incident.Reading) *slackgo.DataVisualizationBlock {
	g, ok := align(curves(readings))
	if !ok {
		return nil
	}
	series := func(name string, value func(i int) float64) slackgo.DataVisualizationDataSeries {
		points := make([]slackgo.DataVisualizationDataPoint, len(g.labels))
		for i, label := range g.labels {
			points[i] = slackgo.NewDataVisualizationDataPoint(label, value(i))
		}
		return slackgo.NewDataVisualizationDataSeries(name, points...)
	}
	var all []slackgo.DataVisualizationDataSeries
	for n, name := range g.names {
		all = append(all, series(name, func(i int) float64 { return g.values[n][i] }))
	}
	all = append(all, series(limitName, func(int) float64 { return 1 }))
	axis := slackgo.NewDataVisualizationAxisConfig(g.labels...).WithYLabel("times the limit").WithXLabel("UTC")
	b := slackgo.NewDataVisualizationBlock("Signals as multiples of their limits",
		slackgo.NewDataVisualizationLineChart(axis, all...))
	if b.Validate() != nil {
		return nil // the text stands in for it
	}
	return b
}

var bars = []rune("▁▂▃▄▅▆▇█")

// sparklines is the chart as text, one line per signal, the worst first.
func sparklines(readings map[string]incident.Reading) []string {
	var out []string
	for _, c := range curves(readings) {
		if len(c.points) < 2 || len(out) == maxSeries-1 {
			continue
		}
		g := gridOf([]curve{c})
		first, last := g.values[0][0], g.values[0][len(g.values[0])-1]
		out = append(out,
			fmt.Sprintf("`%s` %s: %s → %s times its limit", spark(g.values[0]), escape(c.title, maxTitle), multiple(first),
				multiple(last)))
	}
	return out
}

func multiple(v float64) string { return incident.FormatValue(v, incident.UnitCount) }

func spark(values []float64) string {
	low, high := min(0, slices.Min(values)), max(1, slices.Max(values))
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(bars[int(math.Round((v-low)/(high-low)*float64(len(bars)-1)))])
	}
	return b.String()
}
