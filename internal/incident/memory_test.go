package incident

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at applies an event at a later time.
func at(t *testing.T, inc Incident, after time.Duration, ev Event) (Incident, []Entry) {
	t.Helper()
	res, err := Apply(inc, ev, now.Add(after))
	if err != nil {
		t.Fatalf("%s in state %s: %v", ev.Kind(), inc.State, err)
	}
	return res.Incident, res.Entries
}

func throttleFrom(from, to string) Step {
	s := throttleStep()
	s.From, s.To, s.Undo = Set(from), Set(to), Set(from)
	s.Digest = s.ComputeDigest()
	return s
}

// unexplained is an investigation that is not healthy and finds no cause.
func unexplained() Investigated {
	e := found("")
	e.Diagnosis, e.Note = nil, "No known cause."
	return e
}

func TestStepIDsNeverComeTwice(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleFrom("184", "129")), verdict(VerdictImproved), unexplained(),
		found("queueing", throttleFrom("129", "90")))
	ids := map[string]bool{}
	for _, s := range append(slices.Clone(inc.AppliedEarlier), inc.Plan.Steps...) {
		if ids[s.ID] {
			t.Fatalf("two steps are called %s", s.ID)
		}
		ids[s.ID] = true
	}
	inc = must(t, inc, Asked{ExpiresAt: now.Add(time.Hour)},
		Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}})
	if s, _ := inc.Step(inc.Active.Step); s.Undo != Set("184") {
		t.Errorf("the undo of the first step goes back to %s", s.Undo)
	}
}

func TestARefusedUndoKeepsTheChangeAndTheIncidentOpen(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered))
	for n, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		inc = must(t, inc, UndoStarted{Step: "p1-s1", By: Actor{Kind: "bot"}}, WriteClaimed{WriteID: "w"},
			Written{Result: ResultFailed, Note: "forbidden"})
		if len(inc.Mitigations()) != 1 || inc.State != StateWatching || inc.Said.Kind != NoteNotUndone ||
			inc.Said.Value != Set("129") {
			t.Fatalf("after a refused undo: %s, %d mitigations, %+v", inc.State, len(inc.Mitigations()), inc.Said)
		}
		refused(t, inc, Closed{By: alice, Reason: "healthy"})
		s, _ := inc.Step("p1-s1")
		if s.UndoDue(now.Add(wait-1)) || !s.UndoDue(now.Add(wait)) {
			t.Errorf("after refusal %d the next try is not due %s later", n+1, wait)
		}
	}
	inc = must(t, inc, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}) // a person may ask at any time
	inc = must(t, inc, WriteClaimed{WriteID: "w"}, Written{Result: ResultApplied}, RolledOut{})
	if len(inc.Mitigations()) != 0 {
		t.Error("the mitigation is still active after its undo")
	}
}

func TestADriftEndsAnUndo(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered),
		UndoStarted{Step: "p1-s1", By: alice}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultDrift, Note: "somebody set it to 64"})
	if s, _ := inc.Step("p1-s1"); s.State != StepFailed || !strings.Contains(s.Reason, "64") ||
		len(inc.Mitigations()) != 0 {
		t.Errorf("the step is %s (%s)", s.State, s.Reason)
	}
}

