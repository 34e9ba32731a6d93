package incident

import (
	"strings"
	"testing"
	"time"
)

// refires is the next episode of the alert, and the mode that the pool has by then.
func refires(mode Mode) AlertsReceived {
	a := firing("a")
	a.StartsAt, a.SeenAt = now.Add(10*time.Minute), now.Add(10*time.Minute)
	return AlertsReceived{Alerts: []Alert{a}, Mode: mode}
}

// life is an incident in this mode whose step was applied, as far as the mode lets it be.
func life(t *testing.T, mode Mode, s Step) Incident {
	t.Helper()
	inc := New("inc-1", "llama", mode, mode == ModeDryRun, now)
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{}, found("queueing", s),
		Asked{ExpiresAt: now.Add(time.Hour)})
	inc = must(t, inc, approve(inc, "p1-s1", alice), WriteClaimed{WriteID: "w"})
	if mode == ModeDryRun {
		return must(t, inc, Written{Result: ResultDryRun}, verdict(VerdictInconclusive))
	}
	return must(t, inc, Written{Result: ResultApplied}, RolledOut{SettleUntil: now}, Settled{}, verdict(VerdictRecovered))
}

func TestAnIncidentThatIsOpenedAgainTakesThePresentMode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, now Mode
		dryRun      bool
		tells       bool
	}{
		"a dry run becomes real":     {ModeDryRun, ModeApprove, false, true},
		"a real one becomes dry run": {ModeApprove, ModeDryRun, true, true},
		"more careful":               {ModeAuto, ModeObserve, false, true},
		"bolder":                     {ModeApprove, ModeAuto, false, true},
		"the same":                   {ModeApprove, ModeApprove, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc := must(t, life(t, tc.before, scaleStep("2", "3")), Closed{By: alice, Reason: "fine"})
			inc, entries := at(t, inc, 10*time.Minute, refires(tc.now))
			if inc.Mode != tc.now || inc.DryRun != tc.dryRun || inc.Reopened != 1 {
				t.Errorf("mode %s, dry run %t, opened again %d times", inc.Mode, inc.DryRun, inc.Reopened)
			}
			last := entries[len(entries)-1].Said
			if told := last.Mode == tc.now && last.WasMode == tc.before; last.Kind != NoteReopened || told != tc.tells {
				t.Errorf("it says: %+v", last)
			}
		})
	}
}

// The mode of an incident that is open is the more careful of its own and the pool's, which the guardrails see to. A
// delivery makes it no bolder.
func TestADeliveryChangesNotTheModeOfAnOpenIncident(t *testing.T) {
	t.Parallel()
	if inc := must(t, inState(t, StateDeciding), refires(ModeAuto)); inc.Mode != ModeApprove {
		t.Errorf("mode %s", inc.Mode)
	}
	closed := must(t, life(t, ModeDryRun, scaleStep("2", "3")), Closed{By: alice, Reason: "fine"})
	old := firing("a")
	old.Firing, old.EndsAt = false, now
	if inc := must(t, closed, AlertsReceived{Alerts: []Alert{old}, Mode: ModeApprove}); inc.State != StateClosed ||
		!inc.DryRun {
		t.Errorf("a delivery that opens nothing made it %s, dry run %t", inc.State, inc.DryRun)
	}
}

// What a dry run did not write is not done when the incident is none any more: there is nothing to undo, and the step
// can be proposed.
func TestWhatADryRunDidNotWriteIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	inc := must(t, life(t, ModeDryRun, throttleStep()), Closed{By: alice, Reason: "fine"})
	inc = must(t, inc, refires(ModeApprove))
	if n := len(inc.Applied()) + len(inc.Mitigations()); n != 0 {
		t.Errorf("%d steps of the dry run are taken for done", n)
	}
	inc = must(t, inc, found("queueing", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	if inc.State != StateDeciding || len(inc.AppliedEarlier) != 0 || inc.Plan.Steps[0].Tried != "" {
		t.Errorf("the incident is %s, %d earlier steps, the step was %q", inc.State, len(inc.AppliedEarlier),
			inc.Plan.Steps[0].Tried)
	}
}

// What was written before an incident became a dry run stands, and is told as that, and is undone when the incident is
// none any more.
func TestWhatWasWrittenBeforeADryRunStillStands(t *testing.T) {
	t.Parallel()
	inc := must(t, life(t, ModeApprove, scaleStep("2", "3")), Closed{By: alice, Reason: "fine"})
	inc = must(t, inc, refires(ModeDryRun))
	undo := Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}
	inc = must(t, inc, found("queueing", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	if why := refused(t, inc, undo); !strings.Contains(why, "undo_manually") {
		t.Errorf("the undo is refused: %s", why)
	}
	inc = must(t, inc, Expired{})
	if !strings.Contains(inc.Said.Names, "Scale 2 to 3") {
		t.Errorf("the note is %+v", inc.Said)
	}
	inc = must(t, inc, Closed{By: alice, Reason: "fine"})
	a := refires(ModeApprove)
	a.Alerts[0].StartsAt, a.Alerts[0].SeenAt = now.Add(20*time.Minute), now.Add(20*time.Minute)
	inc, _ = at(t, inc, 20*time.Minute, a)
	if got := inc.Applied(); len(got) != 1 || got[0].ID != "p1-s1" {
		t.Fatalf("applied: %+v", got)
	}
	inc = must(t, inc, found("queueing", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)}, undo)
	if inc.State != StateUndoing {
		t.Errorf("the incident is %s", inc.State)
	}
}
