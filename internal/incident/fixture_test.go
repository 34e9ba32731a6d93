package incident

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	now   = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	alice = Actor{Kind: "slack", ID: "U1"}
	bob   = Actor{Kind: "slack", ID: "U2"}
)

//go:fix inline
func num(v float64) *float64 { return new(v) }

func firing(fp string) Alert {
	return Alert{
		Fingerprint: fp, Labels: map[string]string{"alertname": "vLLMHighTTFT", "severity": "critical"},
		Firing: true, StartsAt: now.Add(-time.Minute), SeenAt: now,
	}
}

func scaleStep(from, to string) Step {
	s := Step{
		Kind: StepReplicas, Title: "Scale " + from + " to " + to,
		Target: Target{Kind: "Deployment", Namespace: "llm", Name: "m", UID: "u", Field: "spec.replicas"},
		From:   Set(from), To: Set(to), Undo: Set(from), State: StepProposed,
		Guardrails: []Guardrail{{Name: "bounds", Verdict: GuardPass}},
	}
	s.Digest = s.ComputeDigest()
	return s
}

func throttleStep() Step {
	s := scaleStep("184", "129")
	s.Kind, s.RevertAfter, s.Title = StepThrottle, time.Minute, "Throttle"
	s.Digest = s.ComputeDigest()
	return s
}

func found(name string, steps ...Step) Investigated {
	return Investigated{
		Evidence: Evidence{
			At: now,
			Readings: map[string]Reading{"ttft_p95": {
				Signal: "ttft_p95", Value: num(7), Unit: UnitSeconds,
				Direction: HigherIsWorse,
			}},
		},
		Diagnosis: &Diagnosis{Name: name, Summary: "because of " + name, Healthy: []string{"ttft_p95"}}, Steps: steps,
		Healthy: False,
	}
}

// missed is an incident whose question the last looks have not borne out: the next one that doesn't replaces it.
func missed(inc Incident) Incident {
	inc = inc.Clone()
	inc.Plan.Missed = looksToReplace - 1
	return inc
}

// must applies events one after the other and fails on a refusal.
func must(t *testing.T, inc Incident, events ...Event) Incident {
	t.Helper()
	for _, ev := range events {
		res, err := Apply(inc, ofActive(inc, ev), now)
		if err != nil {
			t.Fatalf("%s in state %s: %v", ev.Kind(), inc.State, err)
		}
		inc = res.Incident
	}
	return inc
}

// ofActive names the active step in an event that names none, as the engine does when nobody came in between.
func ofActive(inc Incident, ev Event) Event {
	if inc.Active == nil {
		return ev
	}
	switch e := ev.(type) {
	case WriteClaimed:
		if e.Step == "" {
			e.Step, e.Op = inc.Active.Step, inc.Active.Op
		}
		return e
	case Stopped:
		if e.Step == "" {
			e.Step, e.Op = inc.Active.Step, inc.Active.Op
		}
		return e
	default:
		return ev
	}
}

// refused applies an event that must be refused, and returns the facts of which present makes the sentence.
func refused(t *testing.T, inc Incident, ev Event) string {
	t.Helper()
	_, err := Apply(inc, ev, now)
	var r *RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("%s in state %s was not refused: %v", ev.Kind(), inc.State, err)
	}
	return strings.TrimSpace(fmt.Sprintln(r.Said.Kind, r.Said.Verb, r.Said.By, r.Said.Why, r.Said.Cause.Text, r.Said.Step))
}

func received() Incident { return New("inc-1", "llama", ModeApprove, false, now) }

func investigating(t *testing.T) Incident {
	return must(t, received(), AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{})
}

func deciding(t *testing.T, steps ...Step) Incident {
	return must(t, investigating(t), found("queueing", steps...), Asked{ExpiresAt: now.Add(time.Hour)})
}

func approve(inc Incident, step string, by Actor) Decided {
	return Decided{Decision: Decision{Step: step, Digest: inc.Plan.Digest, Verb: Approve, By: by}}
}

func applying(t *testing.T, steps ...Step) Incident {
	inc := deciding(t, steps...)
	return must(t, inc, approve(inc, "p1-s1", alice))
}

func applied(t *testing.T, steps ...Step) Incident {
	return must(t, applying(t, steps...), WriteClaimed{WriteID: "w1", Before: found("x").Evidence.Readings},
		Written{Result: ResultApplied})
}

