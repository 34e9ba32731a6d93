package incident

import (
	"strings"
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
			const want = "argocd-controller set it back to 2 after 6 s; change it in Git"
			if s.State != StepReverted || s.Reason != want || s.Verification != nil || s.Reverted == nil ||
				s.Reverted.By != "argocd-controller" {
				t.Errorf("the step is %s (%s), verification %+v, reverted %+v", s.State, s.Reason, s.Verification, s.Reverted)
			}
			if got.Said != (Note{Kind: NoteStepReverted, Step: s.Title, Why: want}) {
				t.Errorf("the note is %+v", got.Said)
			}
			said := Note{
				Kind: NoteReverted, Target: s.Target, Why: "argocd-controller set it back to 2 after 6 s",
				Hint: "change it in Git",
			}
			if len(res.Entries) != 1 || !res.Entries[0].Thread || res.Entries[0].Said != said {
				t.Errorf("the journal says %+v", res.Entries)
			}
			refused(t, got, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}})
			again := must(t, got, found("relapse", scaleStep("2", "3")))
			if tried := again.Plan.Steps[0].Attempt; tried == nil ||
				tried.Why != "argocd-controller set it back to 2 after 6 s" {
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
				!strings.Contains(s.Reason, "helm set it back to 129 after 3 s") {
				t.Errorf("%s, the step is %s (%s)", inc.State, s.State, s.Reason)
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

func TestAReversalInWords(t *testing.T) {
	t.Parallel()
	at := now.Add(6 * time.Second)
	for want, tc := range map[string]struct {
		r        Reversal
		from, to Value
	}{
		"argocd-controller set it back to 2 after 6 s": {
			Reversal{Value: Set("2"), By: "argocd-controller", At: at},
			Set("2"), Set("3"),
		},
		"another client set it back to 2": {Reversal{Value: Set("2")}, Set("2"), Set("3")},
		"kubectl-edit moved it further, to 5 after 6 s": {
			Reversal{Value: Set("5"), By: "kubectl-edit", At: at},
			Set("2"),
			Set("3"),
		},
		"kubectl-edit moved it further, to 32": {Reversal{Value: Set("32"), By: "kubectl-edit"}, Set("256"), Set("128")},
		"kubectl-edit set it to 200":           {Reversal{Value: Set("200"), By: "kubectl-edit"}, Set("256"), Set("128")},
		"kubectl-edit set it to 1":             {Reversal{Value: Set("1"), By: "kubectl-edit"}, Set("2"), Set("3")},
		"helm removed it again":                {Reversal{By: "helm"}, Value{}, Set("3")},
		"helm removed it":                      {Reversal{By: "helm"}, Set("2"), Set("3")},
		"helm set it to 12k":                   {Reversal{Value: Set("12k"), By: "helm"}, Set("8192"), Set("4096")},
		"the object was deleted":               {Reversal{Gone: "the object was deleted"}, Set("2"), Set("3")},
		// The clocks differ.
		"helm set it back to 2": {Reversal{Value: Set("2"), By: "helm", At: now.Add(-time.Minute)}, Set("2"), Set("3")},
	} {
		if got := tc.r.Text(tc.from, tc.to, now); got != want {
			t.Errorf("%q, want %q", got, want)
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
	given := must(t, inc, Written{Result: ResultFailed, Note: "no clear answer to 3 tries"})
	if s, _ := given.Step("p1-s1"); s.State != StepFailed || given.State != StateWatching {
		t.Errorf("%s, the step is %s", given.State, s.State)
	}
	again := must(t, given, found("relapse", scaleStep("2", "3")))
	if tried := again.Plan.Steps[0].Attempt; tried == nil || !strings.Contains(tried.Why, "no clear answer") {
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
		Written{Result: ResultUnknown, Note: "the value is 2 as before"})
	if s, _ := inc.Step("p1-s1"); s.State != StepFailed || inc.Active != nil || inc.State != StateWatching {
		t.Errorf("%s, the step is %s", inc.State, s.State)
	}
	if again := must(t, inc, found("relapse", scaleStep("2", "3"))); !again.Plan.Steps[0].WasTried() {
		t.Error("policy may try again")
	}
	undo := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered),
		UndoStarted{Step: "p1-s1", By: Actor{Kind: "bot"}}, WriteClaimed{WriteID: "w"},
		Written{Result: ResultUnknown, Note: "the value is 129 as before"})
	s, _ := undo.Step("p1-s1")
	if len(undo.Mitigations()) != 1 || s.UndoDue(now.Add(48*time.Hour)) {
		t.Errorf("%s, the step is %s", undo.State, s.State)
	}
	must(t, undo, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}) // a person may
}
