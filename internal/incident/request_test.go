package incident

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// by names the approvers of a step.
func by(s Step, users, groups []string) Step {
	s.Needs.Users, s.Needs.Groups = users, groups
	return s
}

// calls are the lines of a result that call people.
func calls(res Result) []Entry {
	return slices.DeleteFunc(slices.Clone(res.Entries), func(e Entry) bool {
		return !slices.Contains([]NoteKind{NoteApprovalNeeded, NoteReminder, NoteEscalated}, e.Said.Kind)
	})
}

// after applies an event some time later.
func after(t *testing.T, inc Incident, d time.Duration, ev Event) Result {
	t.Helper()
	res, err := Apply(inc, ofActive(inc, ev), now.Add(d))
	if err != nil {
		t.Fatalf("%s in state %s: %v", ev.Kind(), inc.State, err)
	}
	return res
}

func TestPeopleAreCalledOnceForWhatIsAsked(t *testing.T) {
	t.Parallel()
	scale := by(scaleStep("2", "3"), []string{"U1"}, []string{"S1"})
	limit := by(throttleStep(), []string{"U1", "U2"}, nil)
	proposed := must(t, investigating(t), found("queueing", scale, limit))
	res := after(t, proposed, 0, Asked{ExpiresAt: now.Add(time.Hour)})
	got := calls(res)
	if len(got) != 1 || !got[0].Thread {
		t.Fatalf("called %+v", got)
	}
	want := Note{Kind: NoteApprovalNeeded, Names: "Scale 2 to 3; Throttle", At: now.Add(time.Hour)}
	if !got[0].Said.Same(want) {
		t.Errorf("said %+v", got[0].Said)
	}
	if d := cmp.Diff([]string{"S1", "U1", "U2"}, got[0].Mention); d != "" {
		t.Errorf("mentioned (-want +got):\n%s", d)
	}
	inc := res.Incident
	if !inc.AskedAt().Equal(now) {
		t.Errorf("asked since %v", inc.AskedAt())
	}

	// The same plan, and one that follows the live values, call nobody again.
	res = after(t, inc, time.Minute, found("queueing", scale, limit))
	if c := calls(res); len(c) != 0 {
		t.Errorf("the same plan: %+v", c)
	}
	moved := must(t, res.Incident, found("queueing", by(scaleStep("3", "4"), []string{"U1"}, []string{"S1"}), limit))
	res = after(t, moved, 2*time.Minute, Asked{ExpiresAt: now.Add(time.Hour)})
	if c := calls(res); len(c) != 0 || !res.Incident.AskedAt().Equal(now) {
		t.Errorf("the plan with other values: %+v, asked since %v", c, res.Incident.AskedAt())
	}
	// Another setting does, within the same time to decide, and those who are asked first have it to themselves again.
	res = after(t, res.Incident, 2*time.Minute, Escalated{After: 2 * time.Minute, Groups: []string{"S9"}})
	res = after(t, res.Incident, 2*time.Minute, Reminded{})
	other := by(scaleStep("8192", "4096"), []string{"U3"}, nil)
	other.Kind, other.Target.Field = StepMaxNumBatchedTokens, "args[vllm] --max-num-batched-tokens"
	other.Digest = other.ComputeDigest()
	more := must(t, res.Incident, found("queueing", scale, other))
	rule := Approvers{Escalate: []Escalation{{After: 2 * time.Minute, Groups: []string{"S9"}}}}
	if got := more.Deciders(rule, now.Add(3*time.Minute)).Groups; more.State != StateProposed || len(got) != 0 {
		t.Errorf("state %s: %v may decide on a plan that nobody was asked about", more.State, got)
	}
	res = after(t, more, 3*time.Minute, Asked{ExpiresAt: now.Add(2 * time.Hour)})
	if got := res.Incident.Deciders(rule, now.Add(3*time.Minute)).Groups; len(got) != 0 {
		t.Errorf("%v may decide at once on what nobody was asked about", got)
	}
	if c := calls(res); len(c) != 1 || !c[0].Said.At.Equal(now.Add(time.Hour)) ||
		!slices.Equal(c[0].Mention, []string{"U3"}) {
		t.Errorf("another setting: %+v", c)
	}
	if r := res.Incident.Request; !r.At.Equal(now.Add(3*time.Minute)) || r.Escalated != 0 || !r.RemindedAt.IsZero() ||
		len(r.Mention) != 3 {
		t.Errorf("the request for another setting has the clock of the one before: %+v", r)
	}
	if res.Incident.AskedFor != 3*time.Minute {
		t.Errorf("people were asked for %s before", res.Incident.AskedFor)
	}
	// Another diagnosis that asks for the same does not, nor does it put the end off.
	res = after(t, must(t, missed(inc), found("memory", scale)), 4*time.Minute, Asked{ExpiresAt: now.Add(2 * time.Hour)})
	if c := calls(res); len(c) != 0 || !res.Incident.AskedAt().Equal(now) ||
		!res.Incident.Plan.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("another diagnosis: %+v, asked since %v until %v", c, res.Incident.AskedAt(), res.Incident.Plan.ExpiresAt)
	}
}