func TestWhatWasTriedIsRemembered(t *testing.T) {
	t.Parallel()
	worse := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictWorse))
	undone := must(t, worse, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultApplied}, RolledOut{})
	recovered := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered),
		UndoStarted{Step: "p1-s1", By: Actor{Kind: "bot", ID: "vllm-medic"}}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultApplied}, RolledOut{})
	taken := must(t, applied(t, throttleStep()), Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}},
		WriteClaimed{WriteID: "w"}, Written{Result: ResultApplied}, RolledOut{})
	for name, tc := range map[string]struct {
		inc  Incident
		step Step
		want *Attempt
	}{
		"worse and undone":              {undone, scaleStep("2", "3"), &Attempt{Verdict: VerdictWorse, UndoneBy: &alice}},
		"undone before a verdict":       {taken, throttleStep(), &Attempt{UndoneBy: &alice}},
		"another value is new":          {undone, scaleStep("2", "4"), nil},
		"an undone mitigation had done": {recovered, throttleStep(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc := must(t, tc.inc, found("relapse", tc.step))
			if tc.want != nil {
				s := tc.step
				tc.want.Kind, tc.want.Target, tc.want.To, tc.want.At = s.Kind, s.Target.Key(), s.To, now
			}
			if diff := cmp.Diff(tc.want, inc.Plan.Steps[0].Attempt); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpirySaysWhatStands(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictWorse), Expired{})
	if inc.Said.Kind != NoteExpired || !strings.Contains(inc.Said.Names, "Scale 2 to 3") {
		t.Errorf("the note is %+v", inc.Said)
	}
	if inc.UndoOffered != "p1-s1" {
		t.Error("the expiry of the question took the offer of the undo away")
	}
}

func TestARefireWhoseEndWasNeverSentOpensAgain(t *testing.T) {
	t.Parallel()
	closed := inState(t, StateClosed)
	closed.ClosedAt = now
	for name, tc := range map[string]struct {
		starts, seen time.Duration
		want         State
	}{
		"it began after the end":        {time.Minute, 2 * time.Minute, StateInvestigating},
		"it was on its way at the end":  {-time.Minute, time.Minute, StateClosed},
		"it still fires well after it":  {-time.Minute, 10 * time.Minute, StateInvestigating},
		"it began at the very end only": {0, time.Minute, StateClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := firing("a")
			a.StartsAt, a.SeenAt = now.Add(tc.starts), now.Add(tc.seen)
			if inc, _ := at(t, closed, tc.seen, AlertsReceived{Alerts: []Alert{a}}); inc.State != tc.want {
				t.Errorf("the incident is %s, want %s", inc.State, tc.want)
			}
		})
	}
}

func TestTheEndOfAnAlertThatWasNeverHeardOfIsNoNews(t *testing.T) {
	t.Parallel()
	over := firing("new")
	over.Firing, over.EndsAt = false, now
	closed := inState(t, StateClosed)
	if inc, _ := at(t, closed, time.Minute, AlertsReceived{Alerts: []Alert{over}}); inc.State != StateClosed {
		t.Errorf("a resolved alert opened the incident: %s", inc.State)
	}
	_, entries := at(t, investigating(t), time.Minute, AlertsReceived{Alerts: []Alert{over}})
	for _, e := range entries {
		if e.Said.Kind == NoteJoined {
			t.Errorf("a resolved alert is said to have joined: %+v", e.Said)
		}
	}
}

