package slack

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
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

// withReadings is an incident of these readings and nothing else.
func withReadings(readings map[string]incident.Reading) incident.Incident {
	return incident.Incident{Pool: "llama-70b", State: incident.StateDeciding, Readings: readings}
}

// shown is the chart as Slack gets it.
func shown(t *testing.T, readings map[string]incident.Reading) (fakeslack.Chart, bool) {
	t.Helper()
	b := chart(withReadings(readings))
	if b == nil {
		return fakeslack.Chart{}, false
	}
	raw, err := json.Marshal([]any{b})
	if err != nil {
		t.Fatal(err)
	}
	return fakeslack.Message{Blocks: raw}.Charts()[0], true
}

func TestChartShowsOneSignalInItsOwnUnitWithItsTarget(t *testing.T) {
	t.Parallel()
	ttft := signal("TTFT p95", 2, past(1, 2, 7))
	ttft.Unit, ttft.ThresholdFrom, ttft.Value = incident.UnitSeconds, incident.OriginSLO, new(7.0)
	got, ok := shown(t, map[string]incident.Reading{
		"ttft": ttft, "waiting": signal("Waiting", 10, past(5, 10, 12)), "no_limit": {Series: past(9, 9, 9)},
	})
	want := fakeslack.Chart{
		Title: "TTFT p95 (s)", Type: "line", Labels: []string{"03:08", "03:09", "03:10"}, XLabel: "UTC", YLabel: "s",
		Series: []fakeslack.ChartSeries{
			{Name: "TTFT p95", Values: []float64{1, 2, 7}}, {Name: "target", Values: []float64{2, 2, 2}},
		},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
}

func TestChartScalesToAUnitThatPeopleThinkIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		unit        incident.Unit
		limit, last float64
		label       string
		want        float64
	}{
		{incident.UnitSeconds, 0.3, 0.5, "ms", 500},
		{incident.UnitRatio, 0.9, 0.97, "%", 97},
		{incident.UnitPerSecond, 5, 60, "/s", 60},
		{incident.UnitCount, 5, 41, "", 41},
	} {
		r := signal("x", tt.limit, past(0.1, 0.2, tt.last))
		r.Unit = tt.unit
		got, ok := shown(t, map[string]incident.Reading{"x": r})
		if !ok || got.YLabel != tt.label || got.Series[0].Values[2] != tt.want {
			t.Errorf("%s: %+v", tt.unit, got)
		}
	}
}

// The signal that is furthest beyond its limit is drawn where the headline names none that has a past.
func TestChartShowsTheWorstSignalThatHasAPast(t *testing.T) {
	t.Parallel()
	named := signal("Named", 1, nil)
	named.Value = new(50.0)
	got, ok := shown(t, map[string]incident.Reading{
		"a": signal("A", 1, past(1, 2, 3)), "b": signal("B", 1, past(1, 2, 9)), "named": named,
	})
	if !ok || got.Series[0].Name != "B" {
		t.Errorf("chart = %+v, %t", got, ok)
	}
}

func TestChartLeavesOutWhatIsNoNumberAndFillsNothing(t *testing.T) {
	t.Parallel()
	got, ok := shown(t, map[string]incident.Reading{"b": signal("b", 1, past(1, 2, math.NaN(), 4, math.Inf(1), 6))})
	if !ok {
		t.Fatal("no chart")
	}
	if diff := cmp.Diff([]string{"03:04", "03:06", "03:08", "03:10"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1, 2, 4, 6}, got.Series[0].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestChartKeepsTheWorstPointOfABin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		direction incident.Direction
		peak      float64
	}{{incident.HigherIsWorse, 50}, {incident.LowerIsWorse, 0.1}} {
		values := make([]float64, 121)
		for n := range values {
			values[n] = 1
		}
		values[60] = tt.peak
		r := signal("x", 1, past(values...))
		r.Direction = tt.direction
		got, ok := shown(t, map[string]incident.Reading{"x": r})
		if !ok || len(got.Labels) > maxPoints || len(got.Labels) < 10 {
			t.Fatalf("labels = %v", got.Labels)
		}
		if !slices.Contains(got.Series[0].Values, tt.peak) {
			t.Errorf("%s: the worst was smoothed away: %v", tt.direction, got.Series[0].Values)
		}
	}
}

