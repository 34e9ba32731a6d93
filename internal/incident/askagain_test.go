package incident

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func denyAll(inc Incident, by Actor) Decided {
	return Decided{Decision: Decision{Digest: inc.Plan.Digest, Verb: Deny, By: by, Reason: "a load test"}}
}

// refusedFor is why an event is refused.
func refusedFor(t *testing.T, inc Incident, ev Event) NoteKind {
	t.Helper()
	_, err := Apply(inc, ev, now)
	var no *RefusedError
	if !errors.As(err, &no) {
		t.Fatalf("%s in state %s was not refused: %v", ev.Kind(), inc.State, err)
	}
	return no.Said.Kind
}

func TestOneDenialEndsEverythingThatIsAsked(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"), throttleStep(), Step{Kind: StepManual, Title: "Call"})
	res, err := Apply(inc, denyAll(inc, alice), now)
	if err != nil {
		t.Fatal(err)
	}
	got := res.Incident
	if got.State != StateWatching || got.MuteReason != MutedDenied || len(got.Decisions) != 1 {
		t.Errorf("state %s, muted for %q, %d decisions", got.State, got.MuteReason, len(got.Decisions))
	}
	for n, want := range []StepState{StepDenied, StepDenied, StepProposed} {
		if s := got.Plan.Steps[n]; s.State != want {
			t.Errorf("step %s is %s, want %s", s.ID, s.State, want)
		}
	}
	said := func(e Entry) bool {
		return e.Thread && e.Said.Kind == NoteDeniedAll && e.Said.By == alice && e.Said.Names == "Scale 2 to 3; Throttle" &&
			e.Said.Why == "a load test"
	}
	if !slices.ContainsFunc(res.Entries, said) {
		t.Errorf("the thread does not say who denied what: %+v", res.Entries)
	}
	if why := refused(t, got, approve(got, "p1-s1", bob)); !strings.HasPrefix(why, "decided_before deny slack:U1") {
		t.Errorf("a click after it: %s", why)
	}
}

func TestADenialOfEverythingThatChangesNothing(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	late := inc.Clone()
	late.Plan.ExpiresAt = now
	replanned := must(t, missed(inc), found("other", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	running := applying(t, scaleStep("2", "3"), throttleStep())
	improved := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictImproved))
	approveAll := Decided{Decision: Decision{Digest: inc.Plan.Digest, Verb: Approve, By: alice}}
	for _, tc := range []struct {
		name string
		want NoteKind
		inc  Incident
		ev   Event
	}{
		{"of an old plan", "plan_changed", replanned, denyAll(inc, alice)},
		{"after the time", "request_expired", late, denyAll(late, alice)},
		{"while a step runs", "decide_busy", running, denyAll(running, alice)},
		{"when nothing is open", "nothing_open", improved, denyAll(improved, alice)},
		{"a second time", "decide", must(t, inc, denyAll(inc, alice)), denyAll(inc, bob)},
		{"of a closed incident", "decide_closed", inState(t, StateClosed), denyAll(inc, alice)},
		{"that is an approval", "decided_step_gone", inc, approveAll},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := refusedFor(t, tc.inc, tc.ev); got != tc.want {
				t.Errorf("says %q, want %q", got, tc.want)
			}
		})
	}
}

func keepStep(step string, by Actor) Decided {
	return Decided{Decision: Decision{Step: step, Verb: Keep, By: by, Reason: "good enough"}}
}

func TestAnOfferedUndoIsDeclined(t *testing.T) {
	t.Parallel()
	alone := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictUnchanged))
	more := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictWorse))
	expired := must(t, more, Expired{})
	for name, tc := range map[string]struct {
		inc  Incident
		want State
		open int
	}{
		"when nothing else is asked": {alone, StateWatching, 0},
		"when another step is open":  {more, StateDeciding, 1},
		"after the time":             {expired, StateWatching, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.inc.UndoOffered != "p1-s1" {
				t.Fatalf("the undo of %q is offered", tc.inc.UndoOffered)
			}
			got := must(t, tc.inc, keepStep("p1-s1", alice))
			if s, _ := got.Step("p1-s1"); got.State != tc.want || got.UndoOffered != "" || s.State != StepApplied ||
				len(got.Proposed()) != tc.open {
				t.Errorf("state %s, offered %q, step %s, %d open", got.State, got.UndoOffered, s.State, len(got.Proposed()))
			}
			if d := got.Decisions[len(got.Decisions)-1]; d.Verb != Keep || d.By != alice {
				t.Errorf("recorded %+v", d)
			}
			if why := refusedFor(t, got, keepStep("p1-s1", bob)); why != "not_offered" {
				t.Errorf("a second time: %s", why)
			}
			// A person may still roll it back.
			must(t, got, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: bob}})
		})
	}
}

