package pages

import (
	"maps"
	"slices"
)

// target is one scraped page with the labels of its scrape.
type target struct {
	page   string
	labels map[string]string
}

// scene is what one Prometheus holds for one pool. Its name is the pool's namespace and the name of its golden file.
type scene struct {
	name    string
	targets []target
	// everySignal has the golden file record every signal of the catalog, and not only those of perMetric.
	everySignal bool
	// matchers are the pool's beside its namespace; nil is vLLM's model_name.
	matchers map[string]string
	// exact are values that must be read whatever the golden file says: each would be another if something were counted
	// twice, or not at all.
	exact map[string]float64
	// wrong are values that are read wrongly today, with the right ones. The test fails when one of them becomes right:
	// then it belongs into exact.
	wrong map[string]float64
}

const modelName = "acme/atlas-8b"

func (s scene) pool() map[string]string {
	m := map[string]string{"namespace": s.name}
	if s.matchers == nil {
		m["model_name"] = modelName
	}
	maps.Copy(m, s.matchers)
	return m
}

func pod(page, name string) target {
	return target{
		page:   page,
		labels: map[string]string{"pod": name, "container": "vllm", "job": "vllm", "instance": name + ":8000"},
	}
}

// podless is what arrives without the labels of Kubernetes.
func podless(page, instance string) target {
	return target{page: page, labels: map[string]string{"job": "otlp", "instance": instance}}
}

func router() target {
	return target{
		page:   "production-stack-router",
		labels: map[string]string{"pod": "router-0", "container": "router", "job": "router", "instance": "router-0:8000"},
	}
}

func relabelled(page, name string) target {
	t := pod(page, name)
	t.labels["job"] = "kserve-relabelled"
	return t
}

// byNamespace is a pool that is bounded by its namespace alone, so that the router's series are in it too.
func byNamespace() map[string]string { return map[string]string{} }

func alone(page string, exact map[string]float64) scene {
	return scene{name: page, targets: []target{pod(page, "a-0")}, exact: exact}
}

// scenes are all of them. A new signal is a line in the golden files of four: an engine of V0, one of V1, other
// spellings of the names, and two replicas, which have signals of single pods.
func scenes() []scene {
	all := append(generations(), fleets()...)
	for i, s := range all {
		all[i].everySignal = slices.Contains([]string{"v0.6.6", "v0.24.0", "ray-serve", "two-replicas"}, s.name)
	}
	return all
}

// perMetric are the signals that every golden file records, so that it has each metric that the catalog reads, with the
// name that these servers have for it: one signal for most metrics, more where labels, pods or ranks decide the value.
func perMetric() []string {
	return []string{
		"abort_ratio", "decode_p95", "e2e_p95", "e2e_rest", "engine_age", "engine_resets", "engines", "error_ratio",
		"finished_rate",
		"external_hit_share", "generation_len_p95", "generation_tokens_rate", "http_5xx_ratio", "kv_capacity", "kv_usage",
		"kv_usage_max",
		"kv_load_mean", "kv_tier_delay", "lmcache_retrieve_mean", "lora_slots",
		"nixl_expired_rate", "nixl_failed_rate", "nixl_xfer_mean", "nixl_xfer_p90", "preemption_rate", "prefill_p95",
		"decode_mean",
		"prefix_hit_rate",
		"prompt_len_p95", "prompt_tokens_rate", "queue_time_p95", "rejected_rate", "rss_growth", "running",
		"spec_acceptance", "tokens_per_request", "tpot_mean_worst_pod", "tpot_p95", "ttft_p95", "ttft_rest",
		"unfinished_ratio", "up",
		"waiting", "waiting_capacity", "waiting_deferred", "waiting_others", "waiting_per_engine", "waiting_worst_pod",
	}
}

