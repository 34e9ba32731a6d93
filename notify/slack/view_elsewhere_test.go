package slack

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// lastLine is the small print at the end of a message.
func lastLine(inc incident.Incident, opts ViewOptions) string {
	all := texts(Render(inc, opts))
	return all[len(all)-1]
}

// Whoever is called looks at the graphs and quiets the alert next; both are one tap away, in the last line.
func TestTheLastLineLeadsToGrafanaAndASilence(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	labels := inc.Alerts[0].Labels
	pool := incident.Pool{
		Name: inc.Pool, Match: map[string]string{"model_name": labels["model_name"]},
		Matchers: map[string]string{"namespace": labels["namespace"], "model_name": labels["model_name"]},
	}
	if labels["model_name"] == "" {
		t.Fatalf("the alert says nothing of its model: %v", labels)
	}
	set := links
	set.Elsewhere = present.Elsewhere{
		Grafana: "https://grafana.example.com", Alertmanager: "https://am.example.com", Pools: []incident.Pool{pool},
	}
	for _, want := range []string{
		"<https://grafana.example.com/d/vllm-medic-pools?from=", "|Grafana>",
		"<https://am.example.com/#/silences/new?filter=%7Balertname%3D", "|Silence>",
	} {
		if got := lastLine(inc, set); !strings.Contains(got, want) {
			t.Errorf("the last line lacks %s: %s", want, got)
		}
	}
	closed := inc
	closed.State, closed.ClosedAt = incident.StateClosed, inc.OpenedAt
	if got := lastLine(closed, set); !strings.Contains(got, "|Grafana>") || strings.Contains(got, "Silence") {
		t.Errorf("what is over has graphs and nothing to silence: %s", got)
	}
	another := set
	another.Elsewhere.Pools = []incident.Pool{{Name: "another", Match: pool.Match, Matchers: pool.Matchers}}
	for name, got := range map[string]string{
		"not configured": lastLine(inc, links), "another pool": lastLine(inc, another),
	} {
		if strings.Contains(got, "Grafana>") || strings.Contains(got, "Silence") {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The longest silence that there is leaves room for the other links.
	long := inc.Clone()
	for n := range long.Alerts {
		long.Alerts[n].Labels["filler"] = strings.Repeat("x", 900)
	}
	for _, want := range []string{"|Evidence", "|Grafana>", "|Silence>"} {
		if got := lastLine(long, set); len(got) < 1000 || !strings.Contains(got, want) {
			t.Errorf("a long silence leaves no room for %s: %s", want, got)
		}
	}
	// A name without a link tells nobody anything.
	pool.Matchers["model_name"] = strings.Repeat("m", maxURL)
	set.Elsewhere.Pools = []incident.Pool{pool}
	if got := lastLine(inc, set); strings.Contains(got, "Grafana") {
		t.Errorf("too long for a link: %s", got)
	}
}
