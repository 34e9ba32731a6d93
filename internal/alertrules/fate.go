package alertrules

// Fate says what became of a vLLM metric that today's vLLM does not have, or that no version ever had; empty for a metric of today, for one of a connector's own set,
// and for anything that is not vLLM's. Source: vLLM's history of metrics.
func Fate(metric string) string {
	n, ok := split(metric)
	if !ok || connector(n.base) {
		return ""
	}
	if _, current := today()[n.base]; current {
		return ""
	}
	if p, known := gone()[n.base]; known {
		return metric + " " + p.what
	}
	text := "no version of vLLM has a metric " + metric
	if like := near(n.base); like != "" {
		text += "; is " + n.prefix + like + n.suffix + " meant?"
	}
	return text
}
