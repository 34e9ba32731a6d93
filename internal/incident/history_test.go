package incident

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// eachMinute applies events, each a minute after the one before, and fails on a refusal.
func eachMinute(t *testing.T, inc Incident, from time.Duration, events ...Event) Incident {
	t.Helper()
	for _, ev := range events {
		inc = after(t, inc, from, ev).Incident
		from += time.Minute
	}
	return inc
}

func TestTheHistoryHasWhatWasAppliedAndUndone(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	check := Comparison{Finding: FoundUnchanged}
	undo := Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: bob}}
	inc = eachMinute(t, inc, time.Minute,
		approve(inc, "p1-s1", alice), WriteClaimed{WriteID: "w1"}, Written{Result: ResultApplied},
		RolledOut{SettleUntil: now}, Settled{},
		Verified{
			Verification: Verification{Verdict: VerdictUnchanged, Comparison: &check, At: now.Add(6 * time.Minute)}, Final: true,
			ExpiresAt: now.Add(time.Hour),
		},
		undo, WriteClaimed{WriteID: "w2"}, Written{Result: ResultApplied}, RolledOut{},
	)
	want := []Made{{
		Step: "p1-s1", Kind: StepReplicas, Title: "Scale 2 to 3", Target: scaleStep("2", "3").Target, From: Set("2"),
		To: Set("3"), Undo: Set("2"), By: []Actor{alice}, State: StepUndone,
		Cause:   Cause{Name: "queueing", Summary: "because of queueing"},
		AskedAt: now, DecidedAt: now.Add(time.Minute), AppliedAt: now.Add(3 * time.Minute), LiveAt: now.Add(4 * time.Minute),
		VerifiedAt: now.Add(6 * time.Minute), Verdict: VerdictUnchanged, Check: &check,
		UndoneAt: now.Add(10 * time.Minute), UndoneBy: &bob,
	}}
	if d := cmp.Diff(want, inc.History); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !inc.DiagnosedAt.Equal(now) {
		t.Errorf("diagnosed at %v", inc.DiagnosedAt)
	}
	// A new plan, and the end, change nothing about it.
	inc = eachMinute(t, inc, 20*time.Minute, found("memory", throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	inc = eachMinute(t, inc, 21*time.Minute, Aborted{By: bob}, Closed{By: bob})
	if d := cmp.Diff(want, inc.History); d != "" {
		t.Errorf("after another plan and the end: -want +got:\n%s", d)
	}
	if !inc.DiagnosedAt.Equal(now) {
		t.Errorf("diagnosed at %v after another diagnosis", inc.DiagnosedAt)
	}
	raw, err := json.Marshal(inc)
	var back Incident
	if err != nil || json.Unmarshal(raw, &back) != nil {
		t.Fatal(err)
	}
	want[0].Target.Setting = "replicas" // read out of the path
	if d := cmp.Diff(want, back.History); d != "" {
		t.Errorf("as JSON: -want +got:\n%s", d)
	}
}

func TestTheHistoryAcrossPlans(t *testing.T) {
	t.Parallel()
	inc := must(t, verifying(t, scaleStep("2", "3"), throttleStep()), verdict(VerdictImproved))
	inc = must(t, inc, found("queueing", scaleStep("3", "4"), throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)})
	inc = must(t, inc, approve(inc, "p2-s2", bob), WriteClaimed{WriteID: "w2"}, Written{Result: ResultApplied})
	var got []string
	for _, m := range inc.History {
		got = append(got, m.Step+" "+m.Title+" "+m.By[0].ID+" "+string(m.State)+" "+string(m.Verdict))
	}
	want := []string{"p1-s1 Scale 2 to 3 U1 applied improved", "p2-s2 Throttle U2 applied "}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Nothing that was not written is in the history, and what may have been is.
func TestTheHistoryHasOnlyWhatMayHaveBeenWritten(t *testing.T) {
	t.Parallel()
	claimed := must(t, applying(t, scaleStep("2", "3")), WriteClaimed{WriteID: "w1"})
	dry := deciding(t, scaleStep("2", "3"))
	dry.DryRun = true
	dry = must(t, dry, approve(dry, "p1-s1", alice), WriteClaimed{WriteID: "w1"}, Written{Result: ResultDryRun})
	reverted := Reverted{Step: "p1-s1", Reversal: Reversal{Value: Set("2"), By: "argocd-controller"}}
	for name, tc := range map[string]struct {
		inc  Incident
		want []Made
	}{
		"proposed": {deciding(t, scaleStep("2", "3")), nil},
		"approved": {applying(t, scaleStep("2", "3")), nil},
		"refused by the API server": {
			must(t, claimed, Written{Result: ResultFailed, Why: Because("forbidden"), ExpiresAt: now}), nil,
		},
		"drift": {must(t, claimed, Written{Result: ResultDrift, Why: Because("changed"), ExpiresAt: now}), nil},
		"nobody knows": {
			must(t, claimed, Written{Result: ResultUnknown, Why: Because("?")}), []Made{{State: StepFailed, Unsure: true}},
		},
		"a dry run":           {dry, []Made{{State: StepApplied, DryRun: true}}},
		"changed by somebody": {must(t, claimed, reverted), []Made{{State: StepReverted}}},
		"aborted in the write": {
			after(t, claimed, time.Hour, Aborted{By: alice}).Incident, []Made{{State: StepApplied, Unsure: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Made
			for _, m := range tc.inc.History {
				got = append(got, Made{State: m.State, DryRun: m.DryRun, Unsure: m.Unsure})
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// What an older version has applied gets into the history with what is known of it.
func TestTheHistoryOfAnOlderIncident(t *testing.T) {
	t.Parallel()
	inc := verifying(t, scaleStep("2", "3"))
	inc.History = nil
	inc.Plan.Steps[0].AskedAt, inc.Plan.Steps[0].LiveAt = time.Time{}, time.Time{}
	inc = must(t, inc, Acked{By: bob})
	if len(inc.History) != 1 || !slices.Equal(inc.History[0].By, []Actor{alice}) || !inc.History[0].DecidedAt.Equal(now) {
		t.Errorf("%+v", inc.History)
	}
}

// What an incident was about is why it was changed, not what a later look found of what was left over.
func TestTheCauseOfAnIncident(t *testing.T) {
	t.Parallel()
	scaled := func(v Verdict) Incident {
		inc := must(t, verifying(t, scaleStep("2", "3")), verdict(v))
		if v == VerdictRecovered || inc.State != StateDeciding || inc.UndoOffered == "" {
			return inc
		}
		return eachMinute(t, inc, 20*time.Minute,
			Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: bob}}, WriteClaimed{WriteID: "w2"},
			Written{Result: ResultApplied}, RolledOut{})
	}
	manual := Step{Kind: StepManual, Title: "Replace the node"}
	quiet := found("busy")
	quiet.Note = "No action needed: the load is what it is every day."
	nothing := found("busy")
	nothing.Diagnosis = nil
	for name, c := range map[string]struct {
		inc  Incident
		want string
	}{
		"nothing was changed":               {must(t, investigating(t), found("busy", manual)), "busy"},
		"nothing was found":                 {must(t, investigating(t), nothing), ""},
		"it was cured":                      {scaled(VerdictRecovered), "queueing"},
		"rolled back, then nothing to do":   {must(t, scaled(VerdictWorse), quiet), "queueing"},
		"rolled back, then no diagnosis":    {must(t, scaled(VerdictWorse), nothing), "queueing"},
		"rolled back, then another finding": {must(t, scaled(VerdictUnchanged), found("memory", manual)), "memory"},
		"better, then another finding":      {must(t, scaled(VerdictImproved), found("memory", manual)), "queueing"},
	} {
		if got := c.inc.Cause(); got.Name != c.want {
			t.Errorf("%s: the cause is %q, want %q", name, got.Name, c.want)
		}
	}
	cause := must(t, scaled(VerdictWorse), quiet).Cause()
	if want := (Cause{Name: "queueing", Summary: "because of queueing"}); cause != want {
		t.Errorf("the cause is %+v", cause)
	}
	dry := must(t, scaled(VerdictWorse), quiet)
	dry.History[0].DryRun = true
	if got := dry.Cause().Name; got != "busy" {
		t.Errorf("after a dry run alone the cause is %q", got)
	}
}
