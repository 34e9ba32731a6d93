package playbooks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// at is when every evidence in these tests was read.
func at() time.Time { return time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC) }

func alerts(names ...string) []incident.Alert {
	var out []incident.Alert
	for _, n := range names {
		out = append(out,
			incident.Alert{Fingerprint: n, Labels: map[string]string{"alertname": n}, Firing: true, StartsAt: at()})
	}
	return out
}

// features are signals of what a pool may have and mostly has not: Prometheus is asked and has no data.
func features() []string {
	return []string{
		"gateway_cancel_ratio", "rejected_rate", "spec_acceptance", "spec_acceptance_usual", "nixl_failed_rate",
		"nixl_expired_rate", "waiting_deferred",
		"tpot_mean_usual", "ttft_rest", "e2e_rest", "frontend_cpu", "ttft_p95_lately", "tpot_p95_lately",
		"gpu_util", "gpu_memory_used", "gpu_memory_growth", "gpu_xid", "rss_growth", "prefill_pods",
	}
}

// readings makes evidence of exact values, of a pool without Kubernetes.
func readings(values map[string]float64) incident.Evidence {
	ev := incident.Evidence{
		At: at(), Readings: map[string]incident.Reading{},
		Cluster: incident.Cluster{NotConfigured: true, Error: "Kubernetes is not configured"},
	}
	for _, name := range features() {
		ev.Readings[name] = incident.Reading{Signal: name, At: at()}
	}
	for name, v := range values {
		r := incident.Reading{Signal: name, Value: &v, At: at()}
		// What the worst of the pods has and what the next one has makes two pods, a and b.
		if kind, ok := strings.CutSuffix(name, "_worst_pod"); ok {
			next, ok := values[kind+"_second_pod"]
			r.Pods = []incident.PodValue{{Pod: "a", Value: v}}
			if ok {
				r.Pods = append(r.Pods, incident.PodValue{Pod: "b", Value: next})
			}
		}
		ev.Readings[name] = r
	}
	return ev
}

// labelOf is what messages call a signal.
func labelOf(t *testing.T, c *playbooks.Catalog, name string) string {
	t.Helper()
	all := c.AllSignals()
	i := slices.IndexFunc(all, func(s incident.Signal) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no signal %s", name)
	}
	return all[i].Label()
}
