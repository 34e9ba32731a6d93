package report_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
)

func TestStepsAreCountedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	judged := func(v incident.Verdict, steps ...incident.Step) func(t *testing.T) *reporttest.Life {
		return func(t *testing.T) *reporttest.Life { t.Helper(); return written(t, steps...).Judge(v) }
	}
	for _, tc := range []struct {
		name   string
		life   func(t *testing.T) *reporttest.Life
		action string
		want   report.Changes
		failed int
	}{
		{"recovered", judged(incident.VerdictRecovered), "Scale", report.Changes{Made: 1, Helped: 1}, 0},
		{
			"improved", judged(incident.VerdictImproved, tokens()), "Lower max_num_batched_tokens",
			report.Changes{Made: 1, Helped: 1},
			0,
		},
		{"unchanged", judged(incident.VerdictUnchanged, throttle()), "Throttle", report.Changes{Made: 1}, 1},
		{"worse", judged(incident.VerdictWorse), "Scale", report.Changes{Made: 1}, 1},
		{"inconclusive proves nothing", judged(incident.VerdictInconclusive), "Scale", report.Changes{Made: 1}, 0},
		{"no verdict yet", func(t *testing.T) *reporttest.Life { return written(t) }, "Scale", report.Changes{Made: 1}, 0},
		{
			"rolled back by a person", func(t *testing.T) *reporttest.Life {
				return written(t).Judge(incident.VerdictWorse).Undo("p1-s1", alice)
			}, "Scale", report.Changes{Made: 1, Undone: 1}, 1,
		},
		{
			"taken back after recovery", func(t *testing.T) *reporttest.Life {
				return written(t, throttle()).Judge(incident.VerdictRecovered).Wait(10 * time.Minute).Lift("p1-s1")
			}, "Throttle", report.Changes{Made: 1, Helped: 1, Lifted: 1}, 0,
		},
		{
			"reverted by somebody else", func(t *testing.T) *reporttest.Life {
				return written(t).Do(incident.Reverted{
					Step: "p1-s1", Reversal: incident.Reversal{Value: incident.Set("2"), By: "argocd-controller"},
				})
			}, "Scale", report.Changes{Made: 1, Reverted: 1}, 0,
		},
		{
			"nobody knows", func(t *testing.T) *reporttest.Life {
				return asked(t).Approve("p1-s1", alice).Do(
					incident.WriteClaimed{Step: "p1-s1", Op: incident.OpApply, WriteID: "w"},
					incident.Written{Result: incident.ResultUnknown})
			}, "Scale", report.Changes{Made: 1, Unsure: 1}, 0,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := of(tc.life(t))
			same(t, "steps", got.Steps, []report.Step{{
				Pool: "llama", Cause: "queueing", Action: tc.action, Changes: tc.want, Failed: tc.failed,
			}})
			same(t, "changes", got.Total.Changes, tc.want)
		})
	}
}

// Two tries that the signals judged say that a step does not help. One does not, and neither do missing verdicts.
func TestOnlyVerdictsSayThatAStepNeverHelped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		verdicts []incident.Verdict
		want     bool
	}{
		{"once", []incident.Verdict{incident.VerdictUnchanged}, false},
		{"twice", []incident.Verdict{incident.VerdictUnchanged, incident.VerdictWorse}, true},
		{"one verdict is missing", []incident.Verdict{incident.VerdictUnchanged, incident.VerdictInconclusive}, false},
		{"it has helped", []incident.Verdict{
			incident.VerdictUnchanged, incident.VerdictUnchanged, incident.VerdictImproved,
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var lives []*reporttest.Life
			for _, v := range tc.verdicts {
				lives = append(lives, written(t).Judge(v))
			}
			if got := of(lives...).Steps; len(got) != 1 || got[0].NeverHelped() != tc.want {
				t.Errorf("never helped: %+v", got)
			}
		})
	}
}

