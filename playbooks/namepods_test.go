package playbooks_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Somebody deletes the pod that is named first. A rule with several ways to be true names pods in ways that don't hold,
// too: the fullest of three queues that are empty is any of them.
func TestWhatMakesARuleTrueNamesThePod(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	pods := func(value float64, unit incident.Unit, a, b float64) incident.Reading {
		each := []incident.PodValue{{Pod: "a", Value: a}, {Pod: "b", Value: b}}
		return incident.Reading{Value: &value, Unit: unit, Pods: each}
	}
	ev := readings(with(map[string]float64{}))
	ev.Readings["stalled_pods"] = pods(1, incident.UnitCount, 0, 1)
	ev.Readings["waiting_worst_pod"] = pods(.1, incident.UnitCount, .1, 0)
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMQueueBacklog"), Pool: chat(), Evidence: ev})
	if nameOf(got.Diagnosis) != "one-bad-replica" {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	for _, e := range got.Diagnosis.Evidence {
		if e.Truth == incident.True && strings.Contains(e.Seen, "(") {
			if e.Signal != "stalled_pods" || e.Seen != "1 (b)" {
				t.Errorf("%s %s comes first, want the stalled pod", e.Text, e.Seen)
			}
			break
		}
	}

	ev.Readings["stalled_pods"] = pods(2, incident.UnitCount, 1, 1)
	if got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMQueueBacklog"), Pool: chat(), Evidence: ev}); nameOf(
		got.Diagnosis) == "one-bad-replica" {
		t.Error("of two stalled pods one is called the bad one")
	}
}