func verifying(t *testing.T, steps ...Step) Incident {
	return must(t, applied(t, steps...), RolledOut{SettleUntil: now}, Settled{})
}

func verdict(v Verdict) Verified {
	return Verified{Verification: Verification{Verdict: v, At: now}, Final: true, ExpiresAt: now.Add(time.Hour)}
}

// inState returns an incident in each state, as a life brings it there.
func inState(t *testing.T, s State) Incident {
	t.Helper()
	inc := map[State]func() Incident{
		StateReceived: received, StateInvestigating: func() Incident { return investigating(t) },
		StateProposed:  func() Incident { return must(t, investigating(t), found("queueing", scaleStep("2", "3"))) },
		StateDeciding:  func() Incident { return deciding(t, scaleStep("2", "3")) },
		StateApplying:  func() Incident { return applying(t, scaleStep("2", "3")) },
		StateSettling:  func() Incident { return applied(t, scaleStep("2", "3")) },
		StateVerifying: func() Incident { return verifying(t, scaleStep("2", "3")) },
		StateUndoing: func() Incident {
			return must(t, verifying(t, scaleStep("2", "3")), UndoStarted{Step: "p1-s1", By: alice})
		},
		StateWatching: func() Incident { return must(t, investigating(t), Muted{Note: Text("x")}) },
		StateClosed: func() Incident {
			return must(t, investigating(t), Muted{Note: Text("x")}, Closed{By: alice, Reason: "y"})
		},
	}[s]()
	if inc.State != s {
		t.Fatalf("made an incident in state %s, want %s", inc.State, s)
	}
	return inc
}

// samples are events of each kind, with odd ones among them.
func samples() []Event {
	late := firing("a")
	late.Firing, late.EndsAt = false, now
	return []Event{
		Narrowed{},
		Narrowed{Step: "p1-s1", To: Set("3")},
		AlertsReceived{},
		AlertsReceived{Alerts: []Alert{firing("a"), firing("b"), late}},
		AlertsReceived{Alerts: []Alert{late}},
		Gathered{},
		InvestigationStarted{},
		Investigated{},
		found("queueing", scaleStep("2", "3")), found("other", throttleStep()), found("queueing"),
		Investigated{Healthy: True},
		Asked{},
		Muted{},
		Decided{},
		Decided{Decision: Decision{Step: "p1-s1", Verb: Undo}},
		Decided{Decision: Decision{Step: "p1-s1", Verb: "maybe"}},
		Decided{Decision: Decision{Verb: Deny}},
		Decided{Decision: Decision{Step: "p1-s1", Verb: Keep}},
		AskedAgain{},
		AskedAgain{By: alice},
		Reminded{},
		Escalated{},
		Escalated{After: time.Minute, Groups: []string{"S2"}},
		Expired{},
		Stopped{Why: Because("x")},
		Stopped{Step: "p1-s1", Op: OpApply, Why: Because("x")},
		Stopped{Step: "p1-s1", Op: OpUndo, Why: Because("x")},
		WriteClaimed{WriteID: "w"},
		WriteClaimed{Step: "p1-s1", Op: OpApply, WriteID: "w"},
		WriteClaimed{Step: "p1-s1", Op: OpUndo, WriteID: "w"},
		Unanswered{Error: "503"},
		Reverted{},
		Reverted{Step: "p1-s1", Reversal: Reversal{Value: Set("2"), By: "argocd-controller"}},
		Written{},
		Written{Result: ResultApplied},
		Written{Result: ResultDrift},
		Written{Result: ResultFailed},
		Written{Result: ResultDryRun},
		RolledOut{},
		RolledOut{Failed: true},
		Settled{},
		Verified{},
		verdict(VerdictWorse), verdict(VerdictRecovered), verdict(VerdictImproved),
		UndoStarted{},
		UndoStarted{Step: "p1-s1"},
		Aborted{},
		Acked{},
		Noted{},
		Noted{Note: Text("waiting")},
		Noted{Note: Text("waiting"), Silent: true},
		SetBack{},
		SetBack{How: SetbackPanic, RetryAt: now},
		Written{Result: ResultUnknown},
		Rerouted{},
		Rerouted{Fingerprints: []string{"a"}, Pool: "llama"},
		Closed{},
		DrillStarted{},
		DrillSeen{By: alice},
		DrillEnded{Result: DrillInterrupted},
	}
}
