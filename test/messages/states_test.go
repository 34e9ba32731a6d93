package messages

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/audit"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// story drives an incident through the domain, so that what is shown is what really happens.
type story struct {
	t   *testing.T
	f   found
	inc incident.Incident
	now time.Time
}

// patience is how long people have for a decision.
const patience = 30 * time.Minute

// begin tells a story up to the alerts.
func begin(t *testing.T, f found, mode incident.Mode) *story {
	t.Helper()
	inc := incident.New("inc-7kq2mz4a", pool, mode, mode == incident.ModeDryRun, f.at)
	inc.Version = 1
	s := &story{t: t, f: f, inc: inc, now: f.at}
	if len(f.alerts) == 0 {
		return s
	}
	return s.do(0, incident.AlertsReceived{Alerts: f.alerts})
}

// do lets some time go by and applies an event; a refusal ends the test. A write is that of the active step.
func (s *story) do(after time.Duration, ev incident.Event) *story {
	s.t.Helper()
	s.now = s.now.Add(after)
	if c, ok := ev.(incident.WriteClaimed); ok {
		c.Step, c.Op, c.WriteID, c.Before = s.inc.Active.Step, s.inc.Active.Op, "w-1", s.f.Evidence.Readings
		ev = c
	}
	res, err := incident.Apply(s.inc, ev, s.now)
	if err != nil {
		s.t.Fatalf("%s: %s in state %s: %v", s.f.diagnosis, ev.Kind(), s.inc.State, err)
	}
	for _, e := range res.Entries {
		s.journal(&res.Incident, e)
	}
	res.Incident.Version = s.inc.Version + 1
	s.inc = res.Incident
	return s
}

// journal numbers and chains an entry, as the store does.
func (s *story) journal(inc *incident.Incident, e incident.Entry) {
	s.t.Helper()
	before := ""
	if n := len(inc.Journal); n > 0 {
		before = inc.Journal[n-1].Hash
	}
	e.Seq, e.Hash = int64(len(inc.Journal)+1), ""
	body, err := json.Marshal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	e.Hash = audit.Link(before, inc.ID, audit.Row{Seq: e.Seq, Thread: e.Thread, Body: string(body)})
	inc.Journal = append(inc.Journal, e)
}

// investigated goes on to what was found, and to the question if there is one.
func (s *story) investigated() *story {
	s.t.Helper()
	s.do(10*time.Second, incident.InvestigationStarted{})
	s.looked(5*time.Second, s.f)
	switch {
	case s.inc.State != incident.StateProposed:
		return s
	case !s.f.asks():
		return s.do(time.Second, incident.Muted{Note: incident.Note{Kind: incident.NoteNoStep}})
	default:
		return s.do(time.Second, incident.Asked{ExpiresAt: s.now.Add(patience)})
	}
}

// looked takes over what an investigation has found.
func (s *story) looked(after time.Duration, f found) {
	s.t.Helper()
	s.do(after, incident.Investigated{
		Evidence: f.Evidence, Diagnosis: f.Result.Diagnosis, Others: f.Result.Others, Steps: f.Steps,
		Healthy: f.Result.Healthy, Note: f.Result.Note,
	})
}

// asks says whether there is anything to decide.
func (f found) asks() bool {
	for _, s := range f.Steps {
		if s.Kind != incident.StepManual && s.State == incident.StepProposed {
			return true
		}
	}
	return false
}

var alice = incident.Actor{Kind: "slack", ID: "U0ALICE"}

func (s *story) decide(verb incident.Verb, step string) *story {
	s.t.Helper()
	return s.by(alice, verb, step)
}

// by has somebody decide.
func (s *story) by(actor incident.Actor, verb incident.Verb, step string) *story {
	s.t.Helper()
	return s.do(time.Minute, incident.Decided{Decision: incident.Decision{
		Step: step, Digest: s.inc.Plan.Digest, Verb: verb, By: actor, Confirm: true,
	}})
}

// applied goes on to the rollout of the first step of this kind.
func (s *story) applied(kind incident.StepKind) *story {
	s.t.Helper()
	return s.decide(incident.Approve, s.step(kind)).do(2*time.Second, incident.WriteClaimed{}).
		do(time.Second, incident.Written{Result: incident.ResultApplied})
}

// undo takes the offer to go back.
func (s *story) undo() *story {
	s.t.Helper()
	step, _ := s.inc.Step(s.inc.UndoOffered)
	return s.do(time.Minute, incident.Decided{Decision: incident.Decision{
		Step: step.ID, Digest: step.Digest, Verb: incident.Undo, By: alice,
	}})
}

func (s *story) step(kind incident.StepKind) string {
	s.t.Helper()
	for _, step := range s.inc.Plan.Steps {
		if step.Kind == kind {
			return step.ID
		}
	}
	s.t.Fatalf("%s proposes no %s", s.f.diagnosis, kind)
	return ""
}