// What is asked soon after a call calls only those who were not called then, also after an answer; later it calls all.
func TestWhoWasJustCalledIsNotCalledForTheNextPlan(t *testing.T) {
	t.Parallel()
	scale, limit := by(scaleStep("2", "3"), []string{"U1"}, []string{"S1"}), by(throttleStep(), []string{"U1", "U2"}, nil)
	offered := after(t, verifying(t, scale), callAgain, verdict(VerdictWorse))
	if c := calls(offered); len(c) != 1 || !slices.Equal(c[0].Mention, []string{"S1", "U1"}) {
		t.Fatalf("a rollback is offered: called %+v", c)
	}
	soonAfter := after(t, verifying(t, scale), callAgain-1, verdict(VerdictWorse))
	if c := calls(soonAfter); len(c) != 1 || len(c[0].Mention) != 0 {
		t.Errorf("a rollback is offered soon: called %+v", c)
	}
	offered.Incident.LastCall.At = now
	replanned := func(inc Incident, d time.Duration, s Step) Result {
		return after(t, after(t, inc, d, found("memory", s)).Incident, d, Asked{ExpiresAt: now.Add(time.Hour)})
	}
	soon := replanned(offered.Incident, 3*time.Second, limit)
	if c := calls(soon); len(c) != 1 || !slices.Equal(c[0].Mention, []string{"U2"}) || !c[0].Thread {
		t.Errorf("three seconds later: called %+v", c)
	}
	if r := soon.Incident.Request; !r.Open() || !r.At.Equal(now.Add(3*time.Second)) ||
		!slices.Equal(r.Mention, []string{"U1", "U2", "S1"}) {
		t.Errorf("three seconds later: the request %+v", r)
	}
	reminder := after(t, soon.Incident, 4*time.Second, Reminded{})
	if c := calls(reminder); len(c) != 1 || len(c[0].Mention) != 3 {
		t.Errorf("the reminder called %+v", c)
	}
	other := by(scaleStep("8192", "4096"), []string{"U1"}, nil)
	other.Kind, other.Target.Field = StepMaxNumBatchedTokens, "args[vllm] --max-num-batched-tokens"
	other.Digest = other.ComputeDigest()
	// Plans that follow each other fast do not put the next call off.
	inc := soon.Incident
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{{callAgain / 2, nil}, {callAgain - time.Second, nil}, {callAgain, []string{"U1", "S1"}}} {
		s := other
		s.Target.Field = c.at.String()
		s.Digest = s.ComputeDigest()
		res := replanned(inc, c.at, s)
		if got := calls(res); len(got) != 1 || !slices.Equal(got[0].Mention, c.want) {
			t.Errorf("%s later: called %+v", c.at, got)
		}
		inc = res.Incident
	}
	kept := after(t, offered.Incident, time.Second, Decided{Decision: Decision{Step: "p1-s1", Verb: Keep, By: alice}})
	again := replanned(kept.Incident, 5*time.Second, limit)
	if c := calls(again); len(c) != 1 || !slices.Equal(c[0].Mention, []string{"U2"}) {
		t.Errorf("after an answer: called %+v", c)
	}
	closed := after(t, kept.Incident, time.Second, Closed{By: alice})
	if closed.Incident.LastCall != nil {
		t.Error("who went back to bed is not called when it begins again")
	}
}

// Two causes take turns every minute, as neighbors do under load, and each asks for something of its own: the question
// that people have stays as it is, and ends.
func TestCausesThatTakeTurnsLeaveTheQuestion(t *testing.T) {
	t.Parallel()
	scale, limit := by(scaleStep("2", "3"), []string{"U1"}, nil), by(throttleStep(), []string{"U2"}, nil)
	inc, called := deciding(t, scale), 0
	until, asked := inc.Plan.ExpiresAt, inc.Plan.Digest
	for n := range 59 {
		at := time.Duration(n+1) * time.Minute
		ev := found("memory", limit)
		if n%2 == 1 {
			ev = found("queueing", scale)
		}
		res := after(t, inc, at, ev)
		called += len(calls(res))
		if inc = res.Incident; inc.State == StateProposed {
			res = after(t, inc, at, Asked{ExpiresAt: now.Add(at + time.Hour)})
			called += len(calls(res))
			inc = res.Incident
		}
	}
	if called != 0 || inc.Plan.Digest != asked || !inc.Plan.ExpiresAt.Equal(until) {
		t.Errorf("called %d more times, asked about %+v until %v", called, inc.Plan.Steps, inc.Plan.ExpiresAt)
	}
}