// The words for a person name readings, which are others in every investigation. They are shown as they are now, and
// the plan stays the one that a click answers.
func TestTheReadingsInAManualStepMakeNoNewPlan(t *testing.T) {
	t.Parallel()
	advice := func(text string) Step {
		s := Step{Kind: StepManual, Title: text, State: StepProposed}
		s.Digest = s.ComputeDigest()
		return s
	}
	asked := deciding(t, scaleStep("2", "3"), advice("prompts have 1000 tokens"))
	for name, begin := range map[string]Incident{
		"people are asked":   asked,
		"nothing can be run": must(t, investigating(t), found("queueing", advice("prompts have 1000 tokens"))),
		"a person said no": must(t, asked,
			Decided{Decision: Decision{Step: "p1-s1", Digest: asked.Plan.Digest, Verb: Deny, By: alice}}),
		"the same once again": must(t, asked, found("queueing", scaleStep("2", "3"), advice("prompts have 1001 tokens"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := slices.Clone(begin.Plan.Steps)
			for n := range steps {
				steps[n].State = StepProposed
			}
			steps[len(steps)-1] = advice("prompts have 1002 tokens")
			inc, entries := at(t, begin, time.Second, found("queueing", steps...))
			if inc.Plan.Revision != begin.Plan.Revision || inc.Plan.Digest != begin.Plan.Digest || len(entries) > 0 {
				t.Errorf("plan %d %s, want %d %s; said %v", inc.Plan.Revision, inc.Plan.Digest, begin.Plan.Revision,
					begin.Plan.Digest, entries)
			}
			if got := inc.Plan.Steps[len(steps)-1].Title; got != "prompts have 1002 tokens" {
				t.Errorf("the message says: %s", got)
			}
		})
	}
}

// Rules that fire for each pod send one alert for each. A line that leaves the pods out would say that an alert is over
// which goes on elsewhere.
func TestALineNamesThePodsOfAnAlertAndWhatStillFires(t *testing.T) {
	t.Parallel()
	on := func(name, fingerprint string, labels ...string) Alert {
		a := firing(fingerprint)
		a.Labels = map[string]string{"alertname": name}
		for n := 0; n < len(labels); n += 2 {
			a.Labels[labels[n]] = labels[n+1]
		}
		return a
	}
	over := func(alerts ...Alert) []Alert {
		for n := range alerts {
			alerts[n].Firing, alerts[n].EndsAt = false, now.Add(time.Minute)
		}
		return alerts
	}
	a, b, c := on("Slow", "1", "pod", "m-0", "instance", "10.0.0.1:8000"), on("Slow", "2", "pod", "m-1"),
		on("Queue", "3", "instance", "10.0.0.3:8000")
	d, e, plain := on("Slow", "4", "pod", "m-3"), on("Slow", "5", "pod", "m-4"), on("Gate", "6")
	last := func(entries []Entry) Note { return entries[len(entries)-1].Said }
	inc, entries := at(t, investigating(t), time.Second, AlertsReceived{Alerts: []Alert{b, a, c, d, e, plain}})
	if got, want := last(entries),
		(Note{Kind: NoteJoined, Names: "Gate, Queue (10.0.0.3:8000), Slow (m-0, m-1, m-3 and 1 more)"}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(a, c)})
	if got, want := last(entries),
		(Note{Kind: NoteResolved, Names: "Queue (10.0.0.3:8000), Slow (m-0)", Count: 5, Pool: inc.Pool}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(b, d, e, plain)})
	if got, want := last(entries),
		(Note{Kind: NoteResolved, Names: "Gate, Slow (m-1, m-3, m-4)", Count: 1, Pool: inc.Pool}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	_, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(inc.Firing()[0])})
	if got := last(entries); got.Kind != NoteResolved || got.Count != 0 || got.Pool == "" {
		t.Errorf("got %+v, want that nothing fires and the metrics have to confirm it", got)
	}
}

// Without a pool the model is what tells alerts apart, and no metric is read that could decide anything.
func TestALineAboutAlertsWithoutAPoolNamesTheModels(t *testing.T) {
	t.Parallel()
	of := func(fingerprint, model, pod string) Alert {
		a := firing(fingerprint)
		a.Labels = map[string]string{"alertname": "Slow", "model_name": model, "pod": pod}
		return a
	}
	a, b, c, bare := of("1", "phi", "phi-0"), of("2", "phi", "phi-1"), of("3", "olmo", ""), of("4", "", "")
	inc := must(t, New("inc-2", "", ModeApprove, false, now), AlertsReceived{Alerts: []Alert{a}},
		Muted{Note: Text("no pool")})
	for _, tc := range []struct {
		alerts []Alert
		end    bool
		want   Note
	}{
		{[]Alert{b, c, bare}, false, Note{Kind: NoteJoined, Names: "Slow, Slow (olmo, phi phi-1)"}},
		{[]Alert{a}, true, Note{Kind: NoteResolved, Names: "Slow (phi phi-0)", Count: 3}},
		{[]Alert{b, c, bare}, true, Note{Kind: NoteResolved, Names: "Slow, Slow (olmo, phi phi-1)"}},
	} {
		for n := range tc.alerts {
			if tc.end {
				tc.alerts[n].Firing, tc.alerts[n].EndsAt = false, now.Add(time.Minute)
			}
		}
		var entries []Entry
		inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: tc.alerts})
		if got := entries[len(entries)-1].Said; got != tc.want {
			t.Errorf("got  %+v\nwant %+v", got, tc.want)
		}
	}
	inc, _ = at(t, inc, 2*time.Minute, Closed{By: alice, Reason: "over"})
	a.StartsAt, a.SeenAt = now.Add(3*time.Minute), now.Add(3*time.Minute)
	_, entries := at(t, inc, 3*time.Minute, AlertsReceived{Alerts: []Alert{a}})
	if got, want := entries[len(entries)-1].Said, (Note{Kind: NoteReopened, Names: "Slow (phi phi-0)"}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnAbortDuringTheRolloutOfAnUndoLeavesItUndone(t *testing.T) {
	t.Parallel()
	undoing := must(t, verifying(t, throttleStep()), UndoStarted{Step: "p1-s1", By: alice}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultApplied})
	inc := must(t, undoing, Aborted{By: bob, Reason: "enough"})
	if s, _ := inc.Step("p1-s1"); s.State != StepUndone {
		t.Errorf("the object has its old value and the step is %s", s.State)
	}
}

