package incident

import (
	"slices"
	"testing"
	"time"
)

// undoNow says whether a person's undo of the step is taken.
func undoNow(inc Incident, step string) bool {
	_, err := Apply(inc, Decided{Decision: Decision{Step: step, Verb: Undo, By: alice}}, now)
	return err == nil
}

// What is said to be undoable is what an undo of is taken, in every state, whatever else goes on.
func TestWhatCanBeUndoneIsWhatAnUndoIsTakenOf(t *testing.T) {
	t.Parallel()
	older, newer := scaleStep("2", "3"), scaleStep("3", "4")
	older.ID, newer.ID, older.AppliedAt, newer.AppliedAt = "p1-s1", "p2-s1", now, now.Add(time.Minute)
	other := throttleStep()
	other.ID, other.Target.Name, other.AppliedAt = "p1-s2", "route", now.Add(-time.Minute)
	yes, no := 0, 0
	for _, state := range States() {
		for _, dry := range []bool{false, true} {
			for _, active := range []string{"", "p2-s1", "p1-s2"} {
				for _, is := range []StepState{StepApplied, StepUndone, StepReverted, StepProposed, StepFailed} {
					inc := inState(t, state)
					inc.DryRun, inc.Active = dry, nil
					if active != "" {
						inc.Active = &Active{Step: active, Op: OpApply, Phase: PhaseVerify}
					}
					inc.AppliedEarlier = []Step{other, older, newer}
					for n := range inc.AppliedEarlier {
						inc.AppliedEarlier[n].State, inc.AppliedEarlier[n].Written = is, true
					}
					if inc.Plan != nil {
						inc.Plan.Steps = nil
					}
					var ids, want []string
					for _, s := range inc.Undoable() {
						ids = append(ids, s.ID)
					}
					for _, id := range []string{"p2-s1", "p1-s1", "p1-s2"} {
						if undoNow(inc, id) {
							want = append(want, id)
						}
					}
					yes, no = yes+len(want), no+3-len(want)
					if !slices.Equal(ids, want) {
						t.Errorf("%s, dry run %t, active %q, steps %s: %v can be undone, and an undo is taken of %v",
							state, dry, active, is, ids, want)
					}
				}
			}
		}
	}
	if yes == 0 || no == 0 {
		t.Errorf("%d undos are taken and %d refused", yes, no)
	}
}

// A plan that was made anew and that nobody was asked about yet keeps no one from taking back what is in place: the
// button was there a moment ago.
func TestWhatIsInPlaceIsTakenBackWhileANewPlanIsMade(t *testing.T) {
	t.Parallel()
	inc := inState(t, StateProposed)
	inc.Active = nil
	s := scaleStep("2", "3")
	s.ID, s.State, s.Written, s.AppliedAt = "p0-s1", StepApplied, true, now
	inc.AppliedEarlier = []Step{s}
	got, err := Apply(inc, Decided{Decision: Decision{Step: s.ID, Verb: Undo, By: alice}}, now)
	after := got.Incident
	if err != nil || after.State != StateUndoing || after.Active == nil || after.Active.Step != s.ID {
		t.Errorf("%v: in state %s with %+v", err, after.State, after.Active)
	}
}