// settled goes on to the time when the signals are read again.
func (s *story) settled() *story {
	s.t.Helper()
	why := incident.Reason{}
	if step, _ := s.inc.Step(s.inc.Active.Step); step.Kind.RollsOut() {
		pods := "2" // a restart leaves as many as there were
		if step.Kind == incident.StepReplicas {
			pods = step.To.Text
		}
		why = incident.Because(pods + " of " + pods + " pods are ready.")
	}
	return s.do(4*time.Minute, incident.RolledOut{Why: why, SettleUntil: s.now.Add(10 * time.Minute)}).
		do(6*time.Minute, incident.Settled{})
}

// verified compares with readings after the change; share is where they are on the way to their limits.
func (s *story) verified(share float64, healthy incident.Truth, final bool) *story {
	s.t.Helper()
	return s.judged(share, healthy, final, false)
}

// judged is verified, and says whether policy rolls back at once.
func (s *story) judged(share float64, healthy incident.Truth, final, undoNow bool) *story {
	s.t.Helper()
	before, after := alone(s.f.Evidence.Readings), alone(s.f.Evidence.Readings)
	for name, r := range after {
		if r.Value != nil && r.Threshold != nil {
			good := *r.Threshold / 2
			if r.Direction == incident.LowerIsWorse {
				good = *r.Threshold * 2
			}
			r.Value = new(*r.Value + share*(good-*r.Value))
			if r.Unit == incident.UnitRatio {
				r.Value = new(min(1, max(0, *r.Value)))
			}
			after[name] = r
		}
	}
	verdict, comparison := incident.VerdictOf(before, after, s.inc.Diagnosis.Healthy, healthy)
	return s.do(time.Minute, incident.Verified{
		Verification: incident.Verification{
			Verdict: verdict, Comparison: &comparison, Before: before, After: after, At: s.now,
		},
		Final: final, UndoNow: undoNow, ExpiresAt: s.now.Add(patience),
	})
}

// alone are the readings without their past.
func alone(readings map[string]incident.Reading) map[string]incident.Reading {
	out := maps.Clone(readings)
	for name, r := range out {
		r.Series = nil
		out[name] = r
	}
	return out
}

// shown is an incident in one of its states.
type shown struct {
	diagnosis, state string
	inc              incident.Incident
}

func (s shown) name() string { return s.diagnosis + " " + s.state }

// states are all that the message goes through for a diagnosis.
func states(t *testing.T, f found) []shown {
	t.Helper()
	var out []shown
	add := func(state string, s *story) *story {
		out = append(out, shown{f.diagnosis, state, s.inc})
		return s
	}
	tell := func(mode incident.Mode) *story { return begin(t, f, mode).investigated() }
	if !f.asks() {
		if s := add("told", tell(incident.ModeApprove)); s.inc.State != incident.StateClosed {
			add("closed by a person", s.do(time.Hour, incident.Closed{By: alice, Reason: "known load test"}))
		}
		return out
	}
	s := add("received", begin(t, f, incident.ModeApprove))
	add("investigating", s.do(10*time.Second, incident.InvestigationStarted{}).do(time.Second, incident.Acked{By: alice}))
	add("deciding", tell(incident.ModeApprove))
	add("deciding, dry run", tell(incident.ModeDryRun))
	add("denied", tell(incident.ModeApprove).decide(incident.Deny, ""))
	add("expired", tell(incident.ModeApprove).do(31*time.Minute, incident.Expired{}))
	add("closed without a change", tell(incident.ModeApprove).do(31*time.Minute, incident.Expired{}).
		do(time.Hour, incident.Closed{By: alice, Reason: "known load test"}))
	for _, step := range f.Steps {
		if step.Kind == incident.StepManual {
			continue
		}
		kind, with := step.Kind, " "+string(step.Kind)
		s = tell(incident.ModeApprove)
		add("applying"+with, s.decide(incident.Approve, s.step(kind)))
		add("failed"+with, s.do(time.Second, incident.WriteClaimed{}).do(time.Second, incident.Written{
			Result: incident.ResultFailed,
			Why:    incident.Because(step.Target.String() + ": the server does not allow it: forbidden"),
		}))
		s = tell(incident.ModeApprove).applied(kind)
		add("rolling out"+with, s)
		add("settling"+with, s.do(4*time.Minute, incident.RolledOut{SettleUntil: s.now.Add(10 * time.Minute)}))
		add("verifying"+with, s.do(6*time.Minute, incident.Settled{}).verified(0.6, incident.Undecided, false))
		recovered := add("recovered"+with, s.verified(1, incident.True, true))
		if step.RevertAfter == 0 { // else it is taken back first
			add("closed"+with, recovered.do(10*time.Minute, incident.Closed{
				By: itself, Note: incident.Note{
					Kind: incident.NoteHealthyFor, For: 10 * time.Minute,
				},
			}))
		}
		add("improved"+with, tell(incident.ModeApprove).applied(kind).settled().verified(0.5, incident.False, true))
		s = tell(incident.ModeApprove).applied(kind).settled().verified(-0.3, incident.False, true)
		if s.inc.State == incident.StateDeciding {
			add("undo offered"+with, s)
			if s.inc.UndoOffered != "" {
				add("undoing"+with, s.undo())
				add("undone"+with, s.do(time.Second, incident.WriteClaimed{}).
					do(time.Second, incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{}))
			}
		}
	}
	return out
}
