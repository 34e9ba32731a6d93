package evidence

import "strings"

// routerLabel marks the series that production-stack's router exports under the engines' own names.
const routerLabel = "server"

// routerTwin says whether production-stack's router exports a metric of this name too (src/vllm_router/services/metrics_service). Such
// selectors get server="", so that a sum does not count each request twice.
func routerTwin(spelled string) bool {
	bare, _ := bareName(spelled)
	switch bare {
	case "num_requests_running", "num_requests_waiting", "num_requests_swapped", "gpu_prefix_cache_hits_total", "gpu_prefix_cache_hit_rate":
		return true
	}
	return false
}

// labelsMissingOn is the table of labels that vLLM puts on its metrics but that a given metric cannot carry:
//
//	vllm:cache_config_info           no model_name
//	vllm:lora_requests_info          no model_name, no engine
//	vllm:admission_rejections_total  no engine
//	http_*  process_*  python_*      no model_name, no engine: exported by the API server's instrumentation, not by the engine
//	up  scrape_*                     no model_name, no engine: written by Prometheus
//	DCGM_*  kube_*  container_*      no model_name, no engine: other exporters
//
// The labels of the scrape (namespace, pod, job, instance) are on all of them. Source: vLLM v1/metrics/loggers.py.
func labelsMissingOn(name string) []string {
	both := []string{"model_name", "engine"}
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
	if base, _ := splitSuffix(name); strings.HasPrefix(base, "http_request") || strings.HasPrefix(base, "http_response_size_bytes") {
		return both
	}
	for _, prefix := range []string{"process_", "python_", "scrape_", "DCGM_", "kube_", "container_"} {
		if strings.HasPrefix(name, prefix) {
			return both
		}
	}
	if name == "up" {
		return both
	}
	return nil
}
