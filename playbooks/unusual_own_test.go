package playbooks

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestWhatTheBotDidIsNotUnusual(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 3, 11, 0, 0, time.UTC)
	ev := incident.Evidence{At: now, Cluster: incident.Cluster{Changes: []incident.RecentChange{
		{
			At: now.Add(-time.Minute), Kind: incident.ChangeScale, Object: "Deployment llama-70b",
			Text: "Scaled up replica set x from 2 to 3", Own: true,
		},
		{
			At: now.Add(-2 * time.Minute), Kind: incident.ChangeScale, Object: "Deployment llama-70b",
			Text: "Scaled down replica set x from 4 to 2",
		},
	}}}
	if got := recentChanges(ev); len(got) != 1 || !strings.Contains(got[0], "from 4 to 2") {
		t.Errorf("unusual: %q", got)
	}
}

// Of a value that hardly varies the slightest change is many standard deviations, and says nothing.
func TestADepartureIsAtLeastATenthOfTheMean(t *testing.T) {
	t.Parallel()
	c := &Catalog{signals: []incident.Signal{{Name: "ttft_p95", Short: "TTFT p95"}}}
	for _, tt := range []struct {
		value, score float64
		want         string
	}{
		{1.05, 400, ""},
		{0.95, -400, ""},
		{1.2, 2.9, ""},
		{1.2, 6.1, "TTFT p95 1.2 s is 6.1 standard deviations above the hour before (1 s on average)."},
		{0.5, -5, "TTFT p95 500 ms is 5.0 standard deviations below the hour before (1 s on average)."},
		{3, 33643, "TTFT p95 3 s is more than 100 standard deviations above the hour before (1 s on average)."},
	} {
		r := incident.Reading{
			Value: &tt.value, Unit: incident.UnitSeconds, Baseline: &incident.Baseline{Mean: 1, Score: &tt.score},
		}
		got := c.departures(incident.Evidence{Readings: map[string]incident.Reading{"ttft_p95": r}})
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%g at %g deviations: %q, want %q", tt.value, tt.score, got, tt.want)
		}
	}
}
