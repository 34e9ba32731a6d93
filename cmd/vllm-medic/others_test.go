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
	printOthers(&out, []incident.Other{
		{Name: "engine-dead", Verdict: incident.Undecided, Why: "not looked at: a, because x", NotLookedAt: why},
		{Name: "queueing", Verdict: incident.False, Why: "nobody waits"},
		{Name: "oom-at-batch-expansion", Verdict: incident.Undecided, Why: "not looked at: b, because x", NotLookedAt: why},
		{Name: "stalled", Verdict: incident.Undecided, Why: "no data"},
	}, "connection refused")
	want := "\n  also considered\n    stalled (cannot be told): no data\n    not looked at, because no Kubernetes is configured: engine-dead, oom-at-batch-expansion\n    1 more do not hold\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
