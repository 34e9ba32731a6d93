package remediation_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// An alert that names only its pod is led to its pool through the pod's owner. When it resolves, the pod is often gone:
// that is the repair. Its end belongs to the incident that has it, which would stay open over it for a day.
func TestTheEndOfAnAlertWhosePodIsGoneReachesItsIncident(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	down := from("EngineDown", "10.0.0.1:8000")
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.sight.see(blind())
	b.deliver(down)
	b.sweep()
	inc := b.open("llama")
	b.deliver(down) // sent again
	b.sweep()
	b.skip(time.Minute)
	b.deliver(resolved(down, b.clock()))
	b.sweep()
	if got := b.read(inc.ID); len(got.Firing()) != 0 {
		t.Errorf("its incident still has firing: %v", got.AlertNames())
	}
	if all := b.all(); len(all) != 1 {
		t.Errorf("there are %d incidents", len(all))
	}
	if asked := b.sight.asked("10.0.0.1:8000"); asked != 1 {
		t.Errorf("asked %d times whose it is", asked)
	}
}

// One that no incident knows leads nowhere, as before.
func TestAnUnknownAlertWhosePodIsGoneLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.see(blind())
	b.deliver(alert("HighTTFT", "llama"))
	b.pass(time.Minute)
	b.sight.owned("10.0.0.2:8000", ownersAnswer{err: incident.ErrNoWorkload})
	b.deliver(from("EngineDown", "10.0.0.2:8000"))
	b.sweep()
	if got := b.open("").AlertNames(); len(got) != 1 || got[0] != "EngineDown" {
		t.Errorf("without a pool: %v", got)
	}
	if got := b.open("llama").AlertNames(); len(got) != 1 {
		t.Errorf("in the pool: %v", got)
	}
}
