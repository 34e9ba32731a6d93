// Package reporttest makes incidents for tests as a life makes them: each event goes through incident.Apply, and the
// journal is what it wrote.
package reporttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The people and the policy of the lives.
var (
	Alice  = incident.Actor{Kind: incident.ActorSlack, ID: "U1"}
	Bob    = incident.Actor{Kind: incident.ActorKubernetes, ID: "bob"}
	Policy = incident.Actor{Kind: incident.ActorPolicy, ID: "auto"}
	bot    = incident.Actor{Kind: incident.ActorBot, ID: "vllm-medic"}
)

// Life is an incident as time goes by. Now is the time of the next event.
type Life struct {
	t        testing.TB
	Incident incident.Incident
	Now      time.Time
}

// Open begins an incident with alerts that fire.
func Open(t testing.TB, id, pool string, mode incident.Mode, at time.Time, alerts ...string) *Life {
	t.Helper()
	l := &Life{t: t, Incident: incident.New(id, pool, mode, mode == incident.ModeDryRun, at), Now: at}
	var list []incident.Alert
	for _, name := range alerts {
		list = append(list, incident.Alert{
			Fingerprint: name, Labels: map[string]string{"alertname": name, "severity": "critical"}, Firing: true,
			StartsAt: at.Add(-time.Minute), SeenAt: at,
		})
	}
	l.Do(incident.AlertsReceived{Alerts: list})
	if pool != "" {
		l.Do(incident.InvestigationStarted{})
	}
	return l
}

// Wait lets time go by.
func (l *Life) Wait(d time.Duration) *Life {
	l.Now = l.Now.Add(d)
	return l
}

// Do applies events now, and keeps what they wrote into the journal as the store does.
func (l *Life) Do(events ...incident.Event) *Life {
	l.t.Helper()
	for _, ev := range events {
		journal := l.Incident.Journal
		res, err := incident.Apply(l.Incident, ev, l.Now)
		if err != nil {
			l.t.Fatalf("%s: %s in state %s: %v", l.Incident.ID, ev.Kind(), l.Incident.State, err)
		}
		l.Incident = res.Incident
		for _, e := range res.Entries {
			e.Seq = int64(len(journal) + 1)
			journal = append(journal, e)
		}
		l.Incident.Journal = journal
	}
	return l
}

// Replicas scales a pool's Deployment out.
func Replicas(pool, from, to string) incident.Step {
	return step(incident.StepReplicas, pool, incident.SettingReplicas, from, to,
		"Scale "+pool+" from "+from+" to "+to+" replicas")
}

// Throttle lowers the limit of a pool's gateway. It is a mitigation.
func Throttle(pool, from, to string) incident.Step {
	s := step(incident.StepThrottle, pool, "maxParallelRequests", from, to, "Throttle "+pool+" from "+from+" to "+to)
	s.RevertAfter = 10 * time.Minute
	return s
}

// Tokens sets max_num_batched_tokens.
func Tokens(pool, from, to string) incident.Step {
	return step(incident.StepMaxNumBatchedTokens, pool, "max-num-batched-tokens", from, to,
		"Set max_num_batched_tokens of "+pool+" from "+from+" to "+to)
}

func step(kind incident.StepKind, pool, setting, from, to, title string) incident.Step {
	s := incident.Step{
		Kind: kind, Title: title, From: incident.Set(from), To: incident.Set(to), Undo: incident.Set(from),
		Target: incident.Target{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: pool, UID: "u-" + pool, Field: setting,
			Setting: setting,
		},
		Guardrails: []incident.Guardrail{{Name: "bounds", Verdict: incident.GuardPass}},
	}
	s.Digest = s.ComputeDigest()
	return s
}

// Find is an investigation that finds a cause, or none, and proposes steps.
func (l *Life) Find(cause string, steps ...incident.Step) *Life {
	l.t.Helper()
	ev := incident.Investigated{Evidence: l.evidence(), Steps: steps, Healthy: incident.False}
	if cause != "" {
		ev.Diagnosis = &incident.Diagnosis{Name: cause, Summary: "Because of " + cause + ".", Healthy: []string{"ttft_p95"}}
	}
	return l.Do(ev)
}

func (l *Life) evidence() incident.Evidence {
	return incident.Evidence{At: l.Now, Readings: map[string]incident.Reading{"ttft_p95": {
		Signal: "ttft_p95", Value: new(7.0), Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, At: l.Now,
	}}}
}

// Ask calls people, who have an hour.
func (l *Life) Ask() *Life {
	l.t.Helper()
	return l.Do(incident.Asked{ExpiresAt: l.Now.Add(time.Hour)})
}

// Approve approves a step of the present plan.
func (l *Life) Approve(step string, by incident.Actor) *Life {
	l.t.Helper()
	return l.decide(incident.Approve, step, by)
}

// Deny denies a step, or with an empty one all that is asked.
func (l *Life) Deny(step string, by incident.Actor) *Life {
	l.t.Helper()
	return l.decide(incident.Deny, step, by)
}

func (l *Life) decide(v incident.Verb, step string, by incident.Actor) *Life {
	l.t.Helper()
	if l.Incident.Plan == nil {
		l.t.Fatalf("%s has no plan", l.Incident.ID)
	}
	return l.Do(incident.Decided{
		Decision: incident.Decision{Step: step, Digest: l.Incident.Plan.Digest, Verb: v, By: by, Confirm: true},
	})
}

// Write writes what waits for it: in a dry run it is only tried out.
func (l *Life) Write() *Life {
	l.t.Helper()
	act := l.Incident.Active
	if act == nil {
		l.t.Fatalf("%s: nothing waits for its write", l.Incident.ID)
	}
	id := fmt.Sprintf("%s.%s.%s", l.Incident.ID, act.Step, act.Op)
	l.Do(incident.WriteClaimed{Step: act.Step, Op: act.Op, WriteID: id})
	if l.Incident.DryRun {
		return l.Do(incident.Written{Result: incident.ResultDryRun})
	}
	return l.Do(incident.Written{Result: incident.ResultApplied}, incident.RolledOut{SettleUntil: l.Now})
}

// Judge ends the verification of a step.
func (l *Life) Judge(v incident.Verdict) *Life {
	l.t.Helper()
	if l.Incident.State == incident.StateSettling {
		l.Do(incident.Settled{})
	}
	return l.Do(incident.Verified{
		Verification: incident.Verification{Verdict: v, At: l.Now}, Final: true, ExpiresAt: l.Now.Add(time.Hour),
	})
}

// Undo has somebody roll a step back. The bot does so when the pool has been healthy for ten minutes.
func (l *Life) Undo(step string, by incident.Actor) *Life {
	l.t.Helper()
	if by.Person() {
		l.Do(incident.Decided{Decision: incident.Decision{Step: step, Verb: incident.Undo, By: by}})
	} else {
		l.Do(incident.UndoStarted{Step: step, By: by, Healthy: 10 * time.Minute})
	}
	return l.Write()
}

// Lift has the bot take a mitigation back.
func (l *Life) Lift(step string) *Life {
	l.t.Helper()
	return l.Undo(step, bot)
}

// Healthy is an investigation that finds the signals within their limits.
func (l *Life) Healthy() *Life {
	l.t.Helper()
	return l.Do(incident.Investigated{Evidence: l.evidence(), Healthy: incident.True})
}

// Close ends the incident, as the bot does after a time of health.
func (l *Life) Close() *Life {
	l.t.Helper()
	return l.Do(incident.Closed{By: bot, Note: incident.Note{Kind: incident.NoteHealthyFor}})
}
