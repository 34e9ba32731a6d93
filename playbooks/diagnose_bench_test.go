package playbooks_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/playbooks"
)

// BenchmarkDiagnose is one answer for each trouble that the built-in playbooks tell apart.
func BenchmarkDiagnose(b *testing.B) {
	c := builtin(b, playbooks.Options{})
	var all []playbooks.Input
	for _, tr := range troubles() {
		all = append(all, playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)})
	}
	for b.Loop() {
		for _, in := range all {
			c.Diagnose(in)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(all)), "µs/answer")
}
