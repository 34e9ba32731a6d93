package incident

import (
	"testing"
	"time"
)

func snooze(inc Incident, d time.Duration) Decided {
	ev := denyAll(inc, alice)
	ev.Decision.Snooze = d
	return ev
}

func TestASnoozedDiagnosisIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	res := after(t, inc, 0, snooze(inc, 2*time.Hour))
	got := res.Incident
	until := now.Add(2 * time.Hour)
	if got.State != StateWatching || got.MuteReason != MutedSnoozed || got.Said.Kind != NoteSnoozed ||
		!got.Said.At.Equal(until) || got.Said.By != alice {
		t.Fatalf("state %s, muted for %q, says %+v", got.State, got.MuteReason, got.Said)
	}
	if d := got.Decisions[0]; d.Snooze != 2*time.Hour {
		t.Errorf("recorded %+v", d)
	}
	same := found("queueing", scaleStep("2", "3"))
	got = after(t, got, 2*time.Hour-1, same).Incident
	if got.State != StateWatching || got.MuteReason != MutedSnoozed {
		t.Errorf("before its end: %s, muted for %q", got.State, got.MuteReason)
	}
	if again := after(t, got, 2*time.Hour, same).Incident; again.State != StateProposed {
		t.Errorf("at its end: %s", again.State)
	}
	// A relapse within the time does not ask either, and another diagnosis does.
	well := after(t, got, time.Hour, Investigated{Healthy: True}).Incident
	back := after(t, well, time.Hour+time.Minute, same).Incident
	if back.State != StateWatching || back.MuteReason != MutedSnoozed || len(back.Proposed()) != 0 {
		t.Errorf("after a relapse: %s, muted for %q, %d open", back.State, back.MuteReason, len(back.Proposed()))
	}
	if other := after(t, back, time.Hour+2*time.Minute, found("memory", throttleStep())).Incident; other.State !=
		StateProposed {
		t.Errorf("another diagnosis: %s", other.State)
	}
}

func TestASnoozeEndsWhenAPersonAsks(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	inc = must(t, inc, snooze(inc, 2*time.Hour), AskedAgain{By: bob}, found("queueing", scaleStep("2", "3")))
	if inc.State != StateProposed || len(inc.SnoozesAt(now)) != 0 {
		t.Errorf("state %s, snoozes %+v", inc.State, inc.SnoozesAt(now))
	}
}

func TestSnoozesThatAreRefused(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"), throttleStep())
	of := func(change func(*Decision)) Decided {
		ev := snooze(inc, time.Hour)
		change(&ev.Decision)
		return ev
	}
	for name, ev := range map[string]Decided{
		"too long":        snooze(inc, MaxSnooze+1),
		"backwards":       snooze(inc, -time.Hour),
		"of one step":     of(func(d *Decision) { d.Step = "p1-s1" }),
		"of an approval":  of(func(d *Decision) { d.Step, d.Verb = "p1-s1", Approve }),
		"of an undo":      of(func(d *Decision) { d.Step, d.Verb = "p1-s1", Undo }),
		"of what is kept": of(func(d *Decision) { d.Step, d.Verb = "p1-s1", Keep }),
	} {
		if why := refusedFor(t, inc, ev); why != RefusedSnooze {
			t.Errorf("%s: %s", name, why)
		}
	}
}
