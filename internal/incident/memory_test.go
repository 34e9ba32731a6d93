package incident

import (
	"slices"
	"strconv"
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
			Written{Result: ResultFailed, Why: Because("forbidden")})
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
		Written{Result: ResultDrift, Why: Because("somebody set it to 64")})
	if s, _ := inc.Step("p1-s1"); s.State != StepFailed || !strings.Contains(s.Cause.Text, "64") ||
		!s.Cause.NotUndone || len(inc.Mitigations()) != 0 {
		t.Errorf("the step is %s (%+v)", s.State, s.Cause)
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
	if s := inc.Plan.Steps[1]; s.State != StepRefused || s.Cause != Because("allowed in 4m") {
		t.Fatalf("the step is %s (%+v)", s.State, s.Cause)
	}
	inc = must(t, inc, found("queueing", throttleStep(), scaleStep("2", "3")))
	if s := inc.Plan.Steps[1]; s.State != StepProposed || s.Cause != (Reason{}) {
		t.Errorf("after the cool-down the step is %s (%+v)", s.State, s.Cause)
	}
	inc = must(t, inc, found("queueing", throttleStep(), cooling))
	if s := inc.Plan.Steps[1]; s.State != StepRefused || s.Cause != Because("allowed in 4m") {
		t.Errorf("when the guardrail refuses again the step is %s (%+v)", s.State, s.Cause)
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
		inc, entries = at(t, inc, later, found("queueing", scaleStep("2", strconv.Itoa(4<<n))))
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
	inc = must(t, missed(inc), found("another cause", throttleStep()), Asked{ExpiresAt: now.Add(2 * time.Hour)})
	if !inc.Plan.ExpiresAt.After(end) {
		t.Error("another diagnosis that asks for something else did not get its own time")
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
	if got := must(t, inc, Stopped{Why: Because("drift"), ExpiresAt: until}); got.State != StateDeciding ||
		!got.Plan.ExpiresAt.Equal(until) {
		t.Errorf("after a stop it is %s until %s", got.State, got.Plan.ExpiresAt)
	}
	got := must(t, inc, WriteClaimed{WriteID: "w"}, Written{Result: ResultFailed, Why: Because("no"), ExpiresAt: until})
	if !got.Plan.ExpiresAt.Equal(until) {
		t.Errorf("after a failed write people have until %s", got.Plan.ExpiresAt)
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
