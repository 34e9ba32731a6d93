package evidence

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

const runningQuery = `sum(vllm:num_requests_running{model_name="llama"})`

// What is over is looked through from its beginning to its end, closely enough to miss nothing.
func TestThePastOfWhatIsOverIsAskedForAsAWhole(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 18, 12, 0, 0, 500_000_000, time.UTC)
	for _, tc := range []struct {
		name           string
		window, before time.Duration
		points         int
		start, step    string
	}{
		{"two hours", 5 * time.Minute, 2 * time.Hour, 121, "1794996000.5", "60"},
		{"longer than the points would see", 5 * time.Minute, 20 * time.Hour, 121, "1794931200.5", "300"},
		{"a month", 5 * time.Minute, 30 * 24 * time.Hour, 121, "1792411200.5", "2594.594"},
		{"shorter than Prometheus scrapes", 10 * time.Second, time.Minute, 121, "1795003140.5", "1"},
		{"a window that is not known", 0, 20 * time.Hour, 121, "1794931200.5", "600"},
	} {
		f := newFakeProm(t)
		f.AlwaysRange(runningQuery, matrixAt(t, map[int]string{3: "1", 2: "NaN", 0: "7"}))
		cfg := asking(f.Serve())
		cfg.RuleWindow = tc.window
		points, err := newCollector(t, cfg, nil).PastBetween(t.Context(), runningQuery, end.Add(-tc.before), end, tc.points)
		if err != nil || len(points) != 2 || points[1].Value != 7 || !points[1].At.Equal(end) {
			t.Errorf("%s: %v, %v", tc.name, points, err)
		}
		for _, r := range f.Requests() {
			if got := r.Form.Get("start") + " " + r.Form.Get("end") + " " + r.Form.Get("step"); got != tc.start+
				" 1795003200.5 "+tc.step {
				t.Errorf("%s: asked from %s, want %s %s", tc.name, got, tc.start, tc.step)
			}
		}
	}
}

func TestThePastOfWhatIsOverMayBeNothingOrAnError(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		query  string
		answer promtest.Reply
		fails  bool
	}{
		"no data":   {runningQuery, promtest.Reply{Body: promtest.Success("matrix", "[]")}, false},
		"a failure": {runningQuery, promtest.Reply{Status: 422, Body: `{"status":"error","errorType":"execution"}`}, true},
		"two numbers": {"up", promtest.Reply{Body: promtest.Success("matrix",
			`[{"metric":{"a":"1"},"values":[[1,"1"]]},{"metric":{},"values":[[1,"1"]]}]`)}, true},
		// These are not asked at all: the double fails a test whose questions it does not know.
		"costly":   {"max_over_time(up[1h:1m])", promtest.Reply{}, false},
		"no query": {"sum(", promtest.Reply{}, true},
	} {
		f := newFakeProm(t)
		if tc.answer.Body != "" {
			f.AlwaysRange(tc.query, tc.answer)
		}
		c := newCollector(t, asking(f.Serve()), nil)
		points, err := c.PastBetween(t.Context(), tc.query, end.Add(-time.Hour), end, 10)
		if len(points) > 0 || (err != nil) != tc.fails {
			t.Errorf("%s: %v, %v", name, points, err)
		}
	}
}
