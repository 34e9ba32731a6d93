package fleet

import "net/http"

// gatewayPath is where the gateway's metrics are served.
const gatewayPath = "/gateway/metrics"

func (f *Fleet) serveGateway(w http.ResponseWriter, r *http.Request) {
	serve(w, r, f.walkGateway, false, false) // Envoy writes the text format only
}

// walkGateway shows a page those of Envoy's counters (docs: cluster_stats) that the rule of deploy/prometheus reads, as
// Envoy Gateway's proxies export them, one cluster for the model's HTTPRoute. A client that leaves shows as a
// connection to the engine that Envoy closed with a request on it, because vLLM speaks HTTP/1.1; upstream_rq_tx_reset
// is for HTTP/2 upstreams.
func (f *Fleet) walkGateway(p page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	labels := map[string]string{
		"envoy_cluster_name": "httproute/" + f.opts.Namespace + "/" + f.opts.Model + "/rule/0",
	}
	for _, c := range []struct {
		name  string
		value uint64
	}{
		{"upstream_rq_total", f.gateway.total},
		{"upstream_rq_tx_reset", 0},
		{"upstream_cx_destroy_local_with_active_rq", f.gateway.destroyed},
		{"upstream_rq_active_overflow", f.gateway.overflowed},
		{"upstream_rq_pending_overflow", 0},
	} {
		p.counter(metric{name: "envoy_cluster_" + c.name, labels: labels}, float64(c.value))
	}
}
