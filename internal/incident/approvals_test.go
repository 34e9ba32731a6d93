package incident

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func twoPeople(s Step) Step {
	s.Needs.Approvals = 2
	return s
}

// under is an approval that is counted under these approvers.
func under(inc Incident, by Actor, now Approvers) Decided {
	d := approve(inc, "p1-s1", by)
	d.Approvers = &now
	return d
}

// However an approved step ends before its write, its approvals were for that moment: asked for again, it is approved
// anew by as many people as before.
func TestAStepThatWasStoppedIsApprovedAnew(t *testing.T) {
	t.Parallel()
	stops := map[string][]Event{
		"stopped": {Stopped{Why: Because("paused"), ExpiresAt: now.Add(time.Hour)}},
		"stopped by a check": {Stopped{
			Why:        Because("cool-down"),
			Guardrails: []Guardrail{{Name: "cool-down", Verdict: GuardRefuse, Reason: "cool-down"}},
			ExpiresAt:  now.Add(time.Hour),
		}},
		"drift at the write": {
			WriteClaimed{WriteID: "w1"},
			Written{Result: ResultDrift, Why: Because("changed"), ExpiresAt: now.Add(time.Hour)},
		},
		"refused at the write": {
			WriteClaimed{WriteID: "w1"},
			Written{Result: ResultFailed, Why: Because("forbidden"), ExpiresAt: now.Add(time.Hour)},
		},
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, other := twoPeople(scaleStep("2", "3")), throttleStep()
			inc := deciding(t, first, other)
			inc = must(t, inc, approve(inc, "p1-s1", alice), approve(inc, "p1-s1", bob))
			if inc.State != StateApplying {
				t.Fatalf("the incident is %s after two approvals", inc.State)
			}
			inc = must(t, inc, stop...)
			if s, _ := inc.Step("p1-s1"); len(s.Approvals) != 0 {
				t.Errorf("the stopped step keeps the approvals of %v", s.Approvals)
			}
			inc = must(t, inc, found("queueing", first, other))
			if s, _ := inc.Step("p1-s1"); s.State == StepFailed {
				return // not asked for again in this plan
			}
			inc = must(t, inc, approve(inc, "p1-s1", bob))
			if inc.State == StateApplying {
				t.Fatal("one approval ran a step that needs two")
			}
			if inc = must(t, inc, approve(inc, "p1-s1", alice)); inc.State != StateApplying {
				t.Errorf("the incident is %s after two new approvals", inc.State)
			}
		})
	}
}

// An incident that an older version stored may still have the approvals of a stopped step.
func TestApprovalsOfARefusedStepDoNotComeBack(t *testing.T) {
	t.Parallel()
	inc := applying(t, scaleStep("2", "3"), throttleStep())
	inc = must(t, inc, Stopped{Why: Because("paused"), ExpiresAt: now.Add(time.Hour)})
	inc.Plan.Steps[0].Approvals = []Actor{alice}
	inc = must(t, inc, found("queueing", scaleStep("2", "3"), throttleStep()))
	if inc = must(t, inc, approve(inc, "p1-s1", alice)); inc.State != StateApplying {
		t.Errorf("the incident is %s after the approval of the only approver", inc.State)
	}
}

func TestAPlanThatIsProposedAgainHasNoApprovals(t *testing.T) {
	t.Parallel()
	inc := deciding(t, twoPeople(scaleStep("2", "3")))
	inc = must(t, inc, approve(inc, "p1-s1", alice), Expired{})
	healthy := Investigated{Evidence: Evidence{At: now}, Healthy: True}
	inc = must(t, inc, healthy, found("queueing", twoPeople(scaleStep("2", "3"))), Asked{ExpiresAt: now.Add(time.Hour)})
	if inc = must(t, inc, approve(inc, "p2-s1", bob)); inc.State != StateDeciding {
		t.Errorf("the incident is %s: an approval from before the expiry counted", inc.State)
	}
}