// What is undone or kept is what the person saw: the step, or the plan that it is in. The API names only the step.
func TestAnUndoIsOfTheStepThatWasSeen(t *testing.T) {
	t.Parallel()
	offered := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictUnchanged))
	s, _ := offered.Step("p1-s1")
	for _, verb := range []Verb{Undo, Keep} {
		of := func(digest string) Decided {
			return Decided{Decision: Decision{Step: "p1-s1", Digest: digest, Verb: verb, By: alice}}
		}
		for _, digest := range []string{s.Digest, offered.Plan.Digest, ""} {
			must(t, offered, of(digest))
		}
		if why := refusedFor(t, offered, of("000000000000")); why != RefusedPlanChanged {
			t.Errorf("%s of another step: %s", verb, why)
		}
	}
}

func TestNothingIsKeptWhereNoUndoIsOffered(t *testing.T) {
	t.Parallel()
	for name, inc := range map[string]Incident{
		"nothing was applied": deciding(t, scaleStep("2", "3")),
		"it helped":           must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictImproved)),
		"it is watched":       must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictRecovered)),
	} {
		if why := refusedFor(t, inc, keepStep("p1-s1", alice)); why != "not_offered" {
			t.Errorf("%s: %s", name, why)
		}
	}
	offered := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictUnchanged))
	for _, step := range []string{"p1-s2", "p9-s1", ""} {
		if why := refusedFor(t, offered, keepStep(step, alice)); why != "not_offered" {
			t.Errorf("step %q: %s", step, why)
		}
	}
}

func TestWhatWasRefusedIsAskedAgain(t *testing.T) {
	t.Parallel()
	open := deciding(t, scaleStep("2", "3"))
	for name, muted := range map[string]Incident{
		"denied":  must(t, open, Decided{Decision: Decision{Step: "p1-s1", Digest: open.Plan.Digest, Verb: Deny, By: bob}}),
		"expired": must(t, open, Expired{}),
		"aborted": must(t, open, Aborted{By: bob, Reason: "later"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The same diagnosis alone is no reason to ask.
			quiet := must(t, muted, found("queueing", scaleStep("2", "3")))
			if quiet.State != StateWatching || !quiet.CanAskAgain() {
				t.Fatalf("state %s, may be asked again: %t", quiet.State, quiet.CanAskAgain())
			}
			res, err := Apply(quiet, AskedAgain{By: alice, Reason: "I am back"}, now)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Incident
			if got.State != StateInvestigating || got.MuteReason != NotMuted || got.AskedBy == nil || *got.AskedBy != alice {
				t.Errorf("state %s, muted for %q, asked by %v", got.State, got.MuteReason, got.AskedBy)
			}
			if e := res.Entries[0]; !e.Thread || e.Said.Kind != NoteAskedAgain || e.Said.Why != "I am back" || *e.By != alice {
				t.Errorf("the thread says %+v", e)
			}
			got = must(t, got, found("queueing", scaleStep("2", "3")), Asked{ExpiresAt: now.Add(time.Hour)})
			if got.State != StateDeciding || got.Plan.Revision != 2 || got.Plan.Steps[0].State != StepProposed {
				t.Fatalf("state %s, revision %d, step %s", got.State, got.Plan.Revision, got.Plan.Steps[0].State)
			}
			if why := refusedFor(t, got, approve(open, "p1-s1", alice)); why != "decided_step_gone" {
				t.Errorf("a click on the old request: %s", why)
			}
			if got = must(t, got, approve(got, "p2-s1", alice)); got.State != StateApplying {
				t.Errorf("state %s after the approval", got.State)
			}
		})
	}
}

func TestNothingIsAskedAgainWithoutANo(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		inc := inState(t, s)
		if inc.CanAskAgain() {
			t.Errorf("%s: may be asked again", s)
		}
		if why := refusedFor(t, inc, AskedAgain{By: alice}); why != "ask_again" {
			t.Errorf("%s: %s", s, why)
		}
	}
	open := deciding(t, scaleStep("2", "3"))
	well := must(t, open, Expired{}, Investigated{Healthy: True})
	if why := refusedFor(t, well, AskedAgain{By: alice}); why != "ask_again" {
		t.Errorf("a healthy pool: %s", why)
	}
	if why := refusedFor(t, must(t, open, Expired{}), AskedAgain{By: alice, Revision: 7}); why != "plan_changed" {
		t.Errorf("of another plan: %s", why)
	}
	again := must(t, open, Expired{}, AskedAgain{By: alice, Revision: open.Plan.Revision})
	if why := refusedFor(t, again, AskedAgain{By: bob}); why != "ask_again" {
		t.Errorf("a second time: %s", why)
	}
	if again = must(t, again, Investigated{Healthy: True}); again.AskedBy != nil {
		t.Error("a healthy pool still counts as asked about")
	}
}