// A plan may change its cause in the middle of an incident. Each step counts for the one that it was proposed for, and
// the incident for the one that was cured.
func TestAStepCountsForItsOwnCause(t *testing.T) {
	t.Parallel()
	l := written(t).Judge(incident.VerdictUnchanged).Wait(time.Minute).Find("kv_thrash", throttle()).Ask()
	l.Approve("p2-s1", alice).Write().Judge(incident.VerdictRecovered)
	got := of(l)
	same(t, "steps", got.Steps, []report.Step{
		{Pool: "llama", Cause: "kv_thrash", Action: "Throttle", Changes: report.Changes{Made: 1, Helped: 1}},
		{Pool: "llama", Cause: "queueing", Action: "Scale", Changes: report.Changes{Made: 1}, Failed: 1},
	})
	if len(got.Causes) != 1 || got.Causes[0].Name != "kv_thrash" {
		t.Errorf("causes: %+v", got.Causes)
	}
}

// What is found after a rollback, once the trouble has passed, is not what the incident was about.
func TestAnIncidentCountsForWhatItsChangeWasMadeFor(t *testing.T) {
	t.Parallel()
	l := written(t).Judge(incident.VerdictUnchanged).Wait(time.Minute).Find("long_outputs")
	for _, stored := range []string{"now", "by an older version"} {
		if stored != "now" {
			l.Incident.History[0].Cause = incident.Cause{}
		}
		if got := of(l); len(got.Causes) != 1 || got.Causes[0].Name != "queueing" {
			t.Errorf("stored %s, causes: %+v", stored, got.Causes)
		}
	}
}

func TestApprovedStepsThatWereNotWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  incident.Event
		want report.StopWhy
	}{
		{"a pause", stopped(incident.ReasonPaused), report.StopPaused},
		{"a lock", stopped(incident.ReasonLocked), report.StopLocked},
		{"another diagnosis", stopped(incident.ReasonDiagnosis), report.StopDiagnosis},
		{"another plan", stopped(incident.ReasonOtherChange), report.StopPlan},
		{"too few approvals", stopped(incident.ReasonApprovers), report.StopApproval},
		{"an unread object", stopped(incident.ReasonObjectUnread), report.StopUnread},
		{"a guardrail", stopped(incident.ReasonText), report.StopRefused},
		{"drift", incident.Written{
			Result: incident.ResultDrift, Why: incident.Reason{Kind: incident.ReasonDrift},
		}, report.StopDrift},
		{"the API server", incident.Written{
			Result: incident.ResultFailed, Why: incident.Because("forbidden"),
		}, report.StopRefused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := asked(t).Approve("p1-s1", alice)
			if _, is := tc.end.(incident.Written); is {
				l.Do(incident.WriteClaimed{Step: "p1-s1", Op: incident.OpApply, WriteID: "w"})
			}
			got := of(l.Do(tc.end))
			same(t, "not written", got.Stopped, []report.Stopped{
				{Pool: "llama", Cause: "queueing", Action: "Scale", Why: tc.want, Count: 1},
			})
			same(t, "changes", got.Total.Changes, report.Changes{})
		})
	}
}

func stopped(why incident.ReasonKind) incident.Event {
	return incident.Stopped{Step: "p1-s1", Op: incident.OpApply, Why: incident.Reason{Kind: why, Text: "x"}}
}

func TestDryRunsAreCountedApart(t *testing.T) {
	t.Parallel()
	dry := func() *reporttest.Life {
		return reporttest.Open(t, "inc", "llama", incident.ModeDryRun, day.Add(time.Hour), "vLLMHighTTFT")
	}
	got := of(
		dry().Find("queueing", scale()).Ask().Approve("p1-s1", alice).Write().Judge(incident.VerdictInconclusive).
			Wait(time.Hour).Healthy().Close(),
		dry().Find("queueing", scale()).Ask().Wait(time.Hour).Do(incident.Expired{}),
		dry().Find("engine_dead").Wait(time.Hour).Healthy().Close(),
	)
	same(t, "dry runs", got.DryRuns, []report.DryRun{
		{
			Pool: "llama", Cause: "queueing", Action: "Scale", Incidents: 2, Passed: 1, ByItself: report.Share{N: 1, Of: 1},
		},
		{Pool: "llama", Cause: "engine_dead", Incidents: 1, ByItself: report.Share{N: 1, Of: 1}},
	})
	if got.Total.Incidents != 0 || len(got.Steps) != 0 || got.Total.Approvals.Requests != 0 {
		t.Errorf("dry runs count elsewhere: %+v", got.Total)
	}
	if len(got.Rules) != 1 || got.Rules[0].Incidents != 3 {
		t.Errorf("a rule doesn't know what a dry run is: %+v", got.Rules)
	}
}
