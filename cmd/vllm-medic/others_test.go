package main

import (
	"bytes"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestWhatNobodyLookedAtIsPrintedOnOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	const why = "no Kubernetes is configured"
	refused := incident.Reading{Error: "connection refused"}
	inc := incident.Incident{Readings: map[string]incident.Reading{"waiting": refused, "running": refused}}
	inc.Others = []incident.Other{
		{Name: "engine-dead", Verdict: incident.Undecided, Why: "not looked at: a, because x", NotEvaluated: why},
		{Name: "queueing", Verdict: incident.False, Why: "nobody waits"},
		{Name: "oom-at-batch-expansion", Verdict: incident.Undecided, Why: "not looked at: b, because x", NotEvaluated: why},
		{Name: "stalled", Verdict: incident.Undecided, Why: "no data"},
		{
			Name: "idle", Verdict: incident.Undecided, Why: "waiting could not be read",
			Missing: []string{"kv_usage", "waiting"},
		},
	}
	printOthers(&out, inc, true)
	want := "\n  also considered\n    1 undecided (missing readings)\n    stalled (undecided): no data\n    not checked " +
		"(no Kubernetes is configured): engine dead, oom at batch expansion\n    1 more ruled out\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