func TestADecisionIsTakenUnderTheApproversOfNow(t *testing.T) {
	t.Parallel()
	both := Approvers{Users: []string{"U1", "U2"}, Count: 2}
	group := Approvers{Groups: []string{"S1"}, Count: 2}
	for name, tc := range map[string]struct {
		shown       int
		before, now Approvers
		want        State
		counted     []Actor
	}{
		"the same": {2, both, both, StateApplying, []Actor{alice, bob}},
		"in another order": {
			2, both,
			Approvers{Users: []string{"U2", "U1"}, Count: 2},
			StateApplying,
			[]Actor{alice, bob},
		},
		"more are needed": {
			2, both,
			Approvers{Users: []string{"U1", "U2"}, Count: 3},
			StateDeciding,
			[]Actor{alice, bob},
		},
		"fewer are needed, two are shown": {
			3, both,
			Approvers{Users: []string{"U1", "U2"}, Count: 1},
			StateDeciding,
			[]Actor{alice, bob},
		},
		"somebody was added": {
			2, both,
			Approvers{Users: []string{"U1", "U2", "U3"}, Count: 2},
			StateApplying,
			[]Actor{alice, bob},
		},
		"the first was removed":  {2, both, Approvers{Users: []string{"U2"}, Count: 2}, StateDeciding, []Actor{bob}},
		"the same group":         {2, group, group, StateApplying, []Actor{alice, bob}},
		"the group was replaced": {2, group, Approvers{Groups: []string{"S2"}, Count: 2}, StateDeciding, []Actor{bob}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scaleStep("2", "3")
			s.Needs.Approvals = tc.shown
			inc := deciding(t, s)
			inc = must(t, inc, under(inc, alice, tc.before))
			inc = must(t, inc, under(inc, bob, tc.now))
			got, _ := inc.Step("p1-s1")
			if inc.State != tc.want || !slices.Equal(got.Approvals, tc.counted) {
				t.Errorf("the incident is %s with the approvals of %v, want %s and %v", inc.State, got.Approvals, tc.want,
					tc.counted)
			}
			if got.Needs.Approvals < max(tc.shown, tc.now.Count) {
				t.Errorf("the step shows that it needs %d", got.Needs.Approvals)
			}
		})
	}
}

// People who come through the Kubernetes API are allowed by RBAC, not by the list of approvers.
func TestAnApprovalThroughKubernetesOutlivesAChangeOfTheList(t *testing.T) {
	t.Parallel()
	carol, dave := Actor{Kind: "kubernetes", ID: "carol"}, Actor{Kind: "kubernetes", ID: "dave"}
	inc := deciding(t, twoPeople(scaleStep("2", "3")))
	inc = must(t, inc, under(inc, carol, Approvers{Users: []string{"U1"}, Count: 2}))
	if inc = must(t, inc, under(inc, dave, Approvers{Users: []string{"U2"}, Count: 2})); inc.State != StateApplying {
		t.Errorf("the incident is %s", inc.State)
	}
}

func TestALookTakesOverHowManyMustApprove(t *testing.T) {
	t.Parallel()
	need := func(n int) Step {
		s := scaleStep("2", "3")
		s.Needs.Approvals = n
		return s
	}
	asked := func(n int) Incident {
		inc := deciding(t, need(n))
		return must(t, inc, approve(inc, "p1-s1", alice))
	}
	raised := must(t, asked(2), found("queueing", need(3)))
	if s, _ := raised.Step("p1-s1"); s.Needs.Approvals != 3 || len(s.Approvals) != 1 {
		t.Errorf("after a raise the step needs %d and has %v", s.Needs.Approvals, s.Approvals)
	}
	before := asked(3)
	res, err := Apply(before, found("queueing", need(1)), now)
	if err != nil {
		t.Fatal(err)
	}
	lowered := res.Incident
	if s, _ := lowered.Step("p1-s1"); s.Needs.Approvals != 1 || len(s.Approvals) != 0 || s.State != StepProposed {
		t.Errorf("after it was lowered the step is %s, needs %d and has %v: nothing runs without a click on the new number",
			s.State, s.Needs.Approvals, s.Approvals)
	}
	lowers := func(e Entry) bool {
		return e.Thread && e.Said.Kind == NoteApprovalsLowered && e.Said.Count == 1 && e.Said.Of == 3
	}
	if !slices.ContainsFunc(res.Entries, lowers) {
		t.Errorf("the thread does not say that approvals are asked for anew: %+v", res.Entries)
	}
	if inc := must(t, lowered, approve(lowered, "p1-s1", alice)); inc.State != StateApplying {
		t.Errorf("the incident is %s after the one approval that is needed", inc.State)
	}
}

// A reason is asked for by the approvers of now, whatever was shown.
func TestAnApprovalNeedsAReason(t *testing.T) {
	t.Parallel()
	rule := Approvers{Users: []string{"U1"}, Reason: true}
	for reason, want := range map[string]State{"": StateDeciding, " \n": StateDeciding, "peak traffic": StateApplying} {
		inc := deciding(t, scaleStep("2", "3"))
		ev := under(inc, alice, rule)
		ev.Decision.Reason = reason
		res, err := Apply(inc, ev, now)
		no, refused := errors.AsType[*RefusedError](err)
		switch {
		case want == StateDeciding && (!refused || no.Said.Kind != RefusedNoReason):
			t.Errorf("%q: %v", reason, err)
		case want == StateApplying && (err != nil || res.Incident.State != want):
			t.Errorf("%q: %s, %v", reason, res.Incident.State, err)
		}
	}
	inc := deciding(t, scaleStep("2", "3"))
	deny := under(inc, alice, rule)
	deny.Decision.Verb = Deny
	if inc = must(t, inc, deny); inc.State != StateWatching {
		t.Errorf("a denial needs no reason: %s", inc.State)
	}
}
