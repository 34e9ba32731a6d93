package evidence

import "strings"

// routerLabel marks the series that production-stack's router exports under the engines' own names.
const routerLabel = "server"

// routerTwin says whether production-stack's router exports a metric of this name too (src/vllm_router/services/metrics_service). Such
// selectors get server="", so that a sum does not count each request twice.
func routerTwin(spelled string) bool {
	bare, _ := bareName(spelled)
	switch bare {
	case "num_requests_running", "num_requests_waiting", "num_requests_swapped", "gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total", "gpu_prefix_cache_hit_rate":
		return true
	}
	return false
}

// labelsMissingOn is the table of labels that vLLM puts on its metrics but that a given metric of a vLLM server cannot carry:
//
//	vllm:cache_config_info           no model_name
//	vllm:lora_requests_info          no model_name, no engine
//	vllm:admission_rejections_total  no engine
//	http_request*                    no model_name, no engine: exported by the API server's instrumentation
//	http_response_size_bytes         no model_name, no engine
//	namespace_httproute:...          no model_name, no engine: the gateway's recording rule of deploy/prometheus, by namespace and route
//
// The labels of the scrape (namespace, pod, job, instance) are on all of them. Source: vLLM v1/metrics/loggers.py. Metrics of others (up, DCGM,
// gateways) are not in the table on purpose: without model_name they would be those of every pool in the namespace, so for them a matcher that
// they do not carry means no data.
func labelsMissingOn(name string) []string {
	both := []string{labelModel, labelEngine}
	if bare, ok := bareName(name); ok {
		switch bare {
		case "cache_config_info":
			return both[:1]
		case "lora_requests_info":
			return both
		case "admission_rejections_total":
			return both[1:]
		}
		return nil
	}
	if strings.HasPrefix(name, "http_request") || strings.HasPrefix(name, "http_response_size_bytes") || isGateway(name) {
		return both
	}
	return nil
}

// The labels that vLLM itself writes.
const (
	labelModel  = "model_name"
	labelEngine = "engine"
)

// The labels of the scrape by which vLLM's series and those of other exporters about the same pod can be joined. namespace names the same thing on both.
const (
	labelPod       = "pod"
	labelNamespace = "namespace"
)

// widened says which metrics were read with fewer matchers than the pool has. A route that the pool names is its own.
func widened(metrics []string, pool scope) string {
	var notes []string
	for _, name := range metrics {
		if isGateway(name) && !pool.route.IsZero() {
			continue
		}
		var left []string
		for _, label := range labelsMissingOn(name) {
			if _, has := pool.matchers[label]; has {
				left = append(left, label)
			}
		}
		if len(left) > 0 {
			notes = append(notes, name+" has no label "+strings.Join(left, " and ")+": it was read without that matcher and may include other pools")
		}
	}
	return strings.Join(notes, "; ")
}

// unmatched explains why a metric of somebody else may have no data.
func unmatched(metrics []string, matchers map[string]string) string {
	for _, label := range []string{labelModel, labelEngine} {
		if _, has := matchers[label]; !has {
			continue
		}
		for _, name := range metrics {
			if _, vllm := bareName(name); !vllm && labelsMissingOn(name) == nil {
				return name + " is not vLLM's own and may not carry " + label + ", which this pool's matchers ask for"
			}
		}
	}
	return ""
}
