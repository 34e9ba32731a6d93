package sandbox

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// shownLever is a lever as the page shows it now.
func (p *played) shownLever(name string) leverState {
	p.t.Helper()
	all := p.levers()
	i := slices.IndexFunc(all, func(l leverState) bool { return l.Name == name })
	if i < 0 {
		p.t.Fatalf("no lever %q", name)
	}
	return all[i]
}

// In round 2 more requests arrive than the lever brings by hand: while they do, the lever says how many, and the charts
// say the same.
func TestTheLeverAndTheChartsNameTheSameTraffic(t *testing.T) {
	t.Parallel()
	p := play(t)
	calm := p.fleet.State().Demand
	for _, step := range []struct {
		do     func() error
		lever  string
		on     bool
		mark   string
		factor float64
	}{
		{func() error { return p.pull(traffic, true) }, "Traffic x5", true, "Traffic x5", 5},
		{func() error { return p.flood(floodFactor) }, "Traffic x6", true, "Traffic x6", 6},
		{func() error { return p.pull(traffic, false) }, "Traffic x5", false, "Traffic x6 off", 1},
		{func() error { return p.pull(traffic, true) }, "Traffic x5", true, "Traffic x5", 5},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		l, marks := p.shownLever(traffic), p.meter.marked()
		if l.Title != step.lever || l.On != step.on || marks[len(marks)-1].Text != step.mark {
			t.Errorf("the lever is %q, on: %v, and the charts say %q; want %+v", l.Title, l.On, marks[len(marks)-1].Text, step)
		}
		if got := p.fleet.State().Demand; got < step.factor*calm*.99 || got > step.factor*calm*1.01 {
			t.Errorf("%q: %.1f requests a second arrive, want %g times %.1f", step.mark, got, step.factor, calm)
		}
	}
}

// What is lost shows nothing while all is well, and says what to do about it; not where something is broken anyway.
func TestWhatIsLostOnACalmFleetSaysWhatToPress(t *testing.T) {
	t.Parallel()
	p := play(t)
	const hint = "now press Traffic x5"
	if err := p.pull("prometheus", true); err != nil {
		t.Fatal(err)
	}
	if l := p.shownLever("prometheus"); !strings.Contains(l.Shows, hint) {
		t.Errorf("on a calm fleet: %q", l.Shows)
	}
	if err := p.pull("gpu", true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prometheus", "slack", "gpu"} {
		if l := p.shownLever(name); strings.Contains(l.Shows, hint) {
			t.Errorf("%s on a fleet that is not calm: %q", name, l.Shows)
		}
	}
}

// The links of metrics and rules lead to a page that people can read.
func TestALinkOfAMetricLeadsToItsValues(t *testing.T) {
	t.Parallel()
	p := play(t)
	for _, c := range []struct {
		path, query string
		status      int
		want        string
	}{
		{"/graph", `label_replace(vector(1), "pod", "a", "", "")`, http.StatusOK, "{pod=&#34;a&#34;}</td><td>1</td>"},
		{"/query", "vector(7)", http.StatusOK, "<tr><td>{}</td><td>7</td></tr>"},
		{"/graph", "nothing_like_it", http.StatusOK, "No data"},
		{"/graph", "1 + 1", http.StatusOK, "scalar"},
		{"/graph", `sum("<script>"`, http.StatusBadRequest, "refuses this query"},
		{"/graph", "", http.StatusBadRequest, "refuses this query"},
	} {
		target := fmt.Sprintf("%s?%s", c.path, url.Values{"g0.expr": {c.query}, "g0.tab": {"1"}}.Encode())
		w := httptest.NewRecorder()
		p.monitor.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody))
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "<script>") ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s %q: %d %s", c.path, c.query, w.Code, body)
		}
	}
}
