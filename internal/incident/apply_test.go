package incident

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryPairOfStateAndEventHasAnAnswer(t *testing.T) {
	t.Parallel()
	kinds := map[EventKind]bool{}
	for _, s := range States() {
		for n, ev := range samples() {
			kinds[ev.Kind()] = true
			t.Run(fmt.Sprintf("%s/%s/%d", s, ev.Kind(), n), func(t *testing.T) {
				t.Parallel()
				inc := inState(t, s)
				before := written(t, inc)
				res, err := Apply(inc, ev, now)
				if d := cmp.Diff(before, written(t, inc)); d != "" {
					t.Errorf("the incident that was passed in changed:\n%s", d)
				}
				var r *RefusedError
				switch {
				case errors.As(err, &r) && r.Said.Kind != "":
				case err != nil:
					t.Errorf("neither a result nor a refusal: %v", err)
				case res.Incident.UpdatedAt.IsZero():
					t.Error("no result")
				}
			})
		}
	}
	for _, k := range EventKinds() {
		if !kinds[k] {
			t.Errorf("no sample of %s", k)
		}
	}
}

func TestEveryTransitionLeadsToAKnownState(t *testing.T) {
	t.Parallel()
	from, to := map[State]bool{}, map[State]bool{}
	for _, tr := range Transitions() {
		from[tr.From], to[tr.To] = true, true
	}
	for _, s := range States() {
		if !from[s] {
			t.Errorf("nothing leads out of %s", s)
		}
		if !to[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
}

func TestALifeToRecovery(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictRecovered))
	if inc.State != StateWatching || inc.HealthySince.IsZero() {
		t.Fatalf("state %s, healthy since %v", inc.State, inc.HealthySince)
	}
	inc = must(t, inc, Closed{By: alice, Reason: "done"})
	if s := inc.Plan.Steps[0]; s.State != StepApplied || s.Verification.Verdict != VerdictRecovered {
		t.Errorf("the step is %s", s.State)
	}
}

