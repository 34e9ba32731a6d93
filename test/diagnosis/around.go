package diagnosis

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// apiServer writes what the process in front of the engines exports: requests by status class and memory. It has
// no model_name.
func (f *fleet) apiServer(w *scribe, t target, ms []*machine) {
	const handler = "/v1/chat/completions"
	tp := ms[0].tp
	for status, recs := range map[string][]string{"2xx": {recServed, recLeft}, "5xx": {recFailed}} {
		sum := make([]float64, tp.steps)
		for _, m := range ms {
			for _, rec := range recs {
				for i, v := range m.tp.counters[rec] {
					sum[i] += v
				}
			}
		}
		values := tp.total(sum)
		if status != "2xx" && values[len(values)-1] == 0 {
			continue // a class appears with its first answer
		}
		w.series(t, "http_requests_total", []string{"handler", handler, "method", "POST", "status", status}, values)
	}
	rss := ms[0].series(func(p Physics) *quantity { return p.RSS })
	for i := range rss {
		rss[i] = math.Round(rss[i] * (1 << 30))
	}
	w.series(t, "process_resident_memory_bytes", nil, rss)
}

// around writes what others export: the GPUs, the node's agent, the gateway, the router.
func (f *fleet) around(to Sink) error {
	w := scribe{to: to, inc: f.inc}
	for i, pod := range f.inc.Pods {
		if f.inc.GPU {
			f.gpu(&w, i, pod)
		}
		f.memory(&w, i, pod)
	}
	if f.inc.Gateway {
		f.gateway(&w)
	}
	if f.inc.Dialect == routerTwins {
		f.router(&w)
	}
	for _, x := range f.inc.Strays {
		values := f.machines[f.inc.Pods[0]][0].flat(x.Value)
		for i := range values {
			values[i] += x.PerSecond * float64(i) * float64(f.inc.Scrape)
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
			pairs = append(pairs, name, x.Labels[name])
		}
		w.series(f.steady(), x.Metric, pairs, values)
	}
	return w.err
}

// steady is a target that always answers, but for a Prometheus that takes no samples at all.
func (f *fleet) steady(labels ...string) target {
	m := f.machines[f.inc.Pods[0]][0]
	t := target{labels: labels, state: make([]string, m.tp.steps), offset: 0.7}
	for s := range t.state {
		t.state[s] = targetUp
		if *m.tl.at(float64(s) * m.tp.interval).Target == targetSilent {
			t.state[s] = targetSilent
		}
	}
	return t
}

// gpu writes the DCGM exporter's series for a pod's GPU. An engine that is dead holds no memory.
func (f *fleet) gpu(w *scribe, i int, pod string) {
	m := f.machines[pod][0]
	const total = 81559.0 // MiB of an 80 GB card
	t := f.steady("job", "dcgm-exporter", "instance", fmt.Sprintf("10.0.%d.%d:9400", i/200, 5+i%200))
	prefix := ""
	if f.inc.GPULabels == "exported" {
		prefix = "exported_"
	}
	more := []string{
		"gpu", "0", "device", "nvidia0", "UUID", fmt.Sprintf("GPU-%08x", uint32(seed(pod))), "modelName",
		"NVIDIA H100 80GB HBM3",
		"Hostname", fmt.Sprintf("gpu-node-%d", i), prefix + "container", container, prefix + "namespace", namespace,
		prefix + "pod", pod,
	}
	if prefix != "" { // the exporter's own pod then takes the names
		t.labels = append(t.labels, "namespace", "gpu-operator", "pod",
			fmt.Sprintf("nvidia-dcgm-exporter-%04x", seed(pod)&0xffff), "container", "nvidia-dcgm-exporter")
	}
	util := m.series(func(p Physics) *quantity { return p.GPUUtil })
	used := m.series(func(p Physics) *quantity { return p.GPUMem })
	running := m.inBatch()
	for s := range util {
		busy := m.alive(float64(s) * m.tp.interval)
		switch {
		case !busy:
			util[s], used[s] = 0, 4
		default:
			if running[s] == 0 {
				util[s] = 0
			}
			util[s] = math.Round(100 * math.Min(1, util[s]*(1+0.03*math.Sin(float64(s)*1.7))))
			used[s] = math.Round(total * used[s])
		}
	}
	free := make([]float64, len(used))
	for s := range free {
		free[s] = total - used[s]
	}
	w.series(t, "DCGM_FI_DEV_GPU_UTIL", more, util)
	w.series(t, "DCGM_FI_DEV_FB_USED", more, used)
	w.series(t, "DCGM_FI_DEV_FB_FREE", more, free)
	w.series(t, "DCGM_FI_DEV_GPU_TEMP", more, m.flat(61))
	w.series(t, "DCGM_FI_DEV_XID_ERRORS", more, m.flat(0))
}