// A pool that has just recovered must not be drawn as one that has just failed: the peak stays, and the line ends at
// what is true now.
func TestTheLineEndsAtTheNewestValue(t *testing.T) {
	t.Parallel()
	values := slices.Repeat([]float64{1}, 59)
	for _, tt := range []struct {
		points []incident.Point
		want   []float64
		label  string
	}{
		{past(append(slices.Clone(values), 7, 7, 1.2)...), []float64{7, 1.2}, "03:13"},
		{past(append(slices.Clone(values), 2, 3, 7)...), []float64{1, 7}, "03:10"},
	} {
		for n := range tt.points { // so that the last bin, which begins at 03:10, has all that differs
			tt.points[n].At = tt.points[n].At.Add(3 * time.Minute)
		}
		got, ok := shown(t, map[string]incident.Reading{"x": signal("x", 2, tt.points)})
		if !ok || len(got.Labels) > maxPoints {
			t.Fatalf("labels: %v", got.Labels)
		}
		shown := got.Series[0].Values
		if end := shown[len(shown)-2:]; !slices.Equal(end, tt.want) || got.Labels[len(got.Labels)-1] != tt.label {
			t.Errorf("the line ends with %v at %s, want %v", end, got.Labels[len(got.Labels)-1], tt.want)
		}
	}
}

// One sees the line fall that one has decided by, also when another one rises meanwhile.
func TestTheChartKeepsToItsSignalAfterAChange(t *testing.T) {
	t.Parallel()
	run := asked(t, incident.ModeApprove)
	before, after := maps.Clone(run.inc.Readings), maps.Clone(run.inc.Readings)
	after["ttft_p95"] = reading("ttft_p95", "TTFT p95", incident.UnitSeconds, 7.2, 0.6, 2)
	after["e2e_p95"] = reading("e2e_p95", "E2E latency p95", incident.UnitSeconds, 5, 18, 10)
	var titles []string
	draw := func() {
		c, ok := drawn(run.inc)
		if !ok {
			t.Fatal("nothing is drawn")
		}
		titles = append(titles, c.title)
	}
	draw()
	v := verification(incident.VerdictRecovered, maps.Clone(after))
	v.Before = before
	run.ran("p1-s3", v, false)
	run.inc.Readings = after
	draw()
	if want := []string{"TTFT p95", "TTFT p95"}; !slices.Equal(titles, want) {
		t.Errorf("drawn are %v, want %v", titles, want)
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
		if b := chart(withReadings(readings)); b != nil {
			t.Errorf("%s: a chart was drawn", name)
		}
		if text := sparkline(withReadings(readings)); text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// The readings are those of before the change until the first check after it: a picture of them is none of now.
func TestNoChartOfReadingsFromBeforeAChange(t *testing.T) {
	t.Parallel()
	run := asked(t, incident.ModeApprove).decide(incident.Approve, "p1-s3").
		do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).
		do(time.Second, incident.Written{Result: incident.ResultApplied})
	v := Render(run.inc, ViewOptions{})
	if text := string(sent(t, v)); has(v, "data_visualization") || strings.Contains(text, "█") ||
		strings.Contains(text, "7.2 s") {
		t.Errorf("shown: %s", text)
	}
}

func TestASparklineStandsInForTheChart(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	r := signal("Time to first token, 95th percentile", 2, past(1, 3, 7))
	r.Unit, r.ThresholdFrom = incident.UnitSeconds, incident.OriginSLO
	inc.Readings = map[string]incident.Reading{"ttft_p95": r}
	s := newValidator(t)
	v := Render(inc, ViewOptions{NoChart: true})
	m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
	if text := m.VisibleText(); len(m.Charts()) != 0 ||
		!strings.Contains(text, "▂▄█` Time to first token, 95th percentile over 2 min: 1 s → 7 s (target 2 s)") {
		t.Errorf("text:\n%s", text)
	}
}
