package slack

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Only what moved, what is out of its limits, and what has no data any more is listed.
func TestBeforeAndAfterListOnlyWhatSaysSomething(t *testing.T) {
	t.Parallel()
	r := func(title string, value, limit float64) incident.Reading {
		return incident.Reading{
			Title: title, Value: new(value), Threshold: new(limit), Direction: incident.HigherIsWorse, Unit: incident.UnitCount,
		}
	}
	before := map[string]incident.Reading{
		"moved": r("Moved", 40, 10), "stayed": r("Stayed", 1, 10), "beyond": r("Beyond", 50, 10), "lost": r("Lost", 4, 10),
		"never": {Title: "Never"},
	}
	after := map[string]incident.Reading{
		"moved": r("Moved", 0, 10), "stayed": r("Stayed", 1, 10), "beyond": r("Beyond", 50, 10), "lost": {Title: "Lost"},
		"never": {Title: "Never"},
	}
	names := []string{"beyond", "lost", "moved", "never", "stayed"}
	_, found := incident.VerdictOf(before, after, names, incident.Undecided)
	v := incident.Verification{Comparison: &found, Before: before, After: after}
	inc := stories(t)["20-recovered"]
	want := "• Moved  40 → *0* (limit 10)\n• Beyond  50 → *50* (limit 10)\n• Lost  4 → *no data*"
	c := &composer{detail: details()[0]}
	if got := strings.Join(c.moves(inc, v, listed), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// What an older version stored has no comparison.
	v.Comparison, inc.Diagnosis.Healthy = nil, names
	if got := strings.Join(c.moves(inc, v, listed), "\n"); got != want {
		t.Errorf("without a comparison:\n%s\nwant\n%s", got, want)
	}
}

// When the incident is over nobody looks for the reason elsewhere: the last message must name it.
func TestASummaryNamesWhyAStepFailed(t *testing.T) {
	t.Parallel()
	mustFollow(t, shownText(Render(stories(t)["42-closed-after-a-failure"], links)), "closed after",
		"*scale 2 → 3* (approved by <@U0ALICE>", "*failed*", "the server does not allow it: forbidden",
		"Closed by <@U0ALICE>: scaled by hand.")
}

// What was applied and rolled back was a change, although nothing of it is left.
func TestASummaryCountsWhatWasRolledBack(t *testing.T) {
	t.Parallel()
	undone := asked(t, incident.ModeApprove).ran("p1-s1", verification(incident.VerdictWorse, troubled()), true)
	undone.do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).do(time.Second,
		incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{})
	inc := undone.do(time.Hour, incident.Closed{By: alice(), Reason: "moved the clients"}).inc
	text := shownText(Render(inc, links))
	mustFollow(t, text, "*throttle 256 → 128* (asked ", "approved by <@U0ALICE>", "live ", "verified ",
		": worse", "Rolled back to 256 by ")
	if strings.Contains(text, "Nothing was changed") || strings.Contains(text, "no change made") ||
		strings.Contains(text, "Still in place") {
		t.Errorf("got\n%s", text)
	}
	text = shownText(Render(stories(t)["41-closed-nothing-done"], links))
	if strings.Count(text, "no change made") != 1 || strings.Contains(text, "Nothing was changed") {
		t.Errorf("said not once:\n%s", text)
	}
}

// A look at what is left after a rollback finds nothing bad. That is not why something was changed.
func TestASummaryNamesWhatTheChangeWasMadeFor(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove).ran("p1-s1", verification(incident.VerdictWorse, troubled()), true)
	s.do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).do(time.Second,
		incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{})
	harmless := &incident.Diagnosis{
		Playbook: "long-outputs", Name: "long_outputs", Summary: "Requests ask for long outputs, which takes time.",
	}
	s.do(time.Minute, incident.Investigated{
		Evidence: evidenceOf(cured()), Diagnosis: harmless, Note: "No action needed: long outputs take long.",
		Healthy: incident.False,
	})
	mustFollow(t, shownText(Render(s.inc, links)), "Requests ask for long outputs") // it is, as long as it is so
	s.do(time.Minute, incident.Investigated{
		Evidence: evidenceOf(cured()), Diagnosis: harmless, Note: "No action needed: long outputs take long.",
		Healthy: incident.True,
	})
	s.do(time.Hour, incident.Closed{By: alice(), Reason: "moved the clients"})
	closed := shownText(Render(s.inc, links))
	mustFollow(t, closed, "*Cause*", ": The KV cache is full", "*throttle 256 → 128* (asked ", ": worse",
		"Rolled back to 256 by ", "/high-ttft.md|Runbook>")
	if strings.Contains(closed, "long output") || strings.Contains(closed, "long-output") {
		t.Errorf("the later diagnosis is named:\n%s", closed)
	}
}

// A change that was made for something else than the incident turned out to be says for what.
func TestASummarySaysWhatEachChangeWasMadeFor(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove).ran("p1-s1", verification(incident.VerdictWorse, troubled()), true)
	s.do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).do(time.Second,
		incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{})
	s.do(time.Minute, incident.Investigated{
		Evidence: evidenceOf(troubled()), Healthy: incident.False,
		Diagnosis: &incident.Diagnosis{Name: "bad_gpu", Summary: "One GPU is slower than the others."},
		Steps:     []incident.Step{{Kind: incident.StepManual, Title: "Drain the node", State: incident.StepProposed}},
	})
	s.do(time.Hour, incident.Closed{By: alice(), Reason: "node drained"})
	mustFollow(t, shownText(Render(s.inc, links)), "*Cause*", ": One GPU is slower than the others.",
		"*throttle 256 → 128* for kv cache full (asked ", ": worse")
}

// A policy has no pods that follow it, and a deployment has no gateway.
func TestWhatIsWaitedForAfterAWriteFitsTheStep(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"p1-s1": "Waiting for the gateway to accept it.", "p1-s3": "New pods load the model first",
	} {
		run := asked(t, incident.ModeApprove).decide(incident.Approve, step).
			do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).do(time.Second,
			incident.Written{Result: incident.ResultApplied})
		text := shownText(Render(run.inc, links))
		mustFollow(t, text, "*No action needed.* Applied (approved by <@U0ALICE>", want, "Roll back to")
		if strings.Contains(text, "2 of 2") {
			t.Errorf("%s looks finished:\n%s", step, text)
		}
	}
}

// A rollback of a scale-out ends pods and starts none.
func TestARollbackOfReplicasIsNotSaidToLoadAModel(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"p1-s1": "Waiting for the gateway to accept it.", "p1-s3": "Waiting for the rollout.",
	} {
		s := asked(t, incident.ModeApprove).ran(step, verification(incident.VerdictWorse, troubled()), true).
			do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).
			do(time.Second, incident.Written{Result: incident.ResultApplied})
		text := shownText(Render(s.inc, links))
		mustFollow(t, text, "*No action needed.* Restored ", want)
		if strings.Contains(text, "load the model") {
			t.Errorf("%s:\n%s", step, text)
		}
	}
}
