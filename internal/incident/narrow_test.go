package incident

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func chosen(n string) Step {
	s := throttleStep()
	s.To, s.Title = Set(n), "Throttle to "+n
	s.Digest = s.ComputeDigest()
	return s
}

func narrow(inc Incident, to string) Narrowed {
	return Narrowed{Step: "p1-s1", Digest: inc.Plan.Digest, To: Set(to), By: alice}
}

// A choice decides nothing: what is worked out with it is a new plan with another digest, and the click on the old one
// is refused.
func TestAChosenValueIsAskedAboutAnew(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep(), scaleStep("2", "3"))
	old, until := inc, inc.Plan.ExpiresAt
	inc = must(t, inc, narrow(inc, "160"))
	if n, ok := inc.Narrowing(StepThrottle); !ok || n.To != Set("160") || n.Instead != Set("129") || n.By != alice {
		t.Fatalf("%+v", n)
	}
	if inc.State != StateDeciding || inc.Plan.Digest != old.Plan.Digest {
		t.Fatalf("%s, plan %s", inc.State, inc.Plan.Digest)
	}
	inc = must(t, inc, found("queueing", chosen("160"), scaleStep("2", "3")), Asked{ExpiresAt: now.Add(2 * time.Hour)})
	if inc.State != StateDeciding || inc.Plan.Digest == old.Plan.Digest || !inc.Plan.ExpiresAt.Equal(until) {
		t.Fatalf("%s, plan %s until %s", inc.State, inc.Plan.Digest, inc.Plan.ExpiresAt)
	}
	_, err := Apply(inc, approve(old, "p1-s1", alice), now)
	if no, ok := errors.AsType[*RefusedError](err); !ok || no.Said.Kind != RefusedPlanChanged {
		t.Errorf("the click on the plan of before: %v", err)
	}
	inc = must(t, inc, approve(inc, "p2-s1", alice))
	if n, ok := inc.Narrowing(StepThrottle); inc.State != StateApplying || !ok || n.To != Set("160") {
		t.Errorf("%s, %+v: the check before the write works the step out with it", inc.State, n)
	}
}

// A number is a number however it is written.
func TestAChosenNumberIsReadAsOne(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep())
	for _, written := range []string{"0160", "+160"} {
		got := must(t, inc, narrow(inc, written))
		if n, ok := got.Narrowing(StepThrottle); !ok || n.To != Set("160") {
			t.Errorf("%q: %+v", written, n)
		}
	}
}

// The value of before can be chosen again.
func TestAChoiceCanBeTakenBack(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep())
	inc = must(t, inc, narrow(inc, "160"), found("queueing", chosen("160")), Asked{ExpiresAt: now.Add(time.Hour)})
	s := inc.Plan.Steps[0]
	if from, to, ok := inc.Narrowable(s); !ok || from != 184 || to != 129 {
		t.Errorf("between %d and %d, %t: what was proposed is the limit", from, to, ok)
	}
	back := Narrowed{Step: s.ID, Digest: inc.Plan.Digest, To: Set("129"), By: bob}
	if inc = must(t, inc, back); len(inc.Narrowings) != 0 {
		t.Errorf("%+v", inc.Narrowings)
	}
}

func TestAChoiceIsRefused(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep(), scaleStep("2", "3"), spent(scaleStep("2", "8")))
	denied := must(t, inc, Decided{Decision: Decision{
		Step: "p1-s1", Digest: inc.Plan.Digest, Verb: Deny, By: alice,
	}})
	for _, tt := range []struct {
		name string
		inc  Incident
		ev   Narrowed
		at   time.Duration
		want NoteKind
	}{
		{"further than proposed", inc, narrow(inc, "128"), 0, RefusedNotNarrower},
		{"no change", inc, narrow(inc, "184"), 0, RefusedNotNarrower},
		{"the other way", inc, narrow(inc, "200"), 0, RefusedNotNarrower},
		{"no number", inc, narrow(inc, "much less"), 0, RefusedNotNarrower},
		{"a fraction", inc, narrow(inc, "150.5"), 0, RefusedNotNarrower},
		{"too big for a number", inc, narrow(inc, "99999999999999999999"), 0, RefusedNotNarrower},
		{"unset", inc, Narrowed{Step: "p1-s1", Digest: inc.Plan.Digest, By: alice}, 0, RefusedNotNarrower},
		{"as proposed", inc, narrow(inc, "129"), 0, RefusedSameValue},
		{"another plan", inc, Narrowed{Step: "p1-s1", Digest: "x", To: Set("160")}, 0, RefusedPlanChanged},
		{"no such step", inc, Narrowed{Step: "p9-s9", Digest: inc.Plan.Digest, To: Set("160")}, 0, RefusedStepGone},
		{
			"nothing is between", inc,
			Narrowed{Step: "p1-s2", Digest: inc.Plan.Digest, To: Set("2")},
			0, RefusedNotNarrower,
		},
		{"a step that is blocked", inc, Narrowed{Step: "p1-s3", Digest: inc.Plan.Digest, To: Set("4")}, 0, RefusedBlocked},
		{"after a denial", denied, narrow(denied, "160"), 0, RefusedDecidedBefore},
		{"too late", inc, narrow(inc, "160"), time.Hour, RefusedExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Apply(tt.inc, tt.ev, now.Add(tt.at))
			if no, ok := errors.AsType[*RefusedError](err); !ok || no.Said.Kind != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

func spent(s Step) Step {
	s.Guardrails = append(s.Guardrails, Guardrail{Name: "budget", Verdict: GuardRefuse, Reason: "spent"})
	return s
}

// A choice that cannot be made any more ends with its reason, and the plan is as it was. One for another diagnosis
// just ends.
func TestAChoiceThatCannotBeMadeEnds(t *testing.T) {
	t.Parallel()
	inc := deciding(t, throttleStep())
	inc = must(t, inc, narrow(inc, "160"))
	again := found("queueing", throttleStep())
	again.NotNarrowed = map[StepKind]Reason{StepThrottle: Because("the quota has no room")}
	res, err := Apply(inc, again, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Incident.Narrowings) != 0 || res.Incident.Plan.Digest != inc.Plan.Digest || len(res.Entries) != 1 ||
		res.Entries[0].Said.Kind != NoteNotNarrowed || !res.Entries[0].Thread {
		t.Errorf("%+v, %+v", res.Incident.Narrowings, res.Entries)
	}
	moved := throttleStep()
	moved.From = Set("200")
	moved.Digest = moved.ComputeDigest()
	for why, ev := range map[ReasonKind]Investigated{
		ReasonDiagnosis: found("kv-thrash", chosen("160")), ReasonDrift: found("queueing", moved),
		ReasonReplaced: found("queueing", scaleStep("2", "3")),
	} {
		res, err := Apply(missed(inc), ev, now)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(res.Entries, func(e Entry) bool {
			return e.Said.Kind == NoteNotNarrowed && e.Said.Cause.Kind == why && e.Thread
		})
		if len(res.Incident.Narrowings) != 0 || !told {
			t.Errorf("%s: %+v, %+v", why, res.Incident.Narrowings, res.Entries)
		}
	}
	if expired := must(t, inc, Expired{}); len(expired.Narrowings) != 0 {
		t.Errorf("after the expiry: %+v", expired.Narrowings)
	}
}
