package fakeslack

import (
	"math"
	"strings"
	"testing"
)

func TestChartGeometry(t *testing.T) {
	t.Parallel()
	c := Chart{
		Title: "Signals", Type: "line", Labels: []string{"a", "b", "c"},
		Series: []ChartSeries{{"one", []float64{0, 2, 4}}, {"two", []float64{1, 1, 1}}},
	}
	v := drawChart(c)
	if first, last := v.Ticks[0],
		v.Ticks[len(v.Ticks)-1]; first.Label != "0" || first.At != "194.0" || last.Label != "4" || last.At != "10.0" {
		t.Errorf("ticks = %+v, want 0 at the bottom and 4 at the top", v.Ticks)
	}
	if got := v.Lines[0].Points; got != "52.0,194.0 338.0,102.0 624.0,10.0" {
		t.Errorf("points = %s", got)
	}
	if len(v.XTicks) != 3 || v.Lines[1].N != 2 || v.Lines[0].Last != "4" ||
		!strings.Contains(v.Summary, "one from 0 to 4") {
		t.Errorf("view = %+v", v)
	}
}

func TestChartsBelowZero(t *testing.T) {
	t.Parallel()
	v := drawChart(Chart{Type: "line", Labels: []string{"a", "b"}, Series: []ChartSeries{{"s", []float64{-2, 2}}}})
	if v.Lines[0].Points != "52.0,194.0 624.0,10.0" {
		t.Errorf("view = %+v", v)
	}
}

func TestChartNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 1.5: "1.5", 1.23456: "1.235", 9999: "9999", 12345: "12.345k",
		-2e6: "-2M", 3e9: "3G",
	} {
		if got := shortNumber(v); got != want {
			t.Errorf("shortNumber(%v) = %s, want %s", v, got, want)
		}
	}
	for span, want := range map[float64]float64{4: 1, 5: 1, 6: 2, 0.3: 0.1, 100: 20, 1000: 200} {
		if got := niceStep(span); math.Abs(got-want) > 1e-9*want {
			t.Errorf("niceStep(%v) = %v, want %v", span, got, want)
		}
	}
}

func FuzzChartsOfAnyNumbersAreDrawn(f *testing.F) {
	f.Add(0.0, 1.0, 2.0)
	f.Add(math.MaxFloat64, -math.MaxFloat64, 0.0)
	f.Add(math.SmallestNonzeroFloat64, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, x, y, z float64) {
		v := drawChart(Chart{Type: "line", Labels: []string{"a", "b", "c"}, Series: []ChartSeries{{"s", []float64{x, y, z}}}})
		if len(v.Lines) == 0 || len(v.Ticks) > 20 {
			t.Fatalf("%v %v %v: %d lines, %d ticks", x, y, z, len(v.Lines), len(v.Ticks))
		}
	})
}
