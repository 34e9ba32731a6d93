package incident

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// secondApproved has a first step that was applied and a second one that was approved and waits for its write.
func secondApproved(t *testing.T) Incident {
	t.Helper()
	inc := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictImproved))
	return must(t, inc, approve(inc, "p1-s2", alice))
}

// undoOf is a person's wish to have a step undone.
func undoOf(step string) Decided { return Decided{Decision: Decision{Step: step, Verb: Undo, By: bob}} }

// The check before a write reads for seconds. What it found is about the step that it was made for, and about no other
// that waits by the time it ends.
func TestAnEndedCheckSaysNothingAboutTheStepThatWaitsNow(t *testing.T) {
	t.Parallel()
	second := secondApproved(t)
	older := must(t, second, Aborted{By: bob, Reason: "wrong"}, undoOf("p1-s1"))
	first := applying(t, scaleStep("2", "3"))
	for _, tc := range []struct {
		name string
		inc  Incident
		step string
		op   Op
		want string // kind of the refusal; empty when it is the one that waits
	}{
		{"the second step while it waits", second, "p1-s2", OpApply, ""},
		{"the second step, aborted, while the undo of the first waits", older, "p1-s2", OpApply, "other_waiting"},
		{"the undo of the first while it waits", older, "p1-s1", OpUndo, ""},
		{"the first step while its undo waits", older, "p1-s1", OpApply, "other_waiting"},
		{"the undo of a step that waits for its own write", first, "p1-s1", OpUndo, "other_waiting"},
		{"no step", first, "", "", "other_waiting"},
		{"a step of which only the operation is not said", first, "p1-s1", "", "other_waiting"},
		{"a step that was aborted", must(t, first, Aborted{By: bob, Reason: "no"}), "p1-s1", OpApply, "event"},
		{
			"a step that was claimed before", must(t, first, WriteClaimed{WriteID: "w1"}), "p1-s1", OpApply,
			"none_waiting",
		},
	} {
		for _, ev := range []Event{
			WriteClaimed{Step: tc.step, Op: tc.op, WriteID: "w9"},
			Stopped{Step: tc.step, Op: tc.op, Why: Because("it changed"), ExpiresAt: now.Add(time.Hour)},
		} {
			t.Run(fmt.Sprintf("%s/%s", tc.name, ev.Kind()), func(t *testing.T) {
				t.Parallel()
				before := written(t, tc.inc)
				res, err := Apply(tc.inc, ev, now)
				var r *RefusedError
				switch {
				case tc.want == "" && err != nil:
					t.Errorf("refused: %v", err)
				case tc.want != "" && (!errors.As(err, &r) || string(r.Said.Kind) != tc.want):
					t.Errorf("the answer is %v and makes the incident %s; want a refusal with %q", err, res.Incident.State, tc.want)
				}
				if d := cmp.Diff(before, written(t, tc.inc)); d != "" {
					t.Errorf("the incident that was passed in changed:\n%s", d)
				}
			})
		}
	}
}

// Written, RolledOut, Settled and Verified do not name their step: they speak of a write that was claimed, and whatever
// people and alerts do, the step that is active afterwards is the same one in the same phase, or one that waits for its
// check.
func TestNobodyButTheEngineTakesAStepPastItsCheck(t *testing.T) {
	t.Parallel()
	second := secondApproved(t)
	claimed := must(t, second, WriteClaimed{WriteID: "w2"})
	rollout := must(t, claimed, Written{Result: ResultApplied})
	settling := must(t, rollout, RolledOut{SettleUntil: now})
	undoing := must(t, settling, undoOf("p1-s2"), WriteClaimed{WriteID: "w3"})
	for name, inc := range map[string]Incident{
		"claimed": claimed, "rollout": rollout, "settling": settling, "verifying": must(t, settling, Settled{}),
		"undo claimed": undoing, "undo rollout": must(t, undoing, Written{Result: ResultApplied}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := 0
			fromOutside(inc, now, 4, func(after Incident) {
				seen++
				was, is := inc.Active, after.Active
				if is == nil || is.Phase == PhaseRecheck {
					return
				}
				if d := cmp.Diff(was, is); d != "" {
					t.Errorf("people led to another step or phase (-before +after):\n%s", d)
				}
			})
			if seen < 50 {
				t.Errorf("only %d ways were tried", seen)
			}
		})
	}
}

// fromOutside tries everything that people and alerts can do, one after the other, up to a depth, and shows what each
// makes of the incident. Time passes in between: a write that takes long may be aborted.
func fromOutside(inc Incident, at time.Time, depth int, show func(Incident)) {
	if depth == 0 {
		return
	}
	events := []Event{
		Aborted{By: bob, Reason: "enough"},
		Acked{By: bob},
		Closed{By: bob, Reason: "over"},
		AlertsReceived{Alerts: []Alert{{Fingerprint: fmt.Sprint("f", depth), Firing: true, StartsAt: at, SeenAt: at}}},
	}
	for _, step := range []string{"p1-s1", "p1-s2"} {
		for _, verb := range []Verb{Approve, Deny, Undo} {
			events = append(events, Decided{Decision: Decision{Step: step, Digest: inc.Plan.Digest, Verb: verb, By: bob}})
		}
	}
	for _, ev := range events {
		res, err := Apply(inc, ev, at)
		if err != nil {
			continue // refused: it changes nothing
		}
		show(res.Incident)
		fromOutside(res.Incident, at.Add(claimPatience), depth-1, show)
	}
}