// memory writes the node agent's view of the container.
func (f *fleet) memory(w *scribe, i int, pod string) {
	m := f.machines[pod][0]
	t := f.steady("job", "kubelet", "instance", fmt.Sprintf("10.0.%d.%d:10250", i/200, 5+i%200), "metrics_path",
		"/metrics/cadvisor")
	rss := m.series(func(p Physics) *quantity { return p.RSS })
	for s := range rss {
		rss[s] = math.Round(rss[s] * (1 << 30) * 1.8)
		if !m.alive(float64(s) * m.tp.interval) {
			rss[s] = math.NaN()
		}
	}
	w.series(t, "container_memory_working_set_bytes", []string{"namespace", namespace, "pod", pod, "container", container},
		rss)
}

// gateway writes Envoy's counters for the model's route. A client that goes away shows as a reset from below and,
// because vLLM speaks HTTP/1.1, as a connection that Envoy closed with a request on it.
func (f *fleet) gateway(w *scribe) {
	t := f.steady("job", "envoy", "instance", "10.42.9.3:19001", "namespace", "envoy-gateway-system", "pod",
		"envoy-llm-gateway-5d9c7bb6f4-x2x7p")
	cluster := []string{"envoy_cluster_name", "httproute/" + namespace + "/" + model + "/rule/0"}
	sum := func(recs ...string) []float64 {
		var total []float64
		for _, ms := range f.machines {
			for _, m := range ms {
				if total == nil {
					total = make([]float64, m.tp.steps)
				}
				for _, rec := range recs {
					for i, v := range m.tp.counters[rec] {
						total[i] += v
					}
				}
			}
		}
		// The gateway does not die with the engines: its counters never begin again.
		whole := newTape(len(total), float64(f.inc.Scrape), []epoch{{to: math.Inf(1), stall: math.Inf(1)}})
		return whole.total(total)
	}
	w.up(t)
	w.series(t, "envoy_cluster_upstream_rq_total", cluster, sum(recArrived, recFailed))
	w.series(t, "envoy_cluster_upstream_cx_destroy_local_with_active_rq", cluster, sum(recLeft))
	w.series(t, "envoy_cluster_upstream_rq_tx_reset", cluster, sum("never"))
	if f.inc.Recorded {
		w.series(f.steady(), "namespace_httproute:gateway_cancels:ratio_increase5m",
			[]string{"namespace", namespace, "httproute", model},
			f.recorded(sum(recLeft), sum(recArrived, recFailed)))
	}
}

// recorded is what the rule of deploy/prometheus makes of the gateway's counters: the part that left among the requests
// of five minutes, and nothing below ten requests.
func (f *fleet) recorded(left, all []float64) []float64 {
	window := int(math.Round(300 / float64(f.inc.Scrape)))
	out := make([]float64, len(all))
	for i := range out {
		out[i] = math.NaN()
		if i < window {
			continue
		}
		if n := all[i] - all[i-window]; n >= 10 {
			out[i] = (left[i] - left[i-window]) / n
		}
	}
	return out
}

// router writes production-stack's own gauges, which have the engines' names and a label server.
func (f *fleet) router(w *scribe) {
	t := f.steady("job", "vllm-router", "instance", "10.42.3.3:8001", "namespace", namespace, "pod",
		"vllm-deployment-router-6f7d8c9b4-kq8zt", "container", "router-container")
	w.up(t)
	for i, pod := range f.inc.Pods {
		m := f.machines[pod][0]
		server := []string{"server", "http://" + f.inc.instance(i)}
		w.series(t, "vllm:num_requests_running", server, m.inBatch())
		w.series(t, "vllm:num_requests_waiting", server, m.tp.gauge(recWaiting))
		// The router counts requests that it holds back as swapped; a few are always between two polls of an engine.
		swapped := make([]float64, m.tp.steps)
		for s := range swapped {
			swapped[s] = float64((s*7 + i) % 5)
		}
		w.series(t, "vllm:num_requests_swapped", server, swapped)
		w.series(t, "vllm:gpu_prefix_cache_hit_rate", server, m.series(func(p Physics) *quantity { return p.Hit }))
		w.series(t, "vllm:gpu_prefix_cache_hits_total", server, m.tp.total(m.tp.counters[recHit]))
		w.series(t, "vllm:current_qps", server, m.series(func(p Physics) *quantity { return p.Rate }))
		w.series(t, "vllm:healthy_pods_total", server, m.flat(1))
	}
}
