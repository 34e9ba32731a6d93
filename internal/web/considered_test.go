package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestWhatNobodyLookedAtSharesARow(t *testing.T) {
	t.Parallel()
	got := considered([]incident.Other{
		{
			Name: "engine-dead", Verdict: incident.Undecided, Why: "not checked: a, because x",
			NotEvaluated: "no Kubernetes is configured",
		},
		{Name: "queueing", Verdict: incident.False, Why: "nobody waits"},
		{
			Name: "oom-at-batch-expansion", Verdict: incident.Undecided, Why: "not checked: b, because x",
			NotEvaluated: "no Kubernetes is configured",
		},
		{Name: "stalled", Verdict: incident.Undecided, Why: "no data"},
	})
	want := []consideredRow{
		{"queueing", "false", "nobody waits"},
		{"stalled", "undecided", "no data"},
		{"engine dead, oom at batch expansion", "not checked", "no Kubernetes is configured"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
