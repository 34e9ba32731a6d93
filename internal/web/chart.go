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
	Top        string
	From, To   *moment
}

// zone is the part of the picture on the bad side of the limit.
type zone struct{ Y, Height float64 }

// mark is something that happened while the line was drawn.
type mark struct {
	X    float64
	Kind string
	Text string
}

// happened is an event that charts show.
type happened struct {
	At   time.Time
	Kind string
	Text string
}

// drawable says whether a reading has a past that can be drawn.
func drawable(r incident.Reading) bool { return present.Past(r) != nil }

// chartOf draws a reading; ok is false where there is no past.
func (f frame) chartOf(r incident.Reading, events []happened) (c chart, ok bool) {
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
	from, to := points[0].At, points[len(points)-1].At
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
			c.Marks = append(c.Marks, mark{x(e.At), e.Kind, e.Text})
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

// charts are the pasts that show the trouble: the one that Slack's message shows, too, before all, then what is beyond
// its limit, then what decides about recovery.
func (f frame) charts(inc incident.Incident, events []happened) []chart {
	lead, _ := present.Drawn(inc, drawable)
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
		case inc.Diagnosis != nil && rankOf(inc, r.Signal) < ranksLast:
			return 4
		}
		return 5
	}
	all := slices.DeleteFunc(titled(inc.Readings), func(r titledReading) bool { return rank(r) == 5 })
	slices.SortStableFunc(all, func(a, b titledReading) int { return cmp.Compare(rank(a), rank(b)) })
	var out []chart
	for _, r := range all {
		if c, ok := f.chartOf(r.Reading, events); ok && len(out) < mostCharts {
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
	c, ok := f.chartOf(r, nil)
	if !ok {
		return nil
	}
	return &spark{Line: c.Line, Label: c.Label, LimitY: c.LimitY}
}
