package app

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
)

// A Kubernetes that is configured and cannot be asked is not one that nobody configured: what it would have said is
// unknown, and not "no".
func TestAKubernetesThatIsAwayIsNotOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	inner, err := evidence.New(evidence.Config{Prometheus: prometheus.Config{URL: "http://127.0.0.1:1", Attempts: 1}}, nil,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pool := incident.Pool{
		Name:     "p",
		Workload: incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "w"},
	}
	for _, away := range []error{nil, errors.New("not in a cluster")} {
		got := collector{Collector: inner, away: away}.Collect(t.Context(), pool, nil, incident.Scope{}).Cluster
		if got.NotConfigured != (away == nil) || away != nil && (got.Error != away.Error() || got.Workload != pool.Workload) {
			t.Errorf("away %v: %+v", away, got)
		}
	}
}
