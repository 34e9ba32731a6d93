package remediation_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A snooze is about the pool: the end of its incident and of the process do not end it, and its time does.
func TestASnoozeOutlivesTheIncident(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	d := decision(inc, "", incident.Deny)
	d.Snooze = 3 * time.Hour
	if _, err := b.engine.Decide(t.Context(), inc.ID, d); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.Closed{By: bob, Reason: "known"}); err != nil {
		t.Fatal(err)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.restart(llama())
	b.skip(time.Hour)
	again := alert("HighTTFT", "llama")
	again.StartsAt = b.clock()
	b.deliver(again)
	b.sweep()
	b.pass(5 * time.Minute)
	next := b.open("llama")
	if next.ID == inc.ID {
		t.Fatal("the incident was opened again")
	}
	if next.State != incident.StateWatching || next.MuteReason != incident.MutedSnoozed ||
		len(called(next, incident.NoteApprovalNeeded)) != 0 {
		t.Errorf("state %s, muted for %q", next.State, next.MuteReason)
	}
	refusal(t, b.decide(next, "p1-s1", incident.Approve))
	b.pass(2 * time.Hour)
	if next = b.read(next.ID); next.State != incident.StateDeciding {
		t.Errorf("state %s after the time", next.State)
	}
}