func TestGuardrailsFreeAndRefuseStepsOfAnOpenPlan(t *testing.T) {
	t.Parallel()
	cooling := scaleStep("2", "3")
	cooling.Guardrails = []Guardrail{{Name: "cool-down", Verdict: GuardRefuse, Reason: "allowed in 4m"}}
	inc := deciding(t, throttleStep(), cooling)
	if s := inc.Plan.Steps[1]; s.State != StepRefused || s.Reason != "allowed in 4m" {
		t.Fatalf("the step is %s (%s)", s.State, s.Reason)
	}
	inc = must(t, inc, found("queueing", throttleStep(), scaleStep("2", "3")))
	if s := inc.Plan.Steps[1]; s.State != StepProposed || s.Reason != "" {
		t.Errorf("after the cool-down the step is %s (%s)", s.State, s.Reason)
	}
	inc = must(t, inc, found("queueing", throttleStep(), cooling))
	if s := inc.Plan.Steps[1]; s.State != StepRefused || s.Reason != "allowed in 4m" {
		t.Errorf("when the guardrail refuses again the step is %s (%s)", s.State, s.Reason)
	}
	stuck := throttleStep()
	stuck.Guardrails = cooling.Guardrails
	if inc = must(t, inc, found("queueing", stuck, cooling)); inc.State != StateWatching {
		t.Errorf("nobody can decide anything, and the incident is %s", inc.State)
	}
}

// An autoscaler that moves makes a new plan in every investigation. That neither puts off the end of the question nor
// floods the thread.
func TestAPlanThatFollowsLiveValuesKeepsItsEnd(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	end := inc.Plan.ExpiresAt
	for n := range 5 {
		later := time.Duration(n+1) * time.Minute
		var entries []Entry
		inc, entries = at(t, inc, later, found("queueing", scaleStep("2", string(rune('4'+n)))))
		for _, e := range entries {
			if e.Thread {
				t.Errorf("a line in the thread: %+v", e.Said)
			}
		}
		inc, _ = at(t, inc, later, Asked{ExpiresAt: now.Add(later + time.Hour)})
		if !inc.Plan.ExpiresAt.Equal(end) {
			t.Fatalf("the question ends at %s, want %s", inc.Plan.ExpiresAt, end)
		}
	}
	inc = must(t, inc, found("another cause", scaleStep("2", "3")), Asked{ExpiresAt: now.Add(2 * time.Hour)})
	if !inc.Plan.ExpiresAt.After(end) {
		t.Error("another diagnosis did not get its own time")
	}
}

func TestAnAbortBeforeTheDiagnosisHolds(t *testing.T) {
	t.Parallel()
	inc := must(t, investigating(t), Aborted{By: alice, Reason: "known"}, found("queueing", scaleStep("2", "3")))
	if inc.State != StateWatching {
		t.Errorf("a person said no, and the incident is %s", inc.State)
	}
}

func TestEveryDecisionThatCannotBeTakenHasASentence(t *testing.T) {
	t.Parallel()
	manual := scaleStep("2", "3")
	manual.Kind = StepManual
	inc := deciding(t, scaleStep("2", "3"), manual)
	deny := func(inc Incident, step string) Decided {
		return Decided{Decision: Decision{Step: step, Digest: inc.Plan.Digest, Verb: Deny, By: alice}}
	}
	refused(t, inc, deny(inc, "p1-s2"))
	quiet := must(t, inc, deny(inc, "p1-s1"))
	refused(t, quiet, deny(quiet, "p1-s2"))
	left := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictWorse),
		Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultApplied}, RolledOut{})
	refused(t, left, approve(left, "p1-s2", bob))
}

