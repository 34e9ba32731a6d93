package diagnosis

import "strings"

// expr is the expression that an alert's link carries: the incident's own, else the seeds' rule of that name with the
// metric as this fleet spells it, because a rule that fires was corrected by somebody. Names that nobody knows have no
// link.
func (inc *Incident) expr(a Alert) string {
	if a.Expr != "" {
		return a.Expr
	}
	cache := "kv_cache_usage_perc"
	if !inc.edition().from(9, 2) {
		cache = "gpu_cache_usage_perc"
	}
	known := map[string]string{
		"vLLMHighTTFT": "histogram_quantile(0.95, sum by (le, instance) " +
			"(rate(PREFIXtime_to_first_token_seconds_bucket[5m]))) > 3",
		"vLLMQueueBacklog": "histogram_quantile(0.95, sum by (le, instance) " +
			"(rate(PREFIXrequest_queue_time_seconds_bucket[5m]))) > 5",
		"vLLMGPUCacheFull": "PREFIX" + cache + " > 0.95",
		"HighTTFT":         "histogram_quantile(0.95, rate(PREFIXtime_to_first_token_seconds_bucket[5m])) > 2.0",
		"KVCacheNearFull":  "PREFIX" + cache + " > 0.95",
		"QueueBuildUp":     "PREFIXnum_requests_waiting > 50",
		"LowThroughput":    "rate(PREFIXgeneration_tokens_total[5m]) < 100",
	}
	return strings.ReplaceAll(known[a.Name], "PREFIX", inc.spelling().prefix)
}

// instanceOnly are the seeds' rules that keep nothing but the instance, so that the bot has to find the pod and its
// owner itself.
func instanceOnly(name string) bool {
	return name == "vLLMHighTTFT" || name == "vLLMQueueBacklog" || name == "vLLMHighAbortRate"
}
