package web_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// recall is one question for the past of a closed incident.
type recall struct {
	queries  map[string]string
	from, to time.Time
}

// overAt is an incident of two hours, of which the stored past has the last minutes only.
func overAt(end time.Time) incident.Incident {
	begin := end.Add(-2 * time.Hour)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, begin)
	inc.State, inc.ClosedAt = incident.StateClosed, end
	r := past(0.2, 0.2, 0.2, 0.3)
	r.Query = "ttft"
	waiting := past(0, 0, 0)
	waiting.Short, waiting.Query, waiting.Threshold = "Waiting", "waiting", nil
	unused := past(0, 0, 0)
	unused.Short, unused.Query, unused.Optional, unused.Series = "Unused", "unused", true, nil
	inc.Readings = map[string]incident.Reading{"ttft_p95": r, "waiting": waiting, "unused": unused}
	inc.Diagnosis = &incident.Diagnosis{Name: "queueing", Healthy: []string{"ttft_p95", "waiting", "unused"}}
	inc.History = []incident.Made{{
		Title: "Scale 2 to 3", Kind: incident.StepReplicas, From: incident.Set("2"), To: incident.Set("3"),
		Undo: incident.Set("2"), State: incident.StepUndone, By: []incident.Actor{ada}, AskedAt: begin.Add(time.Minute),
		DecidedAt: begin.Add(31 * time.Minute), AppliedAt: begin.Add(32 * time.Minute), LiveAt: begin.Add(50 * time.Minute),
		UndoneAt: begin.Add(110 * time.Minute), UndoneBy: &incident.Actor{Kind: "slack", ID: "U1"},
	}}
	return inc
}

// every are points of a query, one in each minute from one time to another, but for a gap.
func every(from, to time.Time, value float64, gap ...time.Duration) []incident.Point {
	var out []incident.Point
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		if len(gap) == 2 && at.Sub(from) > gap[0] && at.Sub(from) < gap[1] {
			continue
		}
		out = append(out, incident.Point{At: at, Value: value})
	}
	return out
}

