package fakevllm

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// gatewayCollector exports the gateway as Envoy Gateway's proxies do, one cluster for the model's HTTPRoute.
type gatewayCollector struct{ fleet *Fleet }

func (f *Fleet) serveGateway(w http.ResponseWriter, r *http.Request) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(gatewayCollector{fleet: f}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serveRegistry(w, r, registry, false, false) // Envoy writes the text format only
}

// Describe sends nothing.
func (gatewayCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends Envoy's counters (docs: cluster_stats, local_rate_limit_filter). A client that leaves shows as a connection to the engine that
// Envoy closed with a request on it, because vLLM speaks HTTP/1.1; upstream_rq_tx_reset is for HTTP/2 upstreams.
func (c gatewayCollector) Collect(out chan<- prometheus.Metric) {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	g := c.fleet.gateway
	inFlight := 0
	for _, r := range c.fleet.replicas {
		for _, e := range r.ranks {
			inFlight += e.inFlight()
		}
	}
	labels := map[string]string{"envoy_cluster_name": "httproute/" + c.fleet.opts.Namespace + "/" + c.fleet.opts.Model + "/rule/0"}
	w := writer{out: out}
	count := func(name string, n uint64, labels map[string]string) {
		w.sample("envoy_cluster_"+name, "", prometheus.CounterValue, float64(n), labels)
	}
	class := func(n string) map[string]string { return with(labels, "envoy_response_code_class", n) }
	count("upstream_rq_total", g.total, labels)
	count("upstream_rq_xx", g.completed, class("2"))
	count("upstream_rq_xx", g.lost+g.overflow+g.unhealthy, class("5"))
	count("upstream_rq_tx_reset", 0, labels)
	count("upstream_rq_rx_reset", 0, labels)
	count("upstream_rq_timeout", 0, labels)
	count("upstream_cx_destroy_local_with_active_rq", g.destroyed, labels)
	count("upstream_cx_destroy_remote_with_active_rq", g.lost, labels)
	count("upstream_rq_pending_overflow", g.overflow, labels)
	count("upstream_cx_none_healthy", g.unhealthy, labels)
	w.sample("envoy_cluster_upstream_rq_active", "", prometheus.GaugeValue, float64(inFlight), labels)
	w.sample("envoy_http_local_rate_limit_rate_limited", "", prometheus.CounterValue, float64(g.limited), nil)
}