func TestPeopleAreCalledWhenTheNextDecisionIsNeeded(t *testing.T) {
	t.Parallel()
	scale, limit := by(scaleStep("2", "3"), []string{"U1"}, nil), by(throttleStep(), nil, []string{"S1"})
	stopped := Stopped{Why: Because("paused"), ExpiresAt: now.Add(time.Hour)}
	refused := scaleStep("2", "3")
	refused.Guardrails = []Guardrail{{Verdict: GuardRefuse, Reason: "cool-down"}}
	for name, tc := range map[string]struct {
		before  Incident
		ev      Event
		mention []string
		undo    string
	}{
		"a step was stopped":      {applying(t, scale, limit), stopped, []string{"S1"}, ""},
		"it was not enough":       {verifying(t, scale, limit), verdict(VerdictImproved), []string{"S1"}, ""},
		"it did not help":         {verifying(t, scale), verdict(VerdictUnchanged), []string{"U1"}, "p1-s1"},
		"it did not help, others": {verifying(t, scale, limit), verdict(VerdictWorse), []string{"S1", "U1"}, "p1-s1"},
		"a step became free": {
			deciding(t, limit, by(refused, []string{"U1"}, nil)), found("queueing", limit, scale), []string{"S1", "U1"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := after(t, tc.before, callAgain, tc.ev)
			got := calls(res)
			if len(got) != 1 || res.Incident.State != StateDeciding {
				t.Fatalf("state %s, called %+v", res.Incident.State, got)
			}
			slices.Sort(got[0].Mention)
			if d := cmp.Diff(tc.mention, got[0].Mention); d != "" {
				t.Errorf("mentioned (-want +got):\n%s", d)
			}
			if (got[0].Said.Verb == Undo) != (tc.undo != "") || res.Incident.Request.Undo != tc.undo {
				t.Errorf("said %+v, offers the undo of %q", got[0].Said, res.Incident.Request.Undo)
			}
		})
	}
}

func TestNobodyIsCalledWhereNobodyIsAsked(t *testing.T) {
	t.Parallel()
	scale := by(scaleStep("2", "3"), []string{"U1"}, nil)
	policy := Decided{Decision: Decision{Step: "p1-s1", Verb: Approve, By: Actor{Kind: "policy", ID: "auto"}}}
	proposed := must(t, investigating(t), found("queueing", scale))
	policy.Decision.Digest = proposed.Plan.Digest
	for name, res := range map[string]Result{
		"policy decides":  after(t, proposed, 0, policy),
		"observe":         after(t, proposed, 0, Muted{Note: Note{Kind: NoteNoStep}}),
		"nothing is left": after(t, verifying(t, scale), 0, verdict(VerdictImproved)),
		"recovered":       after(t, verifying(t, scale, throttleStep()), 0, verdict(VerdictRecovered)),
	} {
		if c := calls(res); len(c) != 0 || res.Incident.Request != nil {
			t.Errorf("%s: called %+v, request %+v", name, c, res.Incident.Request)
		}
	}
}

func TestARequestEndsWithTheQuestion(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	for name, ev := range map[string]Event{
		"approved": approve(inc, "p1-s1", alice), "denied": denyAll(inc, alice), "expired": Expired{},
		"aborted": Aborted{By: alice}, "healthy": Investigated{Healthy: True},
	} {
		if got := must(t, inc, ev); got.Request != nil || !got.AskedAt().IsZero() {
			t.Errorf("%s: %+v", name, got.Request)
		}
	}
}

func TestAReminderAndFurtherPeople(t *testing.T) {
	t.Parallel()
	inc := deciding(t, by(scaleStep("2", "3"), []string{"U1"}, nil))
	early := Escalated{After: 10 * time.Minute, Groups: []string{"S2"}}
	if why := refusedFor(t, inc, early); why != RefusedNoRequest {
		t.Errorf("before its time: %s", why)
	}
	res := after(t, inc, 10*time.Minute, early)
	if c := calls(res); len(c) != 1 || c[0].Said.Kind != NoteEscalated || !slices.Equal(c[0].Mention, []string{"S2"}) {
		t.Errorf("called %+v", c)
	}
	if _, err := Apply(res.Incident, early, now.Add(11*time.Minute)); err == nil {
		t.Error("the same people were called twice")
	}
	res = after(t, res.Incident, 55*time.Minute, Reminded{})
	all := []string{"U1", "S2"}
	if c := calls(res); len(c) != 1 || c[0].Said.Kind != NoteReminder || !slices.Equal(c[0].Mention, all) {
		t.Errorf("called %+v", c)
	}
	if _, err := Apply(res.Incident, Reminded{}, now.Add(56*time.Minute)); err == nil {
		t.Error("a second reminder")
	}
	if _, err := Apply(inc, Reminded{}, now.Add(time.Hour)); err == nil {
		t.Error("a reminder after the end")
	}
	refusedStep := scaleStep("2", "3")
	refusedStep.Guardrails = []Guardrail{{Verdict: GuardRefuse, Reason: "paused"}}
	if quiet := must(t, inc, found("queueing", refusedStep)); quiet.State != StateWatching {
		t.Errorf("state %s", quiet.State)
	} else if why := refusedFor(t, quiet, Reminded{}); why != RefusedEvent {
		t.Errorf("with nothing open: %s", why)
	}
}

