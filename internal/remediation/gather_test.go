package remediation_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// News of the alerts gather for a minute, and the end of the process loses none of it.
func TestTheThreadHasOneLineForAMinuteOfAlerts(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.deliver(alert("Queue", "llama"))
	b.sweep()
	for range 3 {
		b.skip(5 * time.Second)
		b.deliver(resolved(alert("Queue", "llama"), b.clock()))
		b.sweep()
		b.skip(5 * time.Second)
		again := alert("Queue", "llama")
		again.StartsAt = b.clock()
		b.deliver(again)
		b.sweep()
	}
	b.restart(llama())
	if got := called(b.read(inc.ID), incident.NoteAlerts); len(got) != 0 {
		t.Errorf("told within the minute: %+v", got)
	}
	b.pass(2 * time.Minute)
	got := called(b.read(inc.ID), incident.NoteAlerts)
	if len(got) != 1 || got[0].Said.Names != "Queue" || got[0].At.Sub(inc.UpdatedAt) > 2*time.Minute {
		t.Errorf("told %+v", got)
	}
	if again := b.read(inc.ID); again.State != incident.StateDeciding || !again.AlertsSince.IsZero() {
		t.Errorf("state %s, news since %v", again.State, again.AlertsSince)
	}
}

func TestAlertsWithoutAPoolGatherToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
	b.deliver(from("HighTTFT", "nowhere"))
	b.sweep()
	b.deliver(from("Queue", "nowhere"))
	b.sweep()
	b.pass(3 * time.Minute)
	got := called(b.open(""), incident.NoteAlerts)
	if len(got) != 1 || got[0].Said.Names != "Queue on nowhere" {
		t.Errorf("told %+v", got)
	}
}
