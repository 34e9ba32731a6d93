package alertrules

import "github.com/vllm-medic/vllm-medic/internal/vllm"

// Fate says what became of a vLLM metric that current vLLM does not have, or that no version ever had; empty for a
// current one, for one of a connector's own set, and for anything that is not vLLM's. Source: vLLM's history of
// metrics.
func Fate(metric string) string {
	n, ok := vllm.ParseMetric(metric)
	if !ok || vllm.OfConnector(n.Base) {
		return ""
	}
	if _, current := vllm.CurrentMetric(n.Base); current {
		return ""
	}
	if p, known := removed()[n.Base]; known {
		return metric + " " + p.what
	}
	text := "no version of vLLM has a metric " + metric
	if like := closest(n.Base); like != "" {
		text += "; did you mean " + n.Prefix + like + n.Suffix + "?"
	}
	return text
}
