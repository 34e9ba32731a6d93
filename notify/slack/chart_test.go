package slack

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// past makes points a minute apart that end at start.
func past(values ...float64) []incident.Point {
	out := make([]incident.Point, len(values))
	for n, v := range values {
		out[n] = incident.Point{At: start.Add(time.Duration(n-len(values)+1) * time.Minute), Value: v}
	}
	return out
}

func signal(title string, threshold float64, points []incident.Point) incident.Reading {
	return incident.Reading{Title: title, Threshold: new(threshold), Direction: incident.HigherIsWorse, Series: points}
}

// shown is the chart as Slack gets it.
func shown(t *testing.T, readings map[string]incident.Reading) (fakeslack.Chart, bool) {
	t.Helper()
	b := chart(readings)
	if b == nil {
		return fakeslack.Chart{}, false
	}
	raw, err := json.Marshal([]any{b})
	if err != nil {
		t.Fatal(err)
	}
	return fakeslack.Message{Blocks: raw}.Charts()[0], true
}

func TestChartShowsMultiplesOfTheThreshold(t *testing.T) {
	t.Parallel()
	got, ok := shown(t, map[string]incident.Reading{
		"ttft": signal("TTFT p95", 2, past(1, 2, 7)), "waiting": signal("Waiting", 10, past(5, 10, 41)),
		"no_limit": {Series: past(9, 9, 9)},
	})
	want := fakeslack.Chart{
		Title: "Signals as multiples of their limits", Type: "line", Labels: []string{"03:08", "03:09", "03:10"},
		XLabel: "UTC", YLabel: "times the limit",
		Series: []fakeslack.ChartSeries{
			{Name: "Waiting", Values: []float64{0.5, 1, 4.1}},
			{Name: "TTFT p95", Values: []float64{0.5, 1, 3.5}},
			{Name: "limit", Values: []float64{1, 1, 1}},
		},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
}

func TestChartLeavesOutTimesWhereASignalIsMissingAndFillsNothing(t *testing.T) {
	t.Parallel()
	holes := past(1, 2, math.NaN(), 4, math.Inf(1), 6)
	got, ok := shown(t,
		map[string]incident.Reading{"a": signal("a", 1, past(9, 9, 9, 9, 9, 9)), "b": signal("b", 1, holes)})
	if !ok {
		t.Fatal("no chart")
	}
	if diff := cmp.Diff([]string{"03:05", "03:06", "03:08", "03:10"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1, 2, 4, 6}, got.Series[1].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestChartKeepsTheWorstPointOfABin(t *testing.T) {
	t.Parallel()
	values := make([]float64, 121)
	for n := range values {
		values[n] = 1
	}
	values[60] = 50
	low := signal("low", 1, past(values...))
	low.Direction = incident.LowerIsWorse
	values[60] = 0.1
	low.Series = past(values...)
	high := make([]float64, 121)
	copy(high, values)
	high[60] = 50
	got, ok := shown(t, map[string]incident.Reading{"high": signal("high", 1, past(high...)), "low": low})
	if !ok || len(got.Labels) > maxPoints || len(got.Labels) < 10 {
		t.Fatalf("labels = %v", got.Labels)
	}
	worst := map[string]float64{"high": 0, "low": 9}
	for _, s := range got.Series {
		for _, v := range s.Values {
			switch s.Name {
			case "high":
				worst["high"] = max(worst["high"], v)
			case "low":
				worst["low"] = min(worst["low"], v)
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"high": 50, "low": 0.1}, worst); diff != "" {
		t.Errorf("the worst was smoothed away (-want +got):\n%s", diff)
	}
}

func TestChartDropsTheSparsestSignalRatherThanEverything(t *testing.T) {
	t.Parallel()
	late := []incident.Point{{At: start.Add(-time.Hour), Value: 3}}
	got, ok := shown(t,
		map[string]incident.Reading{"a": signal("a", 1, past(1, 2, 3, 4)), "late": signal("late", 1, late)})
	if !ok || len(got.Series) != 2 || got.Series[0].Name != "a" {
		t.Errorf("chart = %+v, %t", got, ok)
	}
}

func TestChartHasAtMostSixSeriesWithDifferentNames(t *testing.T) {
	t.Parallel()
	all := map[string]incident.Reading{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		all[name] = signal("The same title again", float64(len(all)+1), past(1, 2, 3))
	}
	got, ok := shown(t, all)
	if !ok || len(got.Series) != maxSeries {
		t.Fatalf("chart = %+v, %t", got, ok)
	}
	seen := map[string]bool{}
	for _, s := range got.Series {
		if seen[s.Name] {
			t.Errorf("two series are named %q", s.Name)
		}
		seen[s.Name] = true
	}
}

func TestNoChartWithoutThresholdOrWithTooFewPoints(t *testing.T) {
	t.Parallel()
	for name, readings := range map[string]map[string]incident.Reading{
		"nothing":            {},
		"no threshold":       {"a": {Series: past(1, 2, 3)}},
		"threshold zero":     {"a": signal("a", 0, past(1, 2, 3))},
		"threshold infinite": {"a": signal("a", math.Inf(1), past(1, 2, 3))},
		"two points":         {"a": signal("a", 1, past(1, 2))},
		"only NaN":           {"a": signal("a", 1, past(math.NaN(), math.NaN(), math.NaN()))},
	} {
		if b := chart(readings); b != nil {
			t.Errorf("%s: a chart was drawn", name)
		}
	}
}

func TestSparklinesStandInForTheChart(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	r := inc.Readings["ttft_p95"]
	// In the text is room for a title that is too long for a legend.
	inc.Readings = map[string]incident.Reading{"ttft_p95": signal("Time to first token, 95th percentile", *r.Threshold,
		past(1, 7))}
	s := newValidator(t)
	v := Render(inc, ViewOptions{})
	m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
	if text := m.VisibleText(); len(m.Charts()) != 0 ||
		!strings.Contains(text, "▂█` Time to first token, 95th percentile: 0.5 → 3.5 times its limit") {
		t.Errorf("text:\n%s", text)
	}
}
