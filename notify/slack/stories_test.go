package slack

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// stories are states in which small numbers and short names make a test readable. What people really see is in
// test/messages, from the real catalog.
func stories(t *testing.T) map[string]incident.Incident {
	t.Helper()
	bot := incident.Actor{Kind: "bot", ID: "vllm-medic"}
	alerts := incident.AlertsReceived{Alerts: []incident.Alert{alertOf("vLLMHighTTFT", "critical",
		"P95 time to first token is above 3 s")}}
	out := map[string]incident.Incident{}
	out["04-deciding"] = asked(t, incident.ModeApprove).inc
	out["05-deciding-dry-run"] = asked(t, incident.ModeDryRun).inc
	drill := drilled(t).do(0, incident.Asked{ExpiresAt: start.Add(30 * time.Minute)})
	out["07-deciding-drill"] = drill.inc
	drill.decide(incident.Approve, "p1-s1").do(2*time.Second, incident.WriteClaimed{WriteID: "w-1"}).
		do(time.Second, incident.Written{Result: incident.ResultDryRun})
	out["08-drill-ended"] = drill.do(time.Second, incident.DrillEnded{
		Result: incident.DrillDecided, PostedAt: start.Add(2 * time.Second),
	}).inc
	out["06-deciding-restart"] = asked(t, incident.ModeApprove, batchStep()).inc
	two := scaleStep()
	two.Needs.Approvals = 2
	out["07-deciding-one-of-two"] = asked(t, incident.ModeApprove, two).decide(incident.Approve, "p1-s1").inc
	careful := asked(t, incident.ModeApprove)
	careful.inc.Diagnosis = cautious(diagnosisOf())
	out["09-deciding-cautions"] = careful.inc

	run := asked(t, incident.ModeApprove).decide(incident.Approve, "p1-s3")
	out["10-applying"] = run.inc
	run.do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).do(time.Second,
		incident.Written{Result: incident.ResultApplied})
	out["11-rollout"] = run.inc
	run.do(4*time.Minute, incident.RolledOut{
		Why: incident.Because("3 of 3 pods are ready."), SettleUntil: start.Add(12 * time.Minute),
	})
	out["12-settling"] = run.inc

	out["20-recovered"] = asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictRecovered, cured()),
		false).inc
	undoing := asked(t, incident.ModeApprove).ran("p1-s1", verification(incident.VerdictWorse, troubled()), true)
	out["23-undoing"] = undoing.inc
	undoing.do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).do(time.Second,
		incident.Written{Result: incident.ResultApplied})
	out["24-undone"] = undoing.do(time.Second, incident.RolledOut{}).inc
	out["26-drift"] = asked(t, incident.ModeApprove, scaleStep()).decide(incident.Approve, "p1-s1").
		do(time.Second, incident.WriteClaimed{WriteID: "w-1"}).
		do(time.Second,
			incident.Written{
				Result: incident.ResultFailed,
				Why:    incident.Because("Deployment llm/llama-70b: the server does not allow it: forbidden"),
			}).inc
	tried := asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictUnchanged, troubled()), false)
	tried.inc.Diagnosis = cautious(tried.inc.Diagnosis)
	out["28-undo-offered-cautions"] = tried.inc

	out["30-denied"] = asked(t, incident.ModeApprove, scaleStep()).decide(incident.Deny, "p1-s1").inc
	out["31-expired"] = asked(t, incident.ModeApprove).do(31*time.Minute, incident.Expired{}).inc
	stopped := asked(t, incident.ModeApprove, scaleStep()).decide(incident.Approve, "p1-s1").
		do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()})
	doubt := *stopped
	out["38-stopped-a-write-with-doubt"] = doubt.do(6*time.Minute, incident.Aborted{By: alice()}).inc
	out["35-stopped-in-a-rollout"] = stopped.do(time.Second, incident.Written{Result: incident.ResultApplied}).
		do(time.Minute, incident.Aborted{By: alice(), Reason: "wrong pool"}).inc
	improved := asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictImproved, cured()), false)
	next := *improved
	out["36-denied-after-an-improved"] = next.decide(incident.Deny, "p1-s1").inc
	out["37-expired-after-an-improved"] = improved.do(time.Hour, incident.Expired{}).inc
	out["33-observe"] = proposed(t, incident.ModeObserve, refusedBatchStep(), manualStep()).inc

	out["40-closed"] = asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictRecovered, cured()),
		false).
		do(10*time.Minute,
			incident.Closed{By: bot, Note: incident.Note{Kind: incident.NoteHealthyFor, For: 10 * time.Minute}}).inc
	out["41-closed-nothing-done"] = asked(t, incident.ModeApprove).do(31*time.Minute, incident.Expired{}).
		do(time.Hour, incident.Closed{By: alice(), Reason: "known load test"}).inc
	failed := asked(t, incident.ModeApprove, scaleStep()).decide(incident.Approve, "p1-s1").do(time.Second,
		incident.WriteClaimed{WriteID: "w-1"}).
		do(time.Second,
			incident.Written{
				Result: incident.ResultFailed,
				Why:    incident.Because("Deployment llm/llama-70b: the server does not allow it: forbidden"),
			})
	out["42-closed-after-a-failure"] = failed.do(time.Hour, incident.Closed{By: alice(), Reason: "scaled by hand"}).inc

	none := tell(t, incident.ModeApprove, "").do(0, alerts).do(0,
		incident.Muted{Note: incident.Note{Kind: incident.NoteNoPool, Config: advice}})
	out["50-no-pool"] = none.inc
	return out
}

// drilled is a drill with a plan.
func drilled(t *testing.T) *story {
	t.Helper()
	s := tell(t, incident.ModeDryRun, "llama-70b")
	s.inc.Drill = &incident.Drill{
		Scenario: "queue", Plays: "Requests queue because the pool is at capacity", Expected: "queueing", By: alice(),
	}
	return s.proposed()
}

const advice = `pools:
  - name: llama-70b
    match: {model_name: "llama-70b", namespace: "llm"}
    matchers: {model_name: "llama-70b", namespace: "llm"}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama-70b, container: vllm}`
