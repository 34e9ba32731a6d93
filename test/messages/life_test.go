package messages

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

var (
	bob    = incident.Actor{Kind: "slack", ID: "U0BOB"}
	itself = incident.Actor{Kind: "bot", ID: "vllm-medic"}
)

// rare are the states that look alike for all diagnoses, for the one with the most steps.
func rare(t *testing.T, l *lab, f found) []shown {
	t.Helper()
	const scaling = incident.StepReplicas
	var out []shown
	add := func(state string, s *story) { out = append(out, shown{f.diagnosis, state, s.inc}) }
	begun := func(f found) *story { return begin(t, f, incident.ModeApprove).investigated() }

	two := strict(f)
	add("two approvals needed", begun(two))
	s := begun(two)
	add("one of two approvals", s.decide(incident.Approve, s.step(scaling)))
	add("asked again", begun(f).do(patience+time.Minute, incident.Expired{}).do(time.Minute, incident.AskedAgain{By: bob}))
	s = begun(f)
	add("snoozed", s.do(time.Minute, incident.Decided{Decision: incident.Decision{
		Digest: s.inc.Plan.Digest, Verb: incident.Deny, By: alice, Reason: "load test until 12:00", Snooze: 4 * time.Hour,
	}}))

	add("stopped in a rollout", begun(f).applied(scaling).
		do(time.Minute, incident.Aborted{By: alice, Reason: "wrong pool"}))
	s = begun(f)
	add("stopped with an unknown write", s.decide(incident.Approve, s.step(scaling)).
		do(2*time.Second, incident.WriteClaimed{}).do(6*time.Minute, incident.Aborted{By: alice}))
	s = begun(f).applied(scaling)
	back := incident.Reversal{
		Value: incident.Set("2"), By: "argocd-controller", At: s.now.Add(50 * time.Second), Hint: "change it in Git",
	}
	add("reverted by someone else", s.do(time.Minute, incident.Reverted{Step: s.inc.Active.Step, Reversal: back}))
	add("closed after a reversal", s.closed("changed in Git"))

	s = begun(f).applied(scaling).settled().worse()
	add("rolling back by policy", s)
	add("rolled back by policy", s.do(time.Second, incident.WriteClaimed{}).
		do(time.Second, incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{}))
	const harmless = "light-load"
	s.looked(time.Minute, l.look(t, harmless, l.replays[harmless].full, nil))
	add("closed after a rollback", s.closed("traffic was moved to another region"))

	s = begin(t, f, incident.ModeDryRun).investigated()
	add("dry run passed", s.decide(incident.Approve, s.step(scaling)).do(time.Second, incident.WriteClaimed{}).
		do(time.Second, incident.Written{Result: incident.ResultDryRun}).verified(0, incident.False, true))

	s = begin(t, f, incident.ModeDryRun)
	s.inc.Drill = &incident.Drill{
		Scenario: "preemption", Plays: "Running requests are preempted because the KV cache is full", By: bob,
		Expected: f.diagnosis,
	}
	add("deciding, drill", s.do(0, incident.DrillStarted{}).investigated())
	add("drill ended", s.decide(incident.Approve, s.step(scaling)).do(time.Second, incident.WriteClaimed{}).
		do(time.Second, incident.Written{Result: incident.ResultDryRun}).
		do(time.Second, incident.DrillEnded{Result: incident.DrillDecided, PostedAt: f.at.Add(2 * time.Second)}))

	add("improved, then denied", begun(f).applied(scaling).settled().verified(0.5, incident.False, true).
		decide(incident.Deny, ""))
	add("improved, then expired", begun(f).applied(scaling).settled().verified(0.5, incident.False, true).
		do(patience+time.Minute, incident.Expired{}))

	full := l.replays[f.diagnosis].full
	add("paused", begun(l.look(t, f.diagnosis, full, paused{incident.Pause{
		Pool: pool, Reason: "maintenance of the gateway", By: bob, At: f.at.Add(-time.Hour),
	}})))
	add("no data", begun(l.look(t, f.diagnosis, blind(full), nil)))
	unknown := l.look(t, diagnosis.None, l.replays[diagnosis.None].full, nil)
	add("no diagnosis", begun(unknown))
	return append(out, unrouted(t, f)...)
}

// strict is an investigation whose steps need two people each.
func strict(f found) found {
	f.Steps = slices.Clone(f.Steps)
	for n, s := range f.Steps {
		s.Needs.Approvals = 2
		s.Digest = s.ComputeDigest()
		f.Steps[n] = s
	}
	return f
}

// worse ends the verification in a rollback by policy.
func (s *story) worse() *story {
	s.t.Helper()
	return s.judged(-0.6, incident.False, true, true)
}

// closed ends it by a person, who first denies what is asked.
func (s *story) closed(reason string) *story {
	s.t.Helper()
	if s.inc.State == incident.StateDeciding {
		s.decide(incident.Deny, "")
	}
	return s.do(time.Hour, incident.Closed{By: alice, Reason: reason})
}

// paused is a ledger that knows of a pause and of nothing else.
type paused struct{ incident.Pause }

func (paused) Incident(context.Context, string) (incident.Incident, error) {
	return incident.Incident{}, incident.ErrNotFound
}

func (paused) WritesSince(context.Context, string, time.Time) ([]incident.Write, error) {
	return nil, nil
}

func (paused) Recorded(context.Context, incident.WriteID) (bool, error) { return true, nil }

func (paused) Locks(context.Context) (map[string]string, error) { return nil, nil }

func (p paused) Pauses(context.Context) ([]incident.Pause, error) {
	return []incident.Pause{p.Pause}, nil
}

// blind is an incident in which neither Prometheus nor Kubernetes answered.
func blind(full incident.Incident) incident.Incident {
	full.Readings = maps.Clone(full.Readings)
	for name, r := range full.Readings {
		r.Value, r.Series, r.Error = nil, nil, "dial tcp 10.0.0.9:9090: connect: connection refused"
		full.Readings[name] = r
	}
	full.Cluster = incident.Cluster{
		Workload: full.Cluster.Workload, Error: "the API server cannot be reached: connection refused",
	}
	return full
}

// unrouted are alerts that lead to no pool.
func unrouted(t *testing.T, f found) []shown {
	t.Helper()
	s := &story{t: t, f: f, inc: incident.New("inc-7kq2mz4a", "", incident.ModeApprove, false, f.at), now: f.at}
	n := slices.IndexFunc(f.alerts, func(a incident.Alert) bool { return a.Labels["model_name"] == pool })
	s.do(0, incident.AlertsReceived{Alerts: f.alerts[n : n+1]}).do(0, incident.Muted{Note: incident.Note{
		Kind: incident.NoteNoPool, Config: `pools:
  - name: llama-70b
    match: {model_name: "llama-70b", namespace: "llm"}
    matchers: {model_name: "llama-70b", namespace: "llm"}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama-70b, container: vllm}`,
	}})
	out := []shown{{"no-pool", "told", s.inc}}
	s.do(time.Hour, incident.Closed{By: itself, Note: incident.Note{Kind: incident.NoteNoneFires}})
	return append(out, shown{"no-pool", "closed", s.inc})
}