// generations are single servers.
func generations() []scene {
	return []scene{
		alone("v0.6.6",
			map[string]float64{
				"waiting": 3, "running": 8, "kv_usage": .625, "prompt_tokens_rate": 1000, "kv_capacity": 96000,
				"preemption_rate": .05, "finished_rate": 2,
			}),
		alone("v0.8.1", map[string]float64{"waiting": 9, "kv_usage": .875, "prefix_hit_rate": .4, "kv_capacity": 96000}),
		alone("v0.8.5", map[string]float64{"waiting": 4, "kv_usage": .5, "prefix_hit_rate": .4, "prompt_tokens_rate": 2000}),
		alone("v0.10.0", map[string]float64{"kv_usage": .75, "prefix_hit_rate": .4, "prompt_tokens_rate": 1000}),
		alone("v0.10.2",
			map[string]float64{
				"kv_usage": .25, "prefix_hit_rate": .4, "prompt_tokens_rate": 3000,
				"generation_tokens_rate": 600,
			}),
		alone("v0.12.0", map[string]float64{"kv_usage": .0625, "preemption_rate": 0}),
		alone("v0.15.0", map[string]float64{"waiting": 0, "kv_usage": 0, "generation_tokens_rate": 0}),
		alone("v0.19.0", map[string]float64{"waiting": 6, "kv_usage": .9375, "abort_ratio": .02, "error_ratio": .01}),
		alone("v0.24.0", map[string]float64{"waiting": 7, "waiting_deferred": 2, "kv_usage": .8125}),
		alone("v0.29.0", map[string]float64{"waiting": 40, "waiting_deferred": 10, "rejected_rate": .75}),
		alone("spec-decode-v0.19", map[string]float64{"spec_acceptance": .7}),
		alone("nixl-prefill-v0.24", map[string]float64{"nixl_expired_rate": .2, "nixl_failed_rate": 0}),
		alone("nixl-decode-v0.24",
			map[string]float64{"nixl_expired_rate": 0, "nixl_failed_rate": .1, "nixl_xfer_p90": .0375}),
		alone("lora-v0.24", map[string]float64{"waiting_deferred": 4, "waiting": 5, "deferred_share": .8}),
		alone("dp2-v0.24",
			map[string]float64{
				"engines": 2, "waiting": 12, "waiting_per_engine": 6, "kv_usage": .5, "kv_usage_max": .75,
				"prompt_tokens_rate": 4000, "kv_capacity": 96000,
			}),
		// Each API server process has a gauge of its own for kv_cache_usage_perc, and only one of them is up to date.
		{
			name: "api-servers-v0.10.2", targets: []target{pod("api-servers-v0.10.2", "a-0")},
			exact: map[string]float64{"engines": 1, "waiting": 3, "prompt_tokens_rate": 1000},
			wrong: map[string]float64{"kv_usage": .625},
		},
		alone("api-servers-v0.24",
			map[string]float64{"engines": 1, "waiting": 3, "kv_usage": .625, "prompt_tokens_rate": 1000}),
		// On Ray a counter that never counted has no series: nothing was preempted.
		{
			name: "ray-serve", targets: []target{pod("ray-serve", "a-0")},
			exact: map[string]float64{
				"engines": 2, "waiting": 8, "kv_usage": .5, "prompt_tokens_rate": 3000,
				"prefix_hit_rate": .4, "preemption_rate": 0,
			},
		},
		{
			name: "ray-serve-colon", targets: []target{pod("ray-serve-colon", "a-0")},
			exact: map[string]float64{
				"engines": 2, "waiting": 8, "kv_usage": .5, "prompt_tokens_rate": 3000,
				"prefix_hit_rate": .4, "preemption_rate": 0,
			},
		},
		alone("nim", map[string]float64{
			"waiting": 4, "running": 9, "kv_usage": .4375, "prompt_tokens_rate": 1000,
			"finished_rate": 2,
		}),
		// The simulator writes finish_reason and not finished_reason; one request in a hundred is aborted.
		{
			name: "llm-d-inference-sim", targets: []target{pod("llm-d-inference-sim", "a-0")},
			exact: map[string]float64{
				"waiting": 2, "kv_usage": .3125, "prefix_hit_rate": .4, "kv_capacity": 16384,
				"finished_rate": 2,
			},
			wrong: map[string]float64{"abort_ratio": .01},
		},
	}
}

// fleets are several pages under one pool.
func fleets() []scene {
	today := []target{pod("v0.24.0", "a-0"), pod("replica-v0.24", "b-0")}
	both := map[string]float64{
		"engines": 2, "waiting": 19, "waiting_per_engine": 9.5, "running": 44, "kv_usage": .65625,
		"prompt_tokens_rate": 3000, "finished_rate": 6, "prefix_hit_rate": .4,
	}
	return []scene{
		{name: "two-replicas", targets: today, exact: both},
		{
			name: "kserve-twins", targets: []target{pod("v0.24.0", "a-0"), relabelled("kserve-relabelled-v0.24", "a-0")},
			exact: map[string]float64{"engines": 1, "waiting": 7, "prompt_tokens_rate": 1000, "finished_rate": 2},
		},
		{
			name: "kserve-relabelled-only", targets: []target{relabelled("kserve-relabelled-v0.24", "a-0")},
			exact: map[string]float64{"engines": 1, "waiting": 7, "kv_usage": .8125},
		},
		{
			name: "dp2-rank-1", targets: []target{pod("dp2-v0.24", "a-0")},
			matchers: map[string]string{"model_name": modelName, "engine": "1"},
			exact:    map[string]float64{"engines": 1, "waiting": 10, "kv_usage": .75, "prompt_tokens_rate": 3000},
		},
		{name: "router-beside-v0.24", targets: append([]target{router()}, today...), matchers: byNamespace(), exact: both},
		{name: "router-beside-v0.24-by-model", targets: append([]target{router()}, today...), exact: both},
		// The router has gpu_prefix_cache_queries_total too.
		{
			name: "router-beside-v0.8.5", targets: []target{router(), pod("v0.8.5", "a-0")}, matchers: byNamespace(),
			exact: map[string]float64{"engines": 1, "waiting": 4, "kv_usage": .5, "prefix_hit_rate": .4},
		},
		{
			name: "router-beside-v0.6.6", targets: []target{router(), pod("v0.6.6", "a-0")}, matchers: byNamespace(),
			exact: map[string]float64{"engines": 1, "waiting": 3, "kv_usage": .625},
		},
		{name: "router-alone", targets: []target{router()}, matchers: byNamespace()},
		{
			name:    "prefill-and-decode",
			targets: []target{pod("nixl-prefill-v0.24", "prefill-0"), pod("nixl-decode-v0.24", "decode-0")},
			exact:   map[string]float64{"engines": 2, "waiting": 14, "nixl_failed_rate": .1, "nixl_expired_rate": .2},
		},
		{
			name:    "otlp",
			targets: []target{podless("otlp-v0.12", "10.4.0.5:8000"), podless("otlp-v0.12-second", "10.4.0.6:8000")},
			exact: map[string]float64{
				"engines": 2, "waiting": 6, "waiting_worst_pod": 4, "waiting_others": 4,
				"kv_usage": .625, "prompt_tokens_rate": 3000,
			},
		},
		// The two halves name the cache differently, and both names are asked for.
		{
			name: "upgrade-0.8.5-to-0.24", targets: []target{pod("v0.8.5", "old-0"), pod("v0.24.0", "new-0")},
			exact: map[string]float64{"engines": 2, "waiting": 11, "prompt_tokens_rate": 3000, "kv_usage": .65625},
		},
	}
}
