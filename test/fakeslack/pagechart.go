package fakeslack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The drawing area of a chart, in the units of its SVG.
const (
	plotLeft, plotRight = 44.0, 632.0
	plotTop, plotBottom = 10.0, 194.0
)

// chartView is a chart as coordinates; the template only writes them down.
type chartView struct {
	Chart
	Summary string // what a screen reader says
	Ticks   []chartTick
	XTicks  []chartTick
	Lines   []chartLine
}

type chartTick struct{ At, Label string }

type chartDot struct{ X, Y, Title string }

type chartLine struct {
	N      int // 1 to 6, the colour
	Name   string
	Last   string
	Points string // of the line
	Dots   []chartDot
}

func drawChart(c Chart) *chartView {
	v := &chartView{Chart: c, Summary: summary(c)}
	low, high := chartRange(c)
	step := niceStep(high - low)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	y := func(value float64) float64 { return plotBottom - (value-low)/(high-low)*(plotBottom-plotTop) }
	for i := range int(math.Round((high-low)/step)) + 1 {
		t := low + float64(i)*step
		v.Ticks = append(v.Ticks, chartTick{num(y(t)), shortNumber(t)})
	}
	x := xScale(c)
	every := labelStride(c.Labels)
	for i, label := range c.Labels {
		// Counted from the end, so that the newest point always has its label.
		if (len(c.Labels)-1-i)%every == 0 {
			v.XTicks = append(v.XTicks, chartTick{num(x(i)), label})
		}
	}
	for n, s := range c.Series {
		v.Lines = append(v.Lines, drawSeries(c, n, s, x, y))
	}
	return v
}

// labelStride returns k where every k-th label fits beside the others.
func labelStride(labels []string) int {
	const perRune, gap = 6.5, 14.0
	widest := 0
	for _, l := range labels {
		widest = max(widest, utf8.RuneCountInString(l))
	}
	needed := float64(len(labels)) * (float64(widest)*perRune + gap)
	return max(1, int(math.Ceil(needed/(plotRight-plotLeft))))
}

func summary(c Chart) string {
	parts := []string{c.Type + " chart: " + c.Title}
	for _, s := range c.Series {
		if len(s.Values) > 0 {
			parts = append(parts,
				fmt.Sprintf("%s from %s to %s", s.Name, shortNumber(s.Values[0]), shortNumber(s.Values[len(s.Values)-1])))
		}
	}
	return strings.Join(parts, "; ")
}

// xScale puts the points from edge to edge.
func xScale(c Chart) func(int) float64 {
	const inset = 8
	n := float64(len(c.Labels))
	return func(i int) float64 {
		if n == 1 {
			return (plotLeft + plotRight) / 2
		}
		return plotLeft + inset + float64(i)/(n-1)*(plotRight-plotLeft-2*inset)
	}
}

func drawSeries(c Chart, n int, s ChartSeries, x func(int) float64, y func(float64) float64) chartLine {
	line := chartLine{N: n + 1, Name: s.Name}
	if len(s.Values) > 0 {
		line.Last = shortNumber(s.Values[len(s.Values)-1])
	}
	points := make([]string, len(s.Values))
	for i, value := range s.Values {
		points[i] = num(x(i)) + "," + num(y(value))
		title := fmt.Sprintf("%s, %s: %s", s.Name, c.Labels[i], shortNumber(value))
		line.Dots = append(line.Dots, chartDot{num(x(i)), num(y(value)), title})
	}
	line.Points = strings.Join(points, " ")
	return line
}

// drawable bounds what an axis spans: beyond it floating point runs out.
const drawable = 1e300

// chartRange includes zero, so that heights can be compared.
func chartRange(c Chart) (float64, float64) {
	low, high := 0.0, 0.0
	for _, s := range c.Series {
		for _, v := range s.Values {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if high-low < 1/drawable {
		high = low + 1
	}
	return math.Max(low, -drawable), math.Min(high, drawable)
}

// niceStep returns 1, 2 or 5 times a power of ten, for four to eight steps.
func niceStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{1, 2, 5} {
		if span/(m*power) <= 5 {
			return m * power
		}
	}
	return 10 * power
}

func num(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// shortNumber writes a value as a person would say it.
func shortNumber(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e9:
		return trimZeros(v/1e9) + "G"
	case a >= 1e6:
		return trimZeros(v/1e6) + "M"
	case a >= 1e4:
		return trimZeros(v/1e3) + "k"
	default:
		return trimZeros(v)
	}
}

func trimZeros(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}
