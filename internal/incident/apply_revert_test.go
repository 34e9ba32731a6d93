package incident

import (
	"testing"
	"time"
)

// argo is what Argo CD's self-heal does to a step from 2 to 3, six seconds after it.
func argo() Reverted {
	return Reverted{
		Step: "p1-s1", ExpiresAt: now.Add(time.Hour),
		Reversal: Reversal{Value: Set("2"), By: "argocd-controller", At: now.Add(6 * time.Second), Hint: "change it in Git"},
	}
}

func TestAValueThatIsSetBackIsToldAsThat(t *testing.T) {
	t.Parallel()
	claimed := must(t, applying(t, scaleStep("2", "3")), WriteClaimed{WriteID: "w1"})
	for name, inc := range map[string]Incident{
		"found after a lost answer": claimed,
		"during the rollout":        applied(t, scaleStep("2", "3")),
		"while settling":            must(t, applied(t, scaleStep("2", "3")), RolledOut{SettleUntil: now.Add(time.Minute)}),
		"while verifying": must(t, verifying(t, scaleStep("2", "3")),
			Verified{Verification: Verification{Verdict: VerdictWorse, At: now}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := Apply(inc, argo(), now)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Incident
			s, _ := got.Step("p1-s1")
			if got.State != StateWatching || got.Active != nil || got.UndoOffered != "" || len(got.Applied()) != 0 ||
				got.ChangedAt.IsZero() {
				t.Errorf("the incident is %s, active %+v, undo offered %q, applied %v", got.State, got.Active, got.UndoOffered,
					got.Applied())
			}
			want := Reason{
				Kind: ReasonSetBack, By: "argocd-controller", Value: Set("2"), After: 6 * time.Second,
				Hint: "change it in Git",
			}
			if s.State != StepReverted || s.Cause != want || s.Verification != nil || s.Reverted == nil ||
				s.Reverted.By != "argocd-controller" {
				t.Errorf("the step is %s (%+v), verification %+v, reverted %+v", s.State, s.Cause, s.Verification, s.Reverted)
			}
			if got.Said != (Note{Kind: NoteStepReverted, Step: s.Title, Cause: want}) {
				t.Errorf("the note is %+v", got.Said)
			}
			said := Note{Kind: NoteReverted, Target: s.Target, Cause: want.withoutHint(), Hint: "change it in Git"}
			if len(res.Entries) != 1 || !res.Entries[0].Thread || res.Entries[0].Said != said {
				t.Errorf("the journal says %+v", res.Entries)
			}
			refused(t, got, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}})
			again := must(t, got, found("relapse", scaleStep("2", "3")))
			if tried := again.Plan.Steps[0].Attempt; tried == nil ||
				tried.Cause != want.withoutHint() {
				t.Errorf("tried: %+v", tried)
			}
		})
	}
}

func TestWhatIsLeftOfThePlanIsAskedAfterARevert(t *testing.T) {
	t.Parallel()
	inc := must(t, applied(t, scaleStep("2", "3"), throttleStep()), argo())
	if inc.State != StateDeciding || len(inc.Proposed()) != 1 || inc.Plan.ExpiresAt.IsZero() {
		t.Errorf("the incident is %s with %d proposed steps", inc.State, len(inc.Proposed()))
	}
}

// A mitigation that somebody took away does not keep the incident open, and there is nothing to undo any more.
func TestAMitigationThatSomebodyTookAwayIsNotActiveAnyMore(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered))
	inc = must(t, inc, Reverted{Step: "p1-s1", Reversal: Reversal{Value: Set("184"), By: "kubectl-edit"}})
	if len(inc.Mitigations()) != 0 || inc.State != StateWatching || inc.HealthySince.IsZero() {
		t.Errorf("%s, %d mitigations", inc.State, len(inc.Mitigations()))
	}
	must(t, inc, Closed{By: alice, Reason: "healthy"})
}

func TestAnUndoThatIsSetBackIsUndoneAllTheSame(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]Event{
		"during its rollout":        {WriteClaimed{WriteID: "w"}, Written{Result: ResultApplied}},
		"found after a lost answer": {WriteClaimed{WriteID: "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc := must(t, verifying(t, throttleStep()), UndoStarted{Step: "p1-s1", By: alice})
			inc = must(t, must(t, inc, events...),
				Reverted{Step: "p1-s1", Reversal: Reversal{Value: Set("129"), By: "helm", At: now.Add(3 * time.Second)}})
			s, _ := inc.Step("p1-s1")
			if s.State != StepUndone || inc.State != StateWatching || len(inc.Mitigations()) != 0 ||
				s.Cause != (Reason{Kind: ReasonSetBack, Undone: true, By: "helm", Value: Set("129"), After: 3 * time.Second}) {
				t.Errorf("%s, the step is %s (%+v)", inc.State, s.State, s.Cause)
			}
		})
	}
}

func TestOnlyAChangeThatIsFollowedCanBeReverted(t *testing.T) {
	t.Parallel()
	dryRun := received()
	dryRun.DryRun = true
	dryRun = must(t, dryRun, AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{},
		found("queueing", scaleStep("2", "3")), Asked{ExpiresAt: now.Add(time.Hour)})
	dryRun = must(t, dryRun, approve(dryRun, "p1-s1", alice), WriteClaimed{WriteID: "w"}, Written{Result: ResultDryRun})
	other := argo()
	other.Step = "p1-s2"
	for name, tc := range map[string]struct {
		inc Incident
		ev  Reverted
	}{
		"before the claim":      {applying(t, scaleStep("2", "3")), argo()},
		"another step":          {applied(t, scaleStep("2", "3"), throttleStep()), other},
		"a dry run":             {dryRun, argo()},
		"nothing stands":        {must(t, deciding(t, scaleStep("2", "3")), Expired{}), argo()},
		"an undo to be checked": {must(t, verifying(t, scaleStep("2", "3")), UndoStarted{Step: "p1-s1", By: alice}), argo()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, tc.inc, tc.ev)
		})
	}
}