// lookBack is the page of a closed incident, with what Prometheus answers and what it was asked.
func lookBack(t *testing.T, inc incident.Incident, answer func(a recall) (map[string][]incident.Point, error),
) (page string, asked []recall) {
	t.Helper()
	s := newSite(t, func(s *site) {
		s.past = func(_ context.Context, _ incident.Incident, queries map[string]string, from, to time.Time,
		) (map[string][]incident.Point, error) {
			asked = append(asked, recall{queries, from, to})
			return answer(asked[len(asked)-1])
		}
	})
	s.expect("show", "inc-1", inc, nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	return s.look("/incidents/inc-1"), asked
}

// Whoever reviews an incident sees all of it: before, what was done when, and after.
func TestAClosedIncidentIsDrawnFromItsBeginning(t *testing.T) {
	t.Parallel()
	inc := overAt(now)
	page, asked := lookBack(t, inc, func(a recall) (map[string][]incident.Point, error) {
		return map[string][]incident.Point{"ttft_p95": every(a.from, a.to, 4, 60*time.Minute, 70*time.Minute)}, nil
	})
	if len(asked) != 1 || !asked[0].from.Equal(inc.OpenedAt.Add(-30*time.Minute)) || !asked[0].to.Equal(now) ||
		!maps.Equal(asked[0].queries, map[string]string{"ttft_p95": "ttft", "waiting": "waiting"}) {
		t.Errorf("asked %+v", asked)
	}
	_, charts, _ := strings.Cut(page, "<h2>Signals</h2>")
	charts, _, _ = strings.Cut(charts, "<h2>")
	if strings.Count(charts, "<figure>") != 1 || strings.Contains(charts, "Waiting") {
		t.Errorf("a chart that Prometheus has nothing for is drawn: %s", charts)
	}
	mustHold(t, charts, `aria-label="TTFT p95 from 00:30 to 03:00: first 4 s`,
		`<text x="20.3%" y="11">1–2</text><text x="40.7%" y="11">3</text>`+
			`<text x="53.3%" y="11">4</text><text x="93.3%" y="11">5</text>`,
		`<line class="mark asked" x1="124"`, `<line class="mark approved" x1="244"`, `<line class="mark change" x1="320"`,
		`<line class="mark undone" x1="560"`,
		`<li class="alert"><b>1</b> <time datetime="2026-`, `>01:00</time> First alert</li>`,
		`<li class="asked"><b>2</b> `, `>01:01</time> Asked: scale 2 → 3</li>`,
		`<li class="approved"><b>3</b> `, `>01:31</time> Approved: scale 2 → 3</li>`,
		`<li class="change"><b>4</b> `, `>01:50</time> Live: scale 2 → 3</li>`,
		`<li class="undone"><b>5</b> `, `>02:50</time> Rolled back to 2</li>`)
	mustLack(t, page, "Applied: scale", "last readings only", "No charts")
	// Nothing is known of ten minutes, so nothing is drawn there.
	_, line, _ := strings.Cut(charts, `<path class="line" d="`)
	line, _, _ = strings.Cut(line, `"`)
	if strings.Count(line, "M") != 2 {
		t.Errorf("the line goes through a gap: %s", line)
	}
}

// The same change made twice is two marks, each with its own number and time.
func TestTheSameChangeMadeTwiceHasTwoNumbers(t *testing.T) {
	t.Parallel()
	inc := overAt(now)
	again := inc.History[0]
	again.AskedAt, again.DecidedAt, again.AppliedAt = time.Time{}, inc.OpenedAt.Add(70*time.Minute), time.Time{}
	again.LiveAt, again.UndoneAt = time.Time{}, time.Time{}
	inc.History[0].UndoneAt = inc.OpenedAt.Add(60 * time.Minute)
	inc.History = append(inc.History, again)
	page, _ := lookBack(t, inc, func(a recall) (map[string][]incident.Point, error) {
		return map[string][]incident.Point{"ttft_p95": every(a.from, a.to, 4)}, nil
	})
	mustHold(t, page, `<b>3</b> <time datetime="`, `>01:31</time> Approved: scale 2 → 3</li>`, `<b>6</b> <time datetime="`,
		`>02:10</time> Approved: scale 2 → 3</li>`, `>1–2</text>`, `>3</text>`, `>4</text>`, `>5</text>`, `>6</text>`)
}

// Where the data ends before the incident does, the chart goes on without a line, and so do the marks.
func TestTheTimeOfAClosedIncidentIsDrawnWhole(t *testing.T) {
	t.Parallel()
	page, _ := lookBack(t, overAt(now), func(a recall) (map[string][]incident.Point, error) {
		return map[string][]incident.Point{"ttft_p95": every(a.from.Add(30*time.Minute), a.from.Add(time.Hour), 4)}, nil
	})
	mustHold(t, page, `aria-label="TTFT p95 from 00:30 to 03:00: first 4 s`, `<path class="line" d="M 120,`,
		`<line class="mark undone" x1="560"`)
	_, line, _ := strings.Cut(page, `<path class="line" d="`)
	line, _, _ = strings.Cut(line, `"`)
	if points := strings.Fields(line); !strings.HasPrefix(points[len(points)-1], "240,") {
		t.Errorf("the line goes on without data: %s", line)
	}
}

// What Prometheus can't say is said, and never drawn.
func TestAClosedIncidentWithoutDataSaysSo(t *testing.T) {
	t.Parallel()
	bare := overAt(now)
	bare.Readings = map[string]incident.Reading{"ttft_p95": {
		Short: "TTFT p95", Threshold: new(2.0), Query: "ttft", Direction: incident.HigherIsWorse,
	}}
	nothing := func(recall) (map[string][]incident.Point, error) { return nil, nil }
	failing := func(recall) (map[string][]incident.Point, error) { return nil, errors.New("connection <refused>") }
	some := func(a recall) (map[string][]incident.Point, error) {
		return map[string][]incident.Point{"waiting": every(a.from, a.to, 1)}, errors.New("ttft_p95: too many samples")
	}
	for _, tc := range []struct {
		name   string
		inc    incident.Incident
		answer func(recall) (map[string][]incident.Point, error)
		note   string
		drawn  []string
	}{
		{
			"gone from Prometheus", overAt(now), nothing,
			"The charts show the last readings only. Prometheus has no data of the whole incident.",
			[]string{"TTFT p95", "Waiting"},
		},
		{
			"Prometheus is down", overAt(now), failing, "The charts show the last readings only. Prometheus can&#39;t be " +
				"asked about the whole incident: connection &lt;refused&gt;.", []string{"TTFT p95", "Waiting"},
		},
		{
			"a part", overAt(now), some, "Some charts are missing. Prometheus can&#39;t be asked about the whole incident: " +
				"ttft_p95: too many samples.", []string{"Waiting"},
		},
		{"nothing is stored either", bare, nothing, "No charts. Prometheus has no data of the whole incident.", nil},
	} {
		page, _ := lookBack(t, tc.inc, tc.answer)
		var drawn []string
		for _, part := range strings.Split(page, "<figcaption><b>")[1:] {
			title, _, _ := strings.Cut(part, "<")
			drawn = append(drawn, title)
		}
		slices.Sort(drawn)
		if !slices.Equal(drawn, tc.drawn) {
			t.Errorf("%s: drawn %v, want %v", tc.name, drawn, tc.drawn)
		}
		mustHold(t, page, `<p class="small soft">`+tc.note+`</p>`)
	}
}

// An open incident has readings of now, and a drill plays what Prometheus never had.
func TestOnlyWhatIsOverIsAskedForAgain(t *testing.T) {
	t.Parallel()
	open, drill, odd := overAt(now), overAt(now), overAt(now)
	open.State, open.ClosedAt = incident.StateWatching, time.Time{}
	drill.Drill = &incident.Drill{Scenario: "queue"}
	odd.ClosedAt = time.Time{}
	for name, inc := range map[string]incident.Incident{"open": open, "drill": drill, "without an end": odd} {
		page, asked := lookBack(t, inc, func(recall) (map[string][]incident.Point, error) { return nil, nil })
		if len(asked) > 0 || strings.Contains(page, "No charts") || !strings.Contains(page, "<figure>") {
			t.Errorf("%s: asked %+v", name, asked)
		}
	}
}
