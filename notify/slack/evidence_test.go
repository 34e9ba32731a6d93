package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestASignalHasOneLineOfEvidence(t *testing.T) {
	t.Parallel()
	value := 29.5
	inc := stories(t)["04-deciding"]
	inc.Readings = map[string]incident.Reading{
		"queue": {
			Title: "Time in the queue, p95", Short: "Queue time p95", Unit: incident.UnitSeconds, Value: &value,
			Direction: incident.HigherIsWorse,
		},
		"running": {Title: "Requests running", Unit: incident.UnitCount, Value: &value, Direction: incident.Neutral},
	}
	inc.Diagnosis.Evidence = []incident.Condition{
		{
			Text: "queue > slo.queue_time", Truth: incident.True, Signal: "queue", Label: "Queue time p95", Seen: "29.5 s",
			Relation: incident.RelationAbove, Threshold: "5 s", ThresholdFrom: incident.OriginSLO,
		},
		{
			Text: "running > 0.0", Truth: incident.True, Signal: "running", Label: "Running", Seen: "247",
			Relation: incident.RelationAbove, Threshold: "0",
		},
		{
			Text: "queue > 0.5 * ttft", Truth: incident.True, Signal: "queue", Label: "Queue time p95", Seen: "29.5 s",
			Relation: incident.RelationAbove, Threshold: "19.5 s (50% of TTFT p95)",
		},
		{Text: "queue < 1.0", Truth: incident.False, Signal: "queue", Seen: "29.5 s", Threshold: "1 s"},
		{
			Text: "slo.ttft > 1s", Truth: incident.True, Label: "TTFT target", Seen: "3 s",
			Relation: incident.RelationAbove, Threshold: "1 s",
		},
	}
	got := (&composer{detail: details()[0]}).evidence(inc)
	want := []string{
		"• Queue time p95 *29.5 s*, target 5 s and limit 19.5 s (50% of TTFT p95)",
		"• Running *247*, above 0",
		"• TTFT target *3 s*, above 1 s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestASignalWithoutDataOnBothSidesIsNotCompared(t *testing.T) {
	t.Parallel()
	before, after := 40.0, 0.0
	inc := stories(t)["20-recovered"]
	inc.Diagnosis.Healthy = []string{"queue", "waiting", "lost"}
	v := incident.Verification{
		Before: map[string]incident.Reading{
			"queue": {Title: "Queue"}, "waiting": {Title: "Waiting", Value: &before},
			"lost": {Title: "Lost", Value: &before},
		},
		After: map[string]incident.Reading{
			"queue": {Title: "Queue"}, "waiting": {Title: "Waiting", Value: &after},
			"lost": {Title: "Lost"},
		},
	}
	text := strings.Join((&composer{detail: details()[0]}).beforeAfter(inc, v), "\n")
	if strings.Contains(text, "Queue") || !strings.Contains(text, "Waiting 40 → *0*") ||
		!strings.Contains(text, "Lost 40 → *no data*") {
		t.Errorf("got\n%s", text)
	}
}

func TestAStepThatWasTriedSaysSo(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Plan.Steps[0].Attempt = &incident.Attempt{
		At: time.Date(2026, 3, 1, 3, 12, 0, 0, time.UTC), Verdict: incident.VerdictWorse,
		UndoneBy: &incident.Actor{Kind: "slack", ID: "U0ALICE"},
	}
	if text := string(golden(t, Render(inc, ViewOptions{}))); !strings.Contains(strings.NewReplacer(`\u003c`, "<",
		`\u003e`, ">").Replace(text), "The same change was tried at 03:12 UTC: worse, rolled back by <@U0ALICE>") {
		t.Errorf("the message does not say it:\n%s", text)
	}
}

func TestAdviceForAPersonIsNotCutOff(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	advice := strings.Repeat("look at one pod beside the others, and ", 6) + "plan capacity"
	inc.Plan.Steps = append(inc.Plan.Steps,
		incident.Step{ID: "p1-s9", Kind: incident.StepManual, Title: advice, State: incident.StepProposed})
	if text := string(golden(t, Render(inc, ViewOptions{}))); !strings.Contains(text, advice) {
		t.Errorf("the advice is cut off:\n%s", text)
	}
}

func TestWhatManyPoolsDoNotHaveIsNoGap(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Readings = map[string]incident.Reading{
		"gpu": {Title: "GPU busy", Optional: true}, "queue": {Title: "Queue"},
		"spec": {Title: "Drafts", Optional: true, Error: "timeout"},
	}
	got := strings.Join((&composer{detail: details()[0]}).gaps(inc), "\n")
	if want := "⚠️ No data: Queue\n⚠️ Drafts could not be read: timeout"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatNobodyLookedAtIsOneLine(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Others = []incident.Other{
		{Name: "stalled", Verdict: incident.Undecided, Why: "no data for Prompt tokens"},
		{
			Name: "engine-dead", Verdict: incident.Undecided,
			Why:          "not looked at: recent_crashes, because no Kubernetes is configured",
			NotEvaluated: "no Kubernetes is configured",
		},
		{
			Name: "oom-at-batch-expansion", Verdict: incident.Undecided,
			Why:          "not looked at: recent_gpu_ooms, because no Kubernetes is configured",
			NotEvaluated: "no Kubernetes is configured",
		},
	}
	text := string(golden(t, Render(inc, ViewOptions{})))
	for _, want := range []string{
		"Not checked (no Kubernetes is configured): engine dead, oom at batch expansion",
		"Can't rule out stalled (no data for Prompt tokens)",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the message does not say once: %s\n%s", want, text)
		}
	}
	if strings.Contains(text, "Can't rule out engine-dead") || strings.Contains(text, "recent_crashes") {
		t.Errorf("each is told by itself:\n%s", text)
	}
}
