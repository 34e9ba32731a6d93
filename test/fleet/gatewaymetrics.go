package fleet

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

// Collect sends those of Envoy's counters (docs: cluster_stats) that the rule of deploy/prometheus reads. A client that
// leaves shows as a connection to the engine that Envoy closed with a request on it, because vLLM speaks HTTP/1.1;
// upstream_rq_tx_reset is for HTTP/2 upstreams.
func (c gatewayCollector) Collect(out chan<- prometheus.Metric) {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	g := c.fleet.gateway
	cluster := "httproute/" + c.fleet.opts.Namespace + "/" + c.fleet.opts.Model + "/rule/0"
	w := writer{out: out}
	for name, n := range map[string]uint64{
		"upstream_rq_total": g.total, "upstream_rq_tx_reset": 0, "upstream_cx_destroy_local_with_active_rq": g.destroyed,
	} {
		labels := map[string]string{"envoy_cluster_name": cluster}
		w.sample("envoy_cluster_"+name, "", prometheus.CounterValue, float64(n), labels)
	}
}
