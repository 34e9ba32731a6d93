package present

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

var (
	began = time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)
	ada   = incident.Actor{Kind: "kubernetes", ID: "ada"}
)

// asked is an incident in which one step waits for an answer until 03:40.
func asked() incident.Incident {
	inc := incident.New("inc-1", "llama-70b", incident.ModeApprove, false, began)
	inc.State, inc.ReadAt = incident.StateDeciding, began.Add(time.Minute)
	inc.Alerts = []incident.Alert{{
		Firing: true, Labels: map[string]string{"alertname": "HighTTFT", "severity": "critical"},
	}}
	inc.Readings = map[string]incident.Reading{"ttft": {
		Short: "TTFT p95", Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Value: new(7.2),
		Threshold: new(2.0), ThresholdFrom: incident.OriginSLO,
	}}
	inc.Diagnosis = &incident.Diagnosis{Name: "queueing", Summary: "Requests wait."}
	inc.Plan = &incident.Plan{Digest: "d1", ExpiresAt: began.Add(30 * time.Minute), Steps: []incident.Step{{
		ID: "p1-s1", Kind: incident.StepReplicas, Title: "Scale llama-70b from 2 to 3 replicas", State: incident.StepProposed,
		From: incident.Set("2"), To: incident.Set("3"), Undo: incident.Set("2"), Needs: incident.Needs{Approvals: 1},
		Target: incident.Target{Setting: incident.SettingReplicas},
	}}}
	return inc
}

// run is the same with its step approved by ada and in a state.
func run(state incident.State, step incident.StepState) incident.Incident {
	inc := asked()
	inc.State = state
	inc.Decisions = []incident.Decision{{Step: "p1-s1", Digest: "d1", Verb: incident.Approve, By: ada, At: began}}
	s := &inc.Plan.Steps[0]
	s.State, s.AppliedAt = step, began
	inc.Active = &incident.Active{Step: "p1-s1", Op: incident.OpApply}
	return inc
}

func TestAnIncidentSaysWhatItIsAt(t *testing.T) {
	t.Parallel()
	with := func(inc incident.Incident, change func(*incident.Incident)) incident.Incident {
		change(&inc)
		return inc
	}
	for name, c := range map[string]struct {
		inc                            incident.Incident
		state, headline, status, asked string
	}{
		"received": {
			with(asked(), func(i *incident.Incident) { i.State = incident.StateReceived }), "received",
			"llama-70b: TTFT p95 7.2 s (target 2 s)", "Received. Waiting briefly for related alerts before investigating.", "",
		},
		"asked": {
			asked(), "needs approval", "llama-70b: TTFT p95 7.2 s (target 2 s)", "",
			"Approve by 03:40 UTC. If no one responds, nothing changes.",
		},
		"asked in a dry run": {
			with(asked(), func(i *incident.Incident) { i.DryRun = true }), "dry run: needs an answer",
			"llama-70b: TTFT p95 7.2 s (target 2 s)", "",
			"Answer by 03:40 UTC. Nothing will change.",
		},
		"nothing to approve": {
			with(asked(), func(i *incident.Incident) { i.Plan.Steps = nil }), "needs a human",
			"llama-70b: TTFT p95 7.2 s (target 2 s)", "",
			"Needs a human decision. If no one responds by 03:40 UTC, it stays as is.",
		},
		"rollback offered": {
			with(run(incident.StateDeciding, incident.StepApplied), func(i *incident.Incident) { i.UndoOffered = "p1-s1" }),
			"rollback offered", "llama-70b: scale 2 → 3 didn't help", "",
			"If no one responds by 03:40 UTC, it stays at 3.",
		},
		"rolling out": {
			with(run(incident.StateSettling, incident.StepApplied), func(i *incident.Incident) {
				i.Active.Phase = incident.PhaseRollout
			}), "rolling out", "llama-70b: rolling out scale 2 → 3",
			"No action needed. Applied (approved by ada, 03:10 UTC). New pods load the model first, which takes minutes.", "",
		},
		"settling": {
			with(run(incident.StateSettling, incident.StepApplied), func(i *incident.Incident) {
				i.Active.Phase, i.Active.SettleUntil = incident.PhaseSettle, began.Add(12*time.Minute)
			}), "waiting for metrics", "llama-70b: scale 2 → 3 is live",
			"No action needed. Live (approved by ada, 03:10 UTC). Metrics catching up; first check at 03:22 UTC.", "",
		},
		"recovered": {
			with(run(incident.StateWatching, incident.StepApplied), func(i *incident.Incident) {
				i.Alerts, i.HealthySince = nil, began.Add(20*time.Minute)
			}), "recovered", "llama-70b: recovered after scale 2 → 3",
			"No action needed. Closes if it stays healthy. Healthy since 03:30 UTC.", "",
		},
		"failed": {
			with(run(incident.StateWatching, incident.StepFailed), func(i *incident.Incident) {
				i.Plan.Steps[0].Reason = "forbidden"
			}), "needs a human", "llama-70b: couldn't scale 2 → 3", "Needs a human. Forbidden.", "",
		},
		"denied": {
			with(asked(), func(i *incident.Incident) {
				i.State, i.MuteReason = incident.StateWatching, incident.MutedDenied
				i.Decisions = []incident.Decision{{Digest: "d1", Verb: incident.Deny, By: ada, At: began}}
			}), "denied", "llama-70b: TTFT p95 7.2 s (target 2 s)",
			"Denied by ada, 03:10 UTC. Nothing was changed. No further proposals unless the diagnosis changes.", "",
		},
		"nothing could be read": {
			with(asked(), func(i *incident.Incident) {
				i.State, i.Diagnosis, i.Plan, i.Readings = incident.StateWatching, nil, nil, nil
			}), "monitoring", "llama-70b: HighTTFT firing, no diagnosis",
			"Still checking. Nothing is proposed meanwhile.", "",
		},
		"a bad reading without a cause": {
			with(asked(), func(i *incident.Incident) {
				i.State, i.Diagnosis, i.Plan = incident.StateWatching, nil, nil
			}), "monitoring", "llama-70b: TTFT p95 7.2 s (target 2 s)", "No diagnosis. Still checking.", "",
		},
		"no pool": {
			with(asked(), func(i *incident.Incident) { i.Pool, i.State = "", incident.StateWatching }), "not investigated",
			"HighTTFT: no pool configured", "Not investigating.", "",
		},
		"closed": {
			with(asked(), func(i *incident.Incident) {
				i.State, i.ClosedAt = incident.StateClosed, began.Add(time.Hour)
			}), "closed", "llama-70b: closed after 1 h, no change made", "", "",
		},
	} {
		got := []string{State(c.inc), Headline(c.inc), Plain(Status(c.inc)), Plain(Asked(c.inc))}
		if want := []string{c.state, c.headline, c.status, c.asked}; !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
		for _, text := range got {
			voice.Check(t, name, voice.Message(text))
		}
	}
}