func TestTheSeverityStaysThroughResolveAndReopen(t *testing.T) {
	t.Parallel()
	warning := firing("b")
	warning.Labels = map[string]string{"alertname": "vLLMQueueBacklog", "severity": "warning"}
	over := func(a Alert) Alert {
		a.Firing, a.EndsAt = false, now.Add(time.Second)
		return a
	}
	inc := must(t, received(), AlertsReceived{Alerts: []Alert{warning}})
	if inc.Severity() != "warning" {
		t.Errorf("severity %q", inc.Severity())
	}
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{firing("a")}}, AlertsReceived{Alerts: []Alert{over(firing("a"))}})
	if len(inc.Firing()) != 1 || inc.Severity() != "critical" {
		t.Errorf("severity %q after the critical alert resolved", inc.Severity())
	}
	inc = must(t, inc, Muted{Note: Text("x")}, Closed{By: alice, Reason: "y"})
	again := warning
	again.Fingerprint, again.StartsAt = "c", now.Add(time.Second)
	if inc = must(t, inc, AlertsReceived{Alerts: []Alert{again}}); inc.Reopened != 1 || inc.Severity() != "critical" {
		t.Errorf("reopened %d times, severity %q", inc.Reopened, inc.Severity())
	}
}

// Of what an older version stored only the alerts are known.
func TestTheSeverityOfAnOlderIncidentIsThatOfItsAlerts(t *testing.T) {
	t.Parallel()
	inc := investigating(t)
	inc.WorstSeverity = ""
	inc.Alerts[0].Firing = false
	if inc.Severity() != "critical" {
		t.Errorf("severity %q", inc.Severity())
	}
	warning := firing("b")
	warning.Labels = map[string]string{"severity": "warning"}
	if inc = must(t, inc, AlertsReceived{Alerts: []Alert{warning}}); inc.WorstSeverity != "critical" {
		t.Errorf("severity %q after a warning", inc.WorstSeverity)
	}
}

// The end of an alert of which nothing was heard before says nothing of how bad it is.
func TestAnAlertThatNeverFiredHereHasNoSeverity(t *testing.T) {
	t.Parallel()
	warning, gone := firing("b"), firing("c")
	warning.Labels = map[string]string{"severity": "warning"}
	gone.Firing, gone.EndsAt = false, now
	if inc := must(t, received(), AlertsReceived{Alerts: []Alert{warning, gone}}); inc.Severity() != "warning" {
		t.Errorf("severity %q", inc.Severity())
	}
}

// Whoever was asked whether to roll back has the time to answer, although there is nothing else to propose by then.
func TestAnOfferedRollbackOutlivesThePlan(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictUnchanged))
	until := inc.Plan.ExpiresAt
	blocked := scaleStep("3", "4")
	blocked.Guardrails = []Guardrail{{Name: "cool_down", Verdict: GuardRefuse}}
	for name, next := range map[string]Investigated{
		"the next step is blocked":   found("queueing", blocked),
		"another cause, blocked":     found("memory", blocked),
		"another cause, manual only": found("memory", Step{Kind: StepManual, Title: "Call"}),
		"nothing to do":              found("queueing"),
	} {
		res, err := Apply(inc, next, now)
		got := res.Incident
		if err != nil || got.State != StateDeciding || got.UndoOffered != "p1-s1" || !got.Request.Open() ||
			!got.Plan.ExpiresAt.Equal(until) {
			t.Errorf("%s: %s, offered %q, asked %v until %v: %v", name, got.State, got.UndoOffered, got.Request,
				got.Plan.ExpiresAt, err)
			continue
		}
		for _, e := range res.Entries {
			if e.Said.Kind == NoteApprovalNeeded {
				t.Errorf("%s: people are called again", name)
			}
		}
		if late := must(t, got, Expired{}); late.State != StateWatching || late.MuteReason != MutedExpired ||
			len(late.Applied()) != 1 {
			t.Errorf("%s, without an answer: %s, %s, %d in place", name, late.State, late.MuteReason, len(late.Applied()))
		}
	}
	healthy := found("queueing", blocked)
	healthy.Healthy = True
	if got := must(t, inc, healthy); got.State != StateWatching || got.Request.Open() {
		t.Errorf("healthy again: %s, asked %v", got.State, got.Request)
	}
	if got := must(t, inc, found("memory", throttleStep())); got.State != StateProposed {
		t.Errorf("with another step to propose: %s", got.State)
	}
}
