package playbooks_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func TestTheWorstVersionIsTheOneWhoseBestPodIsWorst(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	pods := func(values map[string]float64) (out []incident.PodValue) {
		for _, name := range []string{"a", "b", "c", "d"} {
			if v, ok := values[name]; ok {
				out = append(out, incident.PodValue{Pod: name, Value: v})
			}
		}
		return out
	}
	two := []incident.ServedVersion{
		{Version: "0.23.0", Pods: []string{"a", "b"}}, {Version: "0.24.0", Pods: []string{"c", "d"}},
	}
	for _, tt := range []struct {
		name          string
		versions      []incident.ServedVersion
		values        map[string]float64
		broken        string
		worst, others string
	}{
		{"one is clearly worse", two, map[string]float64{"a": 1, "b": 2, "c": 8, "d": 7}, "", "7 s", "2 s"},
		{"one bad pod is no bad version", two, map[string]float64{"a": 1, "b": 9, "c": 2, "d": 3}, "", "2 s", "9 s"},
		{"equal ones", two, map[string]float64{"a": 3, "c": 3}, "", "3 s", "3 s"},
		{"only one version is compared", two, map[string]float64{"a": 1, "b": 9}, "", "no data", "no data"},
		{"no versions are known", nil, map[string]float64{"a": 1, "c": 9}, "", "no data", "no data"},
		{"one pod's is not", two[:1], map[string]float64{"a": 1, "c": 9}, "", "no data", "no data"},
		{"nothing to compare", two, nil, "", "no data", "no data"},
		{"the values could not be read", two, nil, "timeout", "error", "error"},
	} {
		ev := readings(nil)
		ev.Versions = tt.versions
		ev.Readings["ttft_worst_pod"] = incident.Reading{
			Signal: "ttft_worst_pod", Direction: incident.HigherIsWorse, Pods: pods(tt.values), Error: tt.broken,
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMMixedVersions"), Pool: chat(), Evidence: ev}).Readings
		for name, want := range map[string]string{"ttft_worst_version": tt.worst, "ttft_other_versions": tt.others} {
			r := got[name]
			text := "no data"
			if r.Error != "" {
				text = "error"
			} else if r.HasValue() {
				text = r.Text()
			}
			if text != want {
				t.Errorf("%s: %s is %s; want %s", tt.name, name, text, want)
			}
		}
	}
}

// What is served is said whatever the diagnosis is, and nothing where there is one version.
func TestSeveralVersionsAreNamed(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, several := range []bool{false, true} {
		ev := readings(with(map[string]float64{"error_ratio": 0.4, "abort_ratio": 0.4}))
		if several {
			ev.Versions = []incident.ServedVersion{
				{Version: "0.23.0", Pods: []string{"a", "b"}}, {Version: "0.24.0", Pods: []string{"c"}},
			}
		}
		r := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighAbortRate"), Pool: chat(), Evidence: ev})
		said := strings.Join(r.Diagnosis.Unusual, " ")
		const want = "2 versions of vLLM serve in this pool: 0.23.0 (a, b); 0.24.0 (c)."
		if strings.Contains(said, want) != several || strings.Contains(said, "versions of vLLM") != several {
			t.Errorf("several versions: %v, said: %s", several, said)
		}
	}
}