// The words of a state are never the domain's own name for it where that would say nothing to whoever is on call.
func TestEveryStateHasWords(t *testing.T) {
	t.Parallel()
	for _, s := range incident.States() {
		inc := asked()
		inc.State = s
		if got := State(inc); got == "" || slices.Contains([]string{"deciding", "settling", "watching", "proposed"}, got) {
			t.Errorf("%s is called %q", s, got)
		}
	}
}

func TestAStepSaysWhereItIs(t *testing.T) {
	t.Parallel()
	refused := asked().Plan.Steps[0]
	refused.Guardrails = []incident.Guardrail{{Name: "bounds", Verdict: incident.GuardRefuse, Reason: "too many"}}
	half := asked().Plan.Steps[0]
	half.Needs.Approvals, half.Approvals = 2, []incident.Actor{ada}
	for want, s := range map[string]incident.Step{
		"proposed": asked().Plan.Steps[0], "blocked": refused, "partly approved": half,
		"manual":      {Kind: incident.StepManual, State: incident.StepProposed},
		"rolled back": {State: incident.StepUndone}, "no longer needed": {State: incident.StepSuperseded},
	} {
		if got := StepState(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTextsAreCutAndEndedOnce(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Ended("it is so"): "It is so.", Ended("It is."): "It is.", Ended(""): "",
		Clip("one two three", 8):   "one two…",
		Line(" a\u202e\n\tb\x00 "): "a\ufffd b\ufffd", Lower(""): "", Lower("Scale"): "scale",
		Cause("First. Second."): "First.", Cause("Only v0.9 is."): "Only v0.9 is.",
		Counted(1, "alert"): "1 alert", Counted(2, "alert"): "2 alerts",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Metrics that are healthy again don't remove what made an engine crash; what was found before the recovery may.
func TestACauseThatOutlivesItsSymptomsNeedsAHuman(t *testing.T) {
	t.Parallel()
	healthy := func(change func(*incident.Incident)) incident.Incident {
		inc := asked()
		inc.State, inc.HealthySince = incident.StateWatching, began.Add(time.Minute)
		inc.Plan.CreatedAt = inc.HealthySince
		inc.Plan.Steps[0].Kind = incident.StepManual
		if change != nil {
			change(&inc)
		}
		return inc
	}
	for name, c := range map[string]struct {
		inc  incident.Incident
		want bool
	}{
		"found while healthy": {healthy(nil), true},
		"found before": {
			healthy(func(i *incident.Incident) { i.Plan.CreatedAt = began }), false,
		},
		"still bad": {healthy(func(i *incident.Incident) { i.HealthySince = time.Time{} }), false},
		"closed":    {healthy(func(i *incident.Incident) { i.State = incident.StateClosed }), false},
		"nothing to do": {
			healthy(func(i *incident.Incident) { i.Plan.Steps = nil }), false,
		},
		"changed": {healthy(func(i *incident.Incident) {
			i.History = []incident.Made{{Step: "p0-s1", State: incident.StepApplied}}
		}), false},
		"no diagnosis": {healthy(func(i *incident.Incident) { i.Diagnosis = nil }), false},
	} {
		if got := FollowUp(c.inc); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if asks := Asking(c.inc) == "Needs a human."; asks != c.want {
			t.Errorf("%s: the notification asks %q", name, Asking(c.inc))
		}
		if needs := State(c.inc) == "needs a human"; needs != c.want && !c.inc.HealthySince.IsZero() {
			t.Errorf("%s: its state is %q", name, State(c.inc))
		}
	}
}