func TestFurtherApproversCountFromTheirTimeOn(t *testing.T) {
	t.Parallel()
	a := Approvers{Users: []string{"U1"}, Escalate: []Escalation{
		{After: 10 * time.Minute, Groups: []string{"S2"}}, {After: 20 * time.Minute, Users: []string{"U3"}},
	}}
	for _, tc := range []struct {
		asked         time.Duration
		users, groups []string
	}{
		{0, []string{"U1"}, nil},
		{10*time.Minute - 1, []string{"U1"}, nil},
		{10 * time.Minute, []string{"U1"}, []string{"S2"}},
		{time.Hour, []string{"U1", "U3"}, []string{"S2"}},
		{-time.Hour, []string{"U1"}, nil},
	} {
		got := a.InForce(tc.asked)
		if !slices.Equal(got.Users, tc.users) || !slices.Equal(got.Groups, tc.groups) {
			t.Errorf("after %s: users %v, groups %v", tc.asked, got.Users, got.Groups)
		}
	}
	if len(a.Users) != 1 {
		t.Errorf("the approvers themselves are now %v", a.Users)
	}
	if plain := (Approvers{Users: []string{"U1"}}); plain.Rule() == a.Rule() ||
		plain.Rule() != digest([][]string{{"U1"}, {}}) && plain.Rule() != digest([][]string{{"U1"}, nil}) {
		t.Error("the rule of stored approvals has changed, or leaves further people out")
	}
}

// Whoever was called may still take back what they approved, stop it and ask again when the request that called them
// has ended. To decide on the next request they wait for their time again.
func TestWhoeverWasCalledStaysCalled(t *testing.T) {
	t.Parallel()
	rule := Approvers{Users: []string{"U1"}, Escalate: []Escalation{{After: 10 * time.Minute, Users: []string{"U3"}}}}
	among := func(a Approvers) bool { return slices.Contains(a.Users, "U3") }
	inc := deciding(t, scaleStep("2", "3"))
	early, late := now.Add(10*time.Minute-1), now.Add(10*time.Minute)
	if among(inc.Deciders(rule, early)) || among(inc.Called(rule, early)) {
		t.Error("called before their time")
	}
	if !among(inc.Deciders(rule, late)) || !among(inc.Called(rule, late)) {
		t.Error("not called at their time")
	}
	for name, ev := range map[string]Event{
		"approved": approve(inc, "p1-s1", alice), "denied": denyAll(inc, alice), "expired": Expired{},
		"aborted": Aborted{By: alice}, "another diagnosis": found("memory", throttleStep()),
	} {
		ended := after(t, missed(inc), 10*time.Minute-1, ev).Incident
		if among(ended.Called(rule, now.Add(time.Hour))) {
			t.Errorf("%s before their time: they count as called later", name)
		}
		ended = after(t, missed(inc), 10*time.Minute, ev).Incident
		if !among(ended.Called(rule, now.Add(time.Hour))) {
			t.Errorf("%s after their time: they do not count as called any more", name)
		}
		if among(ended.Deciders(rule, now.Add(time.Hour))) {
			t.Errorf("%s: they may decide on what is not asked", name)
		}
	}
	// It did not help, and its undo is offered: a new request, in which whoever approved may undo at once.
	inc = after(t, inc, 10*time.Minute, approve(inc, "p1-s1", Actor{Kind: "slack", ID: "U3"})).Incident
	inc = must(t, inc, WriteClaimed{WriteID: "w1"}, Written{Result: ResultApplied}, RolledOut{SettleUntil: now}, Settled{})
	inc = after(t, inc, 20*time.Minute, verdict(VerdictUnchanged)).Incident
	if inc.UndoOffered == "" || !among(inc.Called(rule, now.Add(20*time.Minute))) ||
		among(inc.Deciders(rule, now.Add(20*time.Minute))) {
		t.Errorf("offers the undo of %q, asked for %s before", inc.UndoOffered, inc.AskedFor)
	}
}
