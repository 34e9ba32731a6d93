package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// The box that a line is drawn in. The browser stretches it; text is beside it and not in it, so that it can be read.
const (
	chartWidth  = 600.0
	chartHeight = 120.0
	mostCharts  = 6
	// shortSpan is the time of a chart from which on its minutes tell its moments apart.
	shortSpan = 10 * time.Minute
)

// chart is a reading's past as a line with its limit.
type chart struct {
	Title, Value, Limit string
	Bad                 bool
	// Label says in words what the picture shows.
	Label string
	// Line and Area are paths of SVG, with a gap where there was no data. LimitY is where the limit is, in the same units;
	// negative: it has none.
	Line, Area string
	LimitY     float64
	Zone       zone
	Marks      []mark
	// Labels are the numbers of the marks above the picture; none where nothing says what they mean.
	Labels   []markLabel
	Top      string
	From, To *moment
	// layout is how times are written in what belongs to the chart; empty: as everywhere.
	layout string
}

// zone is the part of the picture on the bad side of the limit.
type zone struct{ Y, Height float64 }

// drawable says whether a reading has a past that can be drawn.
func drawable(r incident.Reading) bool { return present.Past(r) != nil }

// span is the time that a chart is of; the zero span: from its first point to its last.
type span struct{ from, to time.Time }

// of is the span, or that of the points.
func (s span) of(points []incident.Point) (from, to time.Time) {
	if s.to.IsZero() {
		return points[0].At, points[len(points)-1].At
	}
	return s.from, s.to
}

// chartOf draws a reading; ok is false where there is no past. No point is outside of the span.
func (f frame) chartOf(r incident.Reading, events []happened, over span) (c chart, ok bool) {
	points := present.Past(r)
	if points == nil {
		return chart{}, false
	}
	limit := math.NaN()
	if r.Threshold != nil && !math.IsInf(*r.Threshold, 0) {
		limit = *r.Threshold
	}
	low, high := 0.0, 0.0
	for _, p := range points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	if !math.IsNaN(limit) {
		room := limit * 1.15
		if r.Unit == incident.UnitRatio && limit < 1 {
			room = min(room, 1) // nothing is more than all of it
		}
		low, high = min(low, limit), max(high, room)
	}
	if high == low {
		high = low + 1
	}
	from, to := over.of(points)
	x := func(t time.Time) float64 { return round(chartWidth * float64(t.Sub(from)) / float64(to.Sub(from))) }
	y := func(v float64) float64 { return round(chartHeight * (high - v) / (high - low)) }
	var line, area strings.Builder
	for _, run := range present.Runs(points) {
		var through strings.Builder
		for _, p := range run {
			fmt.Fprintf(&through, " %g,%g", x(p.At), y(p.Value))
		}
		first, last := run[0].At, run[len(run)-1].At
		fmt.Fprintf(&line, "M%s", through.String())
		if len(run) == 1 {
			line.WriteString("h0.1") // a line through one point has no length, and no line is drawn of that
		}
		fmt.Fprintf(&area, "M%g,%g L%s %g,%g Z", x(first), y(low), through.String(), x(last), y(low))
	}
	c = chart{
		Title: r.Label(), Value: r.Text(), Limit: present.Limit(r), Bad: present.Beyond(r), LimitY: -1,
		Line: line.String(), Area: area.String(), Top: incident.FormatValue(high, r.Unit), From: f.When(from), To: f.When(to),
	}
	switch long := to.Sub(from); {
	case long < shortSpan:
		c.layout = "15:04:05"
		c.From.Clock, c.To.Clock = c.From.Clock+from.UTC().Format(":05"), c.To.Clock+to.UTC().Format(":05")
	case long < 20*time.Hour:
		c.layout = "15:04"
	}
	if !math.IsNaN(limit) {
		c.LimitY = y(limit)
		switch r.Direction {
		case incident.HigherIsWorse:
			c.Zone = zone{0, c.LimitY}
		case incident.LowerIsWorse:
			c.Zone = zone{c.LimitY, round(chartHeight - c.LimitY)}
		case incident.Neutral:
		}
	}
	for _, e := range events {
		if !e.At.Before(from) && !e.At.After(to) {
			c.Marks = append(c.Marks, mark{e, x(e.At)})
		}
	}
	c.Label = fmt.Sprintf("%s from %s to %s: first %s, last %s, highest %s", c.Title, c.From.Clock, c.To.Clock,
		incident.FormatValue(points[0].Value, r.Unit), incident.FormatValue(points[len(points)-1].Value, r.Unit),
		incident.FormatValue(highest(points), r.Unit))
	if c.Limit != "" {
		c.Label += "; " + c.Limit
	}
	return c, true
}

func highest(points []incident.Point) float64 {
	return slices.MaxFunc(points, func(a, b incident.Point) int { return cmp.Compare(a.Value, b.Value) }).Value
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// charted are the readings whose pasts show the trouble, of those that can be drawn: the one that Slack's message
// shows, too, before all, then what is beyond its limit, then what decides about recovery or was compared around a
// change.
func charted(inc incident.Incident, can func(incident.Reading) bool) []titledReading {
	lead, _ := present.Drawn(inc, can)
	compared := map[string]bool{}
	for _, m := range present.History(inc) {
		if m.Check != nil && !m.DryRun {
			for _, moved := range m.Check.Moves {
				compared[moved.Signal] = true
			}
		}
	}
	rank := func(r titledReading) int {
		switch decides := inc.Diagnosis != nil && slices.Contains(inc.Diagnosis.Healthy, r.Signal); {
		case r.Signal == lead.Signal && lead.Signal != "":
			return 0
		case present.Beyond(r.Reading) && decides:
			return 1
		case present.Beyond(r.Reading):
			return 2
		case decides:
			return 3
		case compared[r.Signal] && !inc.Open():
			return 4
		case inc.Diagnosis != nil && rankOf(inc, r.Signal) < ranksLast:
			return 5
		}
		return 6
	}
	all := slices.DeleteFunc(titled(inc.Readings), func(r titledReading) bool { return rank(r) == 6 || !can(r.Reading) })
	slices.SortStableFunc(all, func(a, b titledReading) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// charts are the first of those that are charted.
func (f frame) charts(inc incident.Incident, events []happened, over span) []chart {
	var out []chart
	for _, r := range charted(inc, drawable) {
		if c, ok := f.chartOf(r.Reading, events, over); ok && len(out) < mostCharts {
			out = append(out, c)
		}
	}
	return out
}

// spark is a reading's past on one line of a table.
type spark struct {
	Line, Label string
	LimitY      float64
}

// sparkOf draws a reading small; nil where there is no past.
func (f frame) sparkOf(r incident.Reading) *spark {
	c, ok := f.chartOf(r, nil, span{})
	if !ok {
		return nil
	}
	return &spark{Line: c.Line, Label: c.Label, LimitY: c.LimitY}
}
