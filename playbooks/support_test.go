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
		"nixl_expired_rate", "waiting_deferred", "nixl_xfer_mean", "kv_load_mean", "kv_tier_delay", "lmcache_retrieve_mean",
		"external_hit_share", "lora_slots", "running_peak_usual",
		"tpot_mean_usual", "ttft_rest", "e2e_rest", "frontend_cpu", "engines_young",
		"request_rate", "request_rate_usual", "tokens_per_request", "tokens_per_request_usual",
		"gpu_util", "gpu_memory_used", "gpu_memory_growth", "gpu_xid", "rss_growth", "prefill_pods", "prefill_pods_labeled",
		"waiting_worst_rank", "ttft_worst_rank", "tpot_worst_rank", "tpot_mean_worst_rank", "stuck_worst_rank",
		"tokens_worst_rank", "tokens_worst_pod", "prefix_miss_rate", "prefix_miss_rate_usual",
		"prefill_mean_usual", "prefill_mean_fastest", "ttft_rest_usual", "tpot_p99_usual", "pods_serving", "ttft_new_pods",
		"ttft_old_pods", "targets_down", "engine_restarts_repeated", "engines_capped", "first_tokens", "prefill_per_token",
		"waiting_pod_lately", "ttft_pod_lately", "tpot_mean_pod_lately",
		"waiting_rank_lately", "ttft_rank_lately", "tpot_mean_rank_lately",
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
		if miss := strings.Replace(name, "prefix_hit_rate", "prefix_miss_rate", 1); miss != name {
			misses := 1 - v
			ev.Readings[miss] = incident.Reading{Signal: miss, Value: &misses, At: at()}
		}
		// What the worst of the pods has and what the next one has makes two pods, a and b; or two ranks of a.
		for suffix, next := range map[string]incident.PodValue{"pod": {Pod: "b"}, "rank": {Pod: "a", Rank: "1"}} {
			kind, ok := strings.CutSuffix(name, "_worst_"+suffix)
			if !ok {
				continue
			}
			r.Pods = []incident.PodValue{{Pod: "a", Value: v}}
			if suffix == "rank" {
				r.Pods[0].Rank = "0"
			}
			if next.Value, ok = values[kind+"_second_"+suffix]; ok {
				r.Pods = append(r.Pods, next)
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