func TestAStepThatEndsLateLeavesTimeToDecideOnTheOthers(t *testing.T) {
	t.Parallel()
	inc := applying(t, scaleStep("2", "3"), throttleStep())
	inc.Plan.ExpiresAt = time.Time{} // policy approved; nobody was asked
	until := now.Add(time.Hour)
	if got := must(t, inc, Stopped{Reason: "drift", ExpiresAt: until}); got.State != StateDeciding ||
		!got.Plan.ExpiresAt.Equal(until) {
		t.Errorf("after a stop it is %s until %s", got.State, got.Plan.ExpiresAt)
	}
	got := must(t, inc, WriteClaimed{WriteID: "w"}, Written{Result: ResultFailed, Note: "no", ExpiresAt: until})
	if !got.Plan.ExpiresAt.Equal(until) {
		t.Errorf("after a failed write people have until %s", got.Plan.ExpiresAt)
	}
}

func TestSilenceIsNoRecovery(t *testing.T) {
	t.Parallel()
	read := func(v *float64) map[string]Reading {
		return map[string]Reading{"ttft_p95": {
			Signal: "ttft_p95", Value: v, Unit: UnitSeconds, Direction: HigherIsWorse,
			Threshold: num(1),
		}}
	}
	v, shown := VerdictOf(read(num(7)), read(nil), []string{"ttft_p95"}, True)
	if v != VerdictInconclusive || shown.Finding != FoundSilent {
		t.Errorf("no requests at all is %s: %s", v, shown.Finding)
	}
	if v, _ := VerdictOf(read(nil), read(nil), []string{"ttft_p95"}, True); v != VerdictRecovered {
		t.Errorf("a signal that never had data made it %s", v)
	}
}

func TestTheNewerOfTwoChangesToOneValueIsUndoneFirst(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleFrom("184", "129")), verdict(VerdictImproved),
		found("queueing", throttleFrom("129", "90")), Asked{ExpiresAt: now.Add(time.Hour)})
	inc = must(t, inc, approve(inc, "p2-s1", alice), WriteClaimed{WriteID: "w2"})
	inc, _ = at(t, inc, time.Minute, Written{Result: ResultApplied})
	inc = must(t, inc, RolledOut{SettleUntil: now}, Settled{}, verdict(VerdictImproved))
	if why := refused(t, inc, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}); !strings.HasPrefix(why,
		string(RefusedOnTop)) {
		t.Errorf("got %q", why)
	}
	inc = must(t, inc, Decided{Decision: Decision{Step: "p2-s1", Verb: Undo, By: alice}}, WriteClaimed{WriteID: "w3"},
		Written{Result: ResultApplied}, RolledOut{})
	must(t, inc, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}})
}

func TestAlertsThatFindTheirPoolLeaveTheUnroutedIncident(t *testing.T) {
	t.Parallel()
	inc := New("inc-2", "", ModeApprove, false, now)
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{firing("a"), firing("b")}}, Muted{Note: Text("no pool")})
	inc = must(t, inc, Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
	if len(inc.Alerts) != 1 || inc.Alerts[0].Fingerprint != "b" {
		t.Errorf("left: %v", inc.Alerts)
	}
	refused(t, inc, Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
	refused(t, inState(t, StateWatching), Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
}

// Nobody can tell whether two names in two channels are one person.
func TestTwoApprovalsComeThroughOneChannel(t *testing.T) {
	t.Parallel()
	s := scaleStep("2", "3")
	s.Needs.Approvals = 2
	inc := deciding(t, s)
	inc = must(t, inc, approve(inc, "p1-s1", alice))
	if why := refused(t, inc, approve(inc, "p1-s1", Actor{Kind: "kubernetes", ID: "alice"})); !strings.HasPrefix(why,
		string(RefusedSameChannel)) {
		t.Errorf("got %q", why)
	}
	if inc = must(t, inc, approve(inc, "p1-s1", bob)); inc.State != StateApplying {
		t.Errorf("two people in one channel: %s", inc.State)
	}
}
