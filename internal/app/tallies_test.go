package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// Rows of a version with other edges, and what took longer than all of them, are in the sum and in the right buckets.
func TestDurationsAreAHistogram(t *testing.T) {
	t.Parallel()
	m := shown(&tally{st: store.Stats{Tallies: []incident.Tallied{
		{Family: incident.TallyToDecision, Edge: 10, Count: 2, Seconds: 9},
		{Family: incident.TallyToDecision, Edge: 45, Count: 1, Seconds: 40},
		{Family: incident.TallyToDecision, Edge: 14400, Count: 1, Seconds: 14000},
		{Family: incident.TallyToDecision, Edge: 0, Count: 1, Seconds: 20000},
	}}}, slog.New(slog.DiscardHandler), time.Now)
	const name = "vllm_medic_incident_time_to_decision_seconds"
	want := "# HELP " + name + " Time from the delivery that opened an incident until its first approval or denial.\n" +
		"# TYPE " + name + " histogram\n"
	for _, b := range []struct {
		le string
		n  int
	}{
		{"10", 2},
		{"30", 2},
		{"60", 3},
		{"120", 3},
		{"300", 3},
		{"600", 3},
		{"900", 3},
		{"1800", 3},
		{"3600", 3},
		{"7200", 3},
		{"14400", 4},
		{"+Inf", 5},
	} {
		want += fmt.Sprintf("%s_bucket{le=%q} %d\n", name, b.le, b.n)
	}
	want += name + "_sum 34049\n" + name + "_count 5\n"
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

// series are the names and labels of all samples.
func series(t *testing.T, m prometheus.Collector) map[string]float64 {
	t.Helper()
	out := scrape(t, m)
	for name := range out {
		out[name] = 0
	}
	return out
}

// What the store has counted under names that are not configured adds no series: a pool that is gone, a diagnosis of a
// playbook that is, a family or a label of a newer version.
func TestWhateverWasCountedTheSeriesAreBounded(t *testing.T) {
	t.Parallel()
	c := &tally{}
	m := shown(c, slog.New(slog.DiscardHandler), time.Now)
	before := series(t, m)
	for n := range 1000 {
		foreign := fmt.Sprint("Foreign", n)
		c.st.Tallies = append(c.st.Tallies,
			incident.Tallied{Family: incident.TallyOpened, Labels: []string{foreign}, Count: 1},
			incident.Tallied{Family: incident.TallyClosed, Labels: []string{"llama", foreign}, Count: 1},
			incident.Tallied{Family: incident.TallyClosed, Labels: []string{foreign, "queueing"}, Count: 1},
			incident.Tallied{Family: incident.TallyFamily(foreign), Labels: []string{foreign}, Count: 1},
			incident.Tallied{Family: incident.TallyVerdicts, Labels: []string{"worse", foreign}, Count: 1},
		)
	}
	if d := cmp.Diff(before, series(t, m)); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
	c.st.Tallies = append(c.st.Tallies,
		incident.Tallied{Family: incident.TallyClosed, Labels: []string{"none", "none"}, Count: 3})
	if got := scrape(t, m)["vllm_medic_incidents_closed_total{none}{none}"]; got != 3 {
		t.Errorf("incidents without a pool: %v", got)
	}
}

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsToOtherServicesAreCountedByHowTheyEnded(t *testing.T) {
	t.Parallel()
	o := newOutgoing()
	code := 0
	rt := o.around(nil)("prometheus", answering(func(*http.Request) (*http.Response, error) {
		if code == 0 {
			return nil, fmt.Errorf("connection refused")
		}
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}))
	for _, code = range []int{0, 200, 302, 400, 404, 503} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://prometheus.invalid/?token=s3cret", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err == nil {
			err = resp.Body.Close()
		}
		if (err != nil) != (code == 0) {
			t.Errorf("%d: %v", code, err)
		}
	}
	const want = `# HELP vllm_medic_client_requests_total Requests of the bot to other services, by how they ended.
# TYPE vllm_medic_client_requests_total counter
vllm_medic_client_requests_total{result="client_error",service="prometheus"} 2
vllm_medic_client_requests_total{result="no_answer",service="prometheus"} 1
vllm_medic_client_requests_total{result="ok",service="prometheus"} 2
vllm_medic_client_requests_total{result="server_error",service="prometheus"} 1
`
	if err := testutil.CollectAndCompare(o, strings.NewReader(want), "vllm_medic_client_requests_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(o, "vllm_medic_client_request_duration_seconds"); n != 1 {
		t.Errorf("%d histograms of durations", n)
	}
}
