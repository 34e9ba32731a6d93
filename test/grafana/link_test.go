package grafana

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// A link that names no dashboard leads to an error, and a variable that the dashboard lacks chooses nothing, without a
// word.
func TestALinkOfAnIncidentFitsTheDashboard(t *testing.T) {
	t.Parallel()
	b := read(t, "vllm")
	pool := incident.Pool{Name: "llama", Matchers: map[string]string{"namespace": "llm", "model_name": "llama-70b"}}
	e := present.Elsewhere{Grafana: "https://grafana.example.com/sub", Pools: []incident.Pool{pool}}
	link, err := url.Parse(e.GrafanaURL(incident.Incident{Pool: "llama", State: incident.StateDeciding}))
	if err != nil {
		t.Fatal(err)
	}
	if link.Path != "/sub/d/"+b.UID {
		t.Errorf("the link leads to %s, and the dashboard is %q", link.Path, b.UID)
	}
	chosen := map[string]string{}
	for name, values := range link.Query() {
		variable, is := strings.CutPrefix(name, "var-")
		if !is {
			if name != "from" && name != "to" {
				t.Errorf("Grafana knows no parameter %s", name)
			}
			continue
		}
		n := slices.IndexFunc(b.Templating.List, func(v struct{ Name, Type, Query string }) bool {
			return v.Name == variable
		})
		if n < 0 {
			t.Errorf("the dashboard has no variable %s", variable)
			continue
		}
		// label_values(METRIC, LABEL): the value must be one of that label.
		query := strings.TrimSuffix(b.Templating.List[n].Query, ")")
		chosen[query[strings.LastIndex(query, " ")+1:]] = values[0]
	}
	for label, want := range map[string]string{"namespace": "llm", "model_name": "llama-70b", "pool": "llama"} {
		if chosen[label] != want {
			t.Errorf("the link chooses %q of the label %s, want %q", chosen[label], label, want)
		}
	}
}
