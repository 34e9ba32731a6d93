package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// newIgnored counts what accepted deliveries said of alerts and nothing came of.
func newIgnored() *prometheus.CounterVec {
	out := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm_medic_alerts_ignored_total", Help: "Words of accepted deliveries about alerts that changed nothing.",
	}, []string{"reason"})
	for _, why := range incident.AllIgnored() {
		out.WithLabelValues(string(why)) // a rule sees the first one only when there was a 0 before
	}
	return out
}
