package present

import "strings"

// Group is what a signal is about, as a heading over readings.
type Group string

// The groups, in the order in which they are read.
const (
	GroupLatency Group = "Latency"
	GroupQueue   Group = "Queue and batch"
	GroupCache   Group = "KV cache"
	GroupTraffic Group = "Traffic"
	GroupErrors  Group = "Errors"
	GroupGPU     Group = "GPU and memory"
	GroupPods    Group = "Pods and engines"
	GroupAlerts  Group = "Alerts"
	GroupOther   Group = "Other"
)

// Groups lists all of them.
func Groups() []Group {
	return []Group{
		GroupLatency, GroupQueue, GroupCache, GroupTraffic, GroupErrors, GroupGPU, GroupPods, GroupAlerts, GroupOther,
	}
}

// groupPrefixes tell the group of a signal by how its name begins; the longest one counts.
var groupPrefixes = map[string]Group{
	"ttft_": GroupLatency, "tpot_": GroupLatency, "e2e_": GroupLatency, "queue_time_": GroupLatency,
	"prefill_": GroupLatency, "decode_": GroupLatency,
	"waiting": GroupQueue, "running": GroupQueue, "deferred_": GroupQueue, "requests_held": GroupQueue,
	"demand": GroupQueue, "in_flight": GroupQueue, "load_now": GroupQueue,
	"batch_": GroupQueue, "decode_budget_": GroupQueue, "max_num_": GroupQueue, "safe_max_num_": GroupQueue,
	"kv_": GroupCache, "prefix_": GroupCache, "preemption_": GroupCache, "tokens_per_request": GroupCache,
	"nixl_": GroupCache, "lmcache_": GroupCache, "external_": GroupCache, "lora_": GroupQueue,
	"prompt": GroupTraffic, "generation": GroupTraffic, "finished_": GroupTraffic, "spec_": GroupTraffic,
	"request_rate": GroupTraffic, "first_tokens": GroupTraffic,
	"abort_": GroupErrors, "error_": GroupErrors, "unfinished_": GroupErrors, "gateway_": GroupErrors,
	"http_": GroupErrors, "rejected_": GroupErrors,
	"gpu_": GroupGPU, "rss_": GroupGPU,
	"engine": GroupPods, "frontend_": GroupPods, "pods_": GroupPods, "up": GroupPods, "recent_": GroupPods,
	"youngest_": GroupPods, "stalled_": GroupPods, "versions": GroupPods, "prefill_pods": GroupPods,
	"targets_": GroupPods, "dead_alerts": GroupAlerts, "last_": GroupPods, "stuck_": GroupPods,
	"busy_": GroupQueue, "busy_slow_": GroupLatency, "tokens_worst_": GroupTraffic,
}

// GroupOf is what a signal is about; one of somebody's own playbook is GroupOther, unless it is named like a built-in
// one.
func GroupOf(signal string) Group {
	best, out := "", GroupOther
	for prefix, g := range groupPrefixes {
		if strings.HasPrefix(signal, prefix) && len(prefix) > len(best) {
			best, out = prefix, g
		}
	}
	return out
}