func TestDecisionsThatChangeNothing(t *testing.T) {
	t.Parallel()
	restart := scaleStep("8192", "4096")
	restart.Needs = Needs{Confirm: true, Restart: true}
	restart.Digest = restart.ComputeDigest()
	blocked := scaleStep("2", "3")
	blocked.Guardrails = []Guardrail{{Verdict: GuardRefuse, Reason: "cool-down"}}
	inc := deciding(t, scaleStep("2", "3"), restart, Step{Kind: StepManual, Title: "Call"}, blocked)
	old := approve(inc, "p1-s1", alice)
	late := inc.Clone()
	late.Plan.ExpiresAt = now
	replanned := must(t, missed(inc), found("other", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	second := must(t, inc, approve(inc, "p1-s1", alice))
	denied := must(t, inc, Decided{Decision: Decision{Step: "p1-s1", Digest: inc.Plan.Digest, Verb: Deny, By: bob}})
	for _, tc := range []struct {
		name, want string
		inc        Incident
		ev         Event
	}{
		{"the second click", "decided_before approve slack:U1", second, approve(second, "p1-s1", bob)},
		{"a click after a denial", "decided_before deny slack:U2", denied, approve(denied, "p1-s1", alice)},
		{"a click on another step while one runs", "decide_busy", second, approve(second, "p1-s2", bob)},
		{"the late click", "request_expired", late, approve(late, "p1-s1", alice)},
		{"a click on an old plan", "plan_changed", replanned, old},
		{"a step that does not exist", "decided_step_gone", inc, approve(inc, "p9-s9", alice)},
		{"a restart without confirmation", "unconfirmed", inc, approve(inc, "p1-s2", alice)},
		{"advice", "manual approve", inc, approve(inc, "p1-s3", alice)},
		{"a refused step", "cool-down", inc, approve(inc, "p1-s4", alice)},
		{
			"a click on a closed incident", "decide_closed", inState(t, StateClosed),
			Decided{Decision: Decision{Step: "p1-s1", Verb: Approve}},
		},
		{
			"a word that is no decision", "unknown_verb maybe", inc,
			Decided{Decision: Decision{Step: "p1-s1", Digest: inc.Plan.Digest, Verb: "maybe"}},
		},
		{
			"an undo of what was not done", "not_applied", inc,
			Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := refused(t, tc.inc, tc.ev); !strings.Contains(got, tc.want) {
				t.Errorf("says %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestTwoDifferentPeopleWhereTwoAreNeeded(t *testing.T) {
	t.Parallel()
	s := scaleStep("2", "3")
	s.Needs.Approvals = 2
	inc := deciding(t, s)
	inc = must(t, inc, approve(inc, "p1-s1", alice))
	if inc.State != StateDeciding {
		t.Fatalf("one approval was enough: %s", inc.State)
	}
	if got := refused(t, inc, approve(inc, "p1-s1", alice)); !strings.Contains(got, "approved_twice") {
		t.Errorf("the same person twice: %s", got)
	}
	if inc = must(t, inc, approve(inc, "p1-s1", bob)); inc.State != StateApplying {
		t.Errorf("state %s after two approvals", inc.State)
	}
}

func TestExpiryMeansNo(t *testing.T) {
	t.Parallel()
	inc := must(t, deciding(t, scaleStep("2", "3")), Expired{})
	if inc.State != StateWatching || inc.MuteReason != MutedExpired || inc.Plan.Steps[0].State != StepExpired {
		t.Fatalf("%s %s %s", inc.State, inc.MuteReason, inc.Plan.Steps[0].State)
	}
	same := must(t, inc, found("queueing", scaleStep("2", "3")))
	if same.State != StateWatching {
		t.Error("the same diagnosis was proposed again after a no")
	}
	if other := must(t, inc, found("other", throttleStep())); other.State != StateProposed {
		t.Error("another diagnosis was not proposed")
	}
	healthy := must(t, inc, Investigated{Healthy: True, Diagnosis: inc.Diagnosis})
	if relapse := must(t, healthy, found("queueing", scaleStep("2", "3"))); relapse.State != StateProposed {
		t.Error("a relapse after health was not proposed")
	}
}

func TestAPlanIsReplacedOnlyWhenAStepChanges(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	same := must(t, inc, found("queueing", scaleStep("2", "3")))
	if same.State != StateDeciding || same.Plan.Digest != inc.Plan.Digest || same.Plan.Revision != 1 {
		t.Errorf("an unchanged plan was replaced: %s %s", same.State, same.Plan.Digest)
	}
	changed := must(t, inc, found("queueing", scaleStep("3", "4")))
	if changed.State != StateProposed || changed.Plan.Revision != 2 || changed.Plan.Steps[0].ID != "p2-s1" {
		t.Errorf("a changed plan was not replaced: %s %+v", changed.State, changed.Plan)
	}
	blind := must(t, inc, Investigated{Healthy: Undecided, Note: "Prometheus does not answer"})
	if blind.State != StateDeciding || blind.Plan.Digest != inc.Plan.Digest {
		t.Error("a plan was dropped because nothing could be read")
	}
	if healed := must(t, inc, Investigated{Healthy: True}); healed.State != StateWatching ||
		healed.Plan.Steps[0].State != StepSuperseded {
		t.Error("a plan stayed although it is healthy again")
	}
	if got := refused(t, must(t, inc, approve(inc, "p1-s1", alice)), found("other", throttleStep())); got == "" {
		t.Error("a plan was replaced while a step runs")
	}
}

func TestNothingClosesWhileAMitigationIsActive(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, throttleStep()), verdict(VerdictRecovered))
	if got := refused(t, inc, Closed{By: alice, Reason: "x"}); !strings.Contains(got, "mitigation") {
		t.Errorf("says %q", got)
	}
	inc = must(t, inc, UndoStarted{Step: "p1-s1", By: Actor{Kind: "bot"}, Healthy: time.Minute},
		WriteClaimed{WriteID: "w2"}, Written{Result: ResultApplied}, RolledOut{})
	if inc.State != StateWatching || inc.Plan.Steps[0].State != StepUndone {
		t.Fatalf("%s %s", inc.State, inc.Plan.Steps[0].State)
	}
	must(t, inc, Closed{By: alice, Reason: "x"})
}

func TestWhatDidNotHelpIsOfferedBack(t *testing.T) {
	t.Parallel()
	for _, v := range []Verdict{VerdictWorse, VerdictUnchanged} {
		inc := must(t, verifying(t, scaleStep("2", "3")), verdict(v))
		if inc.State != StateDeciding || inc.UndoOffered != "p1-s1" {
			t.Errorf("%s: %s %q", v, inc.State, inc.UndoOffered)
		}
		byPolicy := verdict(v)
		byPolicy.UndoNow = true
		if inc := must(t, verifying(t, scaleStep("2", "3")), byPolicy); inc.State != StateUndoing {
			t.Errorf("%s with automatic undo: %s", v, inc.State)
		}
	}
	if inc := must(t, verifying(t, scaleStep("2", "3")), verdict(VerdictImproved)); inc.UndoOffered != "" ||
		inc.State != StateDeciding {
		t.Errorf("improved: %s %q", inc.State, inc.UndoOffered)
	}
}

func TestAnUndoThatIsStoppedLeavesTheStepApplied(t *testing.T) {
	t.Parallel()
	inc := must(t, inState(t, StateUndoing), Stopped{Why: Because("paused")})
	if inc.State != StateWatching || inc.Plan.Steps[0].State != StepApplied {
		t.Errorf("%s %s", inc.State, inc.Plan.Steps[0].State)
	}
	drift := must(t, inState(t, StateUndoing), WriteClaimed{WriteID: "w"},
		Written{Result: ResultDrift, Why: Because("somebody changed it")})
	if drift.Plan.Steps[0].State != StepFailed || !strings.Contains(drift.Said.Cause.Text, "somebody") {
		t.Errorf("%+v", drift.Plan.Steps[0])
	}
}

func TestADryRunEndsWithoutAVerdictAndAsksOnce(t *testing.T) {
	t.Parallel()
	inc := New("inc-1", "llama", ModeDryRun, true, now)
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{},
		found("queueing", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	inc = must(t, inc, approve(inc, "p1-s1", alice), WriteClaimed{WriteID: "w"}, Written{Result: ResultDryRun})
	inc = must(t, inc, verdict(VerdictInconclusive))
	if inc.State != StateWatching || inc.MuteReason != MutedDryRun {
		t.Fatalf("%s %s", inc.State, inc.MuteReason)
	}
	if again := must(t, inc, found("queueing", throttleStep())); again.State != StateWatching {
		t.Error("the dry run asked again")
	}
	if got := refused(t, inc, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}}); !strings.Contains(got,
		string(RefusedUndoDryRun)) {
		t.Error(got)
	}
	must(t, inc, Closed{By: alice, Reason: "a dry run leaves nothing"})
}

func TestAbort(t *testing.T) {
	t.Parallel()
	if inc := must(t, inState(t, StateDeciding),
		Aborted{By: alice, Reason: "we do it by hand"}); inc.State != StateWatching || inc.MuteReason != MutedDenied {
		t.Errorf("%s %s", inc.State, inc.MuteReason)
	}
	claimed := must(t, inState(t, StateApplying), WriteClaimed{WriteID: "w"})
	if got := refused(t, claimed, Aborted{By: alice}); !strings.Contains(got, "abort_write") {
		t.Errorf("a claimed write was aborted: %s", got)
	}
	seen := inState(t, StateApplying)
	of := Aborted{By: alice, Step: seen.Active.Step, Since: seen.Active.Since}
	if inc := must(t, seen, of); inc.Plan.Steps[0].State != StepDenied {
		t.Errorf("the step is %s", inc.Plan.Steps[0].State)
	}
	for name, e := range map[string]Aborted{
		"another step": {By: alice, Step: "p1-s9", Since: of.Since},
		"another run":  {By: alice, Step: of.Step, Since: of.Since.Add(-time.Second)},
		"no run":       {By: alice, Step: of.Step},
	} {
		if got := refused(t, seen, e); !strings.Contains(got, "abort_late") {
			t.Errorf("%s was stopped: %s", name, got)
		}
	}
	for name, inc := range map[string]Incident{
		"being written": claimed, "written": inState(t, StateSettling), "asked": inState(t, StateDeciding),
	} {
		if got := refused(t, inc, of); !strings.Contains(got, "abort_late") {
			t.Errorf("%s was stopped: %s", name, got)
		}
	}
	if inc := must(t, inState(t, StateApplying), Aborted{By: alice, Reason: "x"}); inc.Plan.Steps[0].State != StepDenied {
		t.Errorf("the step is %s", inc.Plan.Steps[0].State)
	}
}

func TestAlertsFold(t *testing.T) {
	t.Parallel()
	open := investigating(t)
	resolved := func(start, end, seen time.Duration) Alert {
		a := firing("a")
		a.Firing, a.StartsAt, a.EndsAt, a.SeenAt = false, now.Add(start), now.Add(end), now.Add(seen)
		return a
	}
	at := func(start, seen time.Duration) Alert {
		a := firing("a")
		a.StartsAt, a.SeenAt = now.Add(start), now.Add(seen)
		return a
	}
	for _, tc := range []struct {
		name   string
		alerts []Alert
		firing bool
		start  time.Duration
	}{
		{"a repeat", []Alert{at(-time.Minute, time.Second)}, true, -time.Minute},
		{"a start that moves backwards", []Alert{at(-time.Hour, time.Second)}, true, -time.Hour},
		{"a start that moves forwards is not believed", []Alert{at(time.Second, time.Second)}, true, -time.Minute},
		{"resolved", []Alert{resolved(-time.Minute, 0, time.Second)}, false, -time.Minute},
		{"the end of an earlier episode", []Alert{resolved(-3*time.Minute, -2*time.Minute, time.Second)}, true, -time.Minute},
		{
			"a late firing of a peer after resolved",
			[]Alert{resolved(-time.Minute, 0, time.Second), at(-time.Minute, 15*time.Second)},
			false, -time.Minute,
		},
		{
			"a new episode after resolved",
			[]Alert{resolved(-time.Minute, 0, time.Second), at(10*time.Second, 20*time.Second)},
			true, 10 * time.Second,
		},
		{
			"still firing long after a resolved",
			[]Alert{resolved(-time.Minute, 0, time.Second), at(-time.Minute, time.Hour)},
			true, -time.Minute,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inc := open
			for _, a := range tc.alerts {
				inc = must(t, inc, AlertsReceived{Alerts: []Alert{a}})
			}
			if a := inc.Alerts[0]; len(inc.Alerts) != 1 || a.Firing != tc.firing || !a.StartsAt.Equal(now.Add(tc.start)) {
				t.Errorf("firing %v since %v, want %v since %v", a.Firing, a.StartsAt, tc.firing, now.Add(tc.start))
			}
		})
	}
}

func TestARefireOpensTheSameIncidentForHalfAnHour(t *testing.T) {
	t.Parallel()
	closed := inState(t, StateClosed)
	closed.AckedBy = &Actor{Kind: "slack", ID: "U-ADA"}
	ends := firing("a")
	ends.Firing, ends.EndsAt = false, now
	closed = must(t, closed, AlertsReceived{Alerts: []Alert{ends}})
	if closed.State != StateClosed {
		t.Fatal("a resolved alert opened it")
	}
	again := firing("a")
	again.StartsAt, again.SeenAt = now.Add(time.Minute), now.Add(time.Minute)
	res, err := Apply(closed, AlertsReceived{Alerts: []Alert{again}}, now.Add(ReopenWithin))
	if err != nil || res.Incident.State != StateInvestigating || res.Incident.Reopened != 1 {
		t.Fatalf("%v %+v", err, res.Incident.State)
	}
	if res.Incident.AckedBy != nil {
		t.Errorf("a new episode counts as seen by %s", res.Incident.AckedBy)
	}
	if _, err := Apply(closed, AlertsReceived{Alerts: []Alert{again}}, now.Add(ReopenWithin+1)); err == nil {
		t.Error("opened again after more than half an hour")
	}
}

func TestDigestsBindWhatIsWritten(t *testing.T) {
	t.Parallel()
	base := scaleStep("2", "3")
	for name, change := range map[string]func(*Step){
		"target uid": func(s *Step) { s.Target.UID = "other" }, "field": func(s *Step) { s.Target.Field = "x" },
		"from": func(s *Step) { s.From = Set("1") },
		"to":   func(s *Step) { s.To = Set("4") }, "undo": func(s *Step) { s.Undo = Value{} },
		"absence is not an empty text": func(s *Step) { s.From = Value{Present: true} },
	} {
		s := base
		change(&s)
		if s.ComputeDigest() == base.ComputeDigest() {
			t.Errorf("another %s has the same digest", name)
		}
	}
	why := base
	why.Why, why.Cost = "other words", "other words"
	if why.ComputeDigest() != base.ComputeDigest() {
		t.Error("words change the digest")
	}
}