func TestWhatBecameOfAChange(t *testing.T) {
	t.Parallel()
	at := now.Add(6 * time.Second)
	up, down := [2]Value{Set("2"), Set("3")}, [2]Value{Set("256"), Set("128")}
	for name, tc := range map[string]struct {
		r      Reversal
		change [2]Value
		want   Reason
	}{
		"set back": {
			Reversal{Value: Set("2"), By: "argocd-controller", At: at, Hint: "change it in Git"},
			up,
			Reason{
				Kind: ReasonSetBack, By: "argocd-controller", Value: Set("2"), After: 6 * time.Second,
				Hint: "change it in Git",
			},
		},
		"by nobody knows whom": {Reversal{Value: Set("2")}, up, Reason{Kind: ReasonSetBack, Value: Set("2")}},
		"further up":           {Reversal{Value: Set("5")}, up, Reason{Kind: ReasonMovedFurther, Value: Set("5")}},
		"further down":         {Reversal{Value: Set("32")}, down, Reason{Kind: ReasonMovedFurther, Value: Set("32")}},
		"part of the way back": {Reversal{Value: Set("200")}, down, Reason{Kind: ReasonSet, Value: Set("200")}},
		"the other way":        {Reversal{Value: Set("1")}, up, Reason{Kind: ReasonSet, Value: Set("1")}},
		"no number":            {Reversal{Value: Set("12k")}, down, Reason{Kind: ReasonSet, Value: Set("12k")}},
		"removed again":        {Reversal{By: "helm"}, [2]Value{{}, Set("3")}, Reason{Kind: ReasonRemovedAgain, By: "helm"}},
		"removed":              {Reversal{By: "helm"}, up, Reason{Kind: ReasonRemoved, By: "helm"}},
		"the object is gone":   {Reversal{Gone: "it was deleted"}, up, Reason{Kind: ReasonGone, Text: "it was deleted"}},
		"the clocks differ": {
			Reversal{Value: Set("2"), At: now.Add(-time.Minute)}, up, Reason{Kind: ReasonSetBack, Value: Set("2")},
		},
	} {
		if got := tc.r.reason(tc.change[0], tc.change[1], now); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestTriesWithoutAnAnswerAreCountedAndSaidOnce(t *testing.T) {
	t.Parallel()
	inc := must(t, applying(t, scaleStep("2", "3")), WriteClaimed{WriteID: "w1", Mark: &Mark{Generation: 4}})
	thread := 0
	for range 3 {
		res, err := Apply(inc, Unanswered{Error: "503 Service Unavailable"}, now)
		if err != nil {
			t.Fatal(err)
		}
		inc = res.Incident
		for _, e := range res.Entries {
			if e.Thread {
				thread++
			}
		}
		if inc.Said.Kind != NoteNoAnswer || inc.Said.Why != "503 Service Unavailable" {
			t.Errorf("the note is %+v", inc.Said)
		}
	}
	if act := inc.Active; act.Tries != 3 || act.TriedAt != now || thread != 1 || act.Mark.Generation != 4 {
		t.Errorf("%+v, said %d times", act, thread)
	}
	given := must(t, inc, Written{Result: ResultFailed, Why: Because("no clear answer to 3 tries")})
	if s, _ := given.Step("p1-s1"); s.State != StepFailed || given.State != StateWatching {
		t.Errorf("%s, the step is %s", given.State, s.State)
	}
	again := must(t, given, found("relapse", scaleStep("2", "3")))
	if tried := again.Plan.Steps[0].Attempt; tried == nil || tried.Cause.Kind != ReasonNoAnswer {
		t.Errorf("policy may try again: %+v", tried)
	}
	if done := must(t, inc, Written{Result: ResultApplied}); done.Said.Kind != "" {
		t.Errorf("still says %+v", done.Said)
	}
}

// Nobody knows what became of the write: policy does not repeat it, and an undo is left to a person.
func TestAWriteWithoutAnOutcomeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	inc := must(t, applying(t, scaleStep("2", "3")), WriteClaimed{WriteID: "w1"},
		Written{Result: ResultUnknown, Why: Because("the value is 2 as before")})
	if s, _ := inc.Step("p1-s1"); s.State != StepFailed || inc.Active != nil || inc.State != StateWatching {
		t.Errorf("%s, the step is %s", inc.State, s.State)
	}
	if again := must(t, inc, found("relapse", scaleStep("2", "3"))); !again.Plan.Steps[0].WasTried() {
		t.Error("policy may try again")
	}
	undo := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered),
		UndoStarted{Step: "p1-s1", By: Actor{Kind: "bot"}}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultUnknown, Why: Because("the value is 129 as before")})
	s, _ := undo.Step("p1-s1")
	if len(undo.Mitigations()) != 1 || s.UndoDue(now.Add(48*time.Hour)) {
		t.Errorf("%s, the step is %s", undo.State, s.State)
	}
	must(t, undo, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}) // a person may
}
