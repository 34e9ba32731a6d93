package replay_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/replay"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

var at = time.Date(2026, 11, 2, 3, 11, 20, 0, time.UTC)

const signals = `signals:
  - {name: a, title: A, query: sum(a), unit: count, direction: higher_is_worse, source: s}
  - {name: b, title: B, query: sum(b), unit: count, direction: higher_is_worse, source: s}
  - {name: c, title: C, query: sum(c), unit: count, direction: higher_is_worse, source: s}
`

// book is a playbook with these rules for deep (nearer to the root cause) and mine, and these steps for mine.
func book(t *testing.T, deep, mine, steps, healthy string) *playbooks.Catalog {
	t.Helper()
	text := fmt.Sprintf(`name: p
title: P
alerts: [X]
healthy: [{rule: %s}]
diagnoses:
  - {name: deep, rank: 1, summary: Deep., source: s, when: %s, steps: [{manual: {advice: look}}]}
  - {name: mine, rank: 2, summary: Mine., source: s, when: %s, steps: [%s]}
`, healthy, deep, mine, steps)
	c, err := playbooks.Load([]playbooks.File{
		{Name: "s.yaml", Data: []byte(signals)}, {Name: "p.yaml", Data: []byte(text)},
	}, playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	adds     = "{replicas: {add: 1}, why: w, undo: offer}"
	addsTwo  = "{replicas: {add: 2}, why: w, undo: offer}"
	halves   = "{throttle: {factor: 0.5}, why: w, undo: on_recovery, revert_after: 10m}"
	throttle = "{throttle: {factor: 0.25}, why: w, undo: on_recovery, revert_after: 10m}"
	advises  = "{manual: {advice: call somebody}}"
)

// snapshot is what the playbooks said of a = 5 and b = 0: mine, with a step from 2 to 3 replicas within 2 to 8.
func snapshot(t *testing.T) incident.Snapshot {
	t.Helper()
	c := book(t, "b > 1", "a > 1", adds, "a <= 1")
	five, none := 5.0, 0.0
	ev := incident.Evidence{At: at, Readings: map[string]incident.Reading{
		"a": {Signal: "a", Value: &five, Unit: incident.UnitCount, At: at},
		"b": {Signal: "b", Value: &none, Unit: incident.UnitCount, At: at},
	}, Cluster: incident.Cluster{Replicas: new(int64(2)), ReadyReplicas: new(int64(2))}}
	for name, v := range map[string]float64{
		incident.SignalRunning: 40, incident.SignalWaiting: 12, incident.SignalLoadNow: 1, incident.SignalWaitingLately: 12,
		incident.SignalTTFTLately: 4, incident.SignalTPOTLately: 0.05, incident.SignalPreemptionsLately: 0,
		incident.SignalKVUsageMax: 0.5, incident.SignalKVUsage: 0.5,
	} {
		ev.Readings[name] = incident.Reading{Signal: name, Value: &v, Unit: incident.NamedSignals()[name], At: at}
	}
	said := c.Diagnose(playbooks.Input{
		Alerts: []incident.Alert{{Labels: map[string]string{"alertname": "X"}}}, Evidence: ev,
	})
	asked := incident.Fingerprints(c.Signals([]string{"X"}))
	return incident.Snapshot{
		Seq: 1, Of: incident.KindInvestigated, Alerts: []string{"X"}, Asked: asked, Evidence: ev,
		Knobs:     []incident.StepKind{incident.StepReplicas},
		Guards:    &incident.GuardInputs{At: at, Mode: incident.ModeApprove},
		Diagnosis: said.Diagnosis, Others: said.Others, Healthy: said.Healthy, Requests: said.Steps,
		Steps: []incident.Step{{
			Kind: incident.StepReplicas, Digest: "d", Title: "Scale x from 2 to 3 replicas",
			Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "x", Field: "spec.replicas"},
			From:   incident.Set("2"), To: incident.Set("3"),
			Worked: &incident.Worked{From: 2, Up: true, Min: 2, Max: 8},
		}},
	}
}

func opened() incident.Incident {
	return incident.New("inc-1", "llama", incident.ModeApprove, false, at)
}

// pools is a configuration with bounds on replicas.
func pools(low, high int64) []incident.Pool {
	return []incident.Pool{{
		Name: "llama", Mode: incident.ModeApprove,
		Knobs: incident.Knobs{Replicas: &incident.IntKnob{Min: low, Max: high}},
	}}
}

func TestEachDifferenceHasItsOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deep, mine, steps, healthy string
		want                       replay.Outcome
		now                        string
		step                       *replay.Step
	}{
		"the same":                       {"b > 1", "a > 1", adds, "a <= 1", replay.Same, "mine", nil},
		"a threshold that still holds":   {"b > 2", "a > 3", adds, "a <= 1", replay.Same, "mine", nil},
		"another cause":                  {"b <= 1", "a > 1", adds, "a <= 1", replay.OtherCause, "deep", nil},
		"no cause any more":              {"b > 1", "a > 50", adds, "a <= 1", replay.NoLonger, "", nil},
		"a cause that asks for more":     {"c > 1", "a > 1", adds, "a <= 1", replay.Undecided, "mine", nil},
		"the cause asks for more itself": {"b > 1", "a > 1 && c > 1", adds, "a <= 1", replay.Undecided, "", nil},
		"another recovery":               {"b > 1", "a > 1", adds, "a <= 10", replay.OtherRecovery, "mine", nil},
		"a recovery that asks for more":  {"b > 1", "a > 1", adds, "c <= 10", replay.Undecided, "mine", nil},
		"another amount": {
			"b > 1", "a > 1", addsTwo, "a <= 1", replay.OtherPlan, "mine",
			&replay.Step{Title: "Add 2 replicas", From: incident.Set("2"), To: incident.Set("4")},
		},
		"another knob, whose value was not read": {
			"b > 1", "a > 1", halves, "a <= 1", replay.OtherPlan, "mine",
			nil,
		},
		"one knob more": {"b > 1", "a > 1", adds + ", " + halves, "a <= 1", replay.OtherPlan, "mine", nil},
		"advice more":   {"b > 1", "a > 1", adds + ", " + advises, "a <= 1", replay.OtherPlan, "mine", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := replay.Settings{Playbooks: book(t, tt.deep, tt.mine, tt.steps, tt.healthy)}
			got := s.Replay(opened(), []incident.Snapshot{snapshot(t)})
			one := got.Investigations[0]
			if got.Outcome != tt.want || one.Outcome != tt.want || one.Now.Diagnosis != tt.now ||
				one.Then.Diagnosis != "mine" {
				t.Errorf("%s, %q: %+v", got.Outcome, one.Now.Diagnosis, one)
			}
			if tt.want != replay.Undecided && len(one.NotRead) > 0 {
				t.Errorf("not read: %v", one.NotRead)
			}
			if tt.want == replay.Undecided && (len(one.NotRead) != 1 || one.NotRead[0].Signal != "c") {
				t.Errorf("not read: %v", one.NotRead)
			}
			if tt.step == nil {
				return
			}
			if d := cmp.Diff(tt.step, one.Steps[0].Now, cmpopts.IgnoreFields(replay.Step{}, "Target")); d != "" {
				t.Errorf("the step: -want +got:\n%s", d)
			}
		})
	}
}

// A pool that had no diagnosis has one now, and the other way around nothing is said of it.
func TestWhatWasNotDiagnosedMayBeNow(t *testing.T) {
	t.Parallel()
	none := snapshot(t)
	none.Diagnosis, none.Steps, none.Requests = nil, nil, nil
	s := replay.Settings{Playbooks: book(t, "b > 1", "a > 1", adds, "a <= 1")}
	if got := s.Replay(opened(), []incident.Snapshot{none}); got.Outcome != replay.NowDiagnosed {
		t.Errorf("%+v", got)
	}
	s = replay.Settings{Playbooks: book(t, "b > 1", "a > 50", adds, "a <= 1")}
	if got := s.Replay(opened(), []incident.Snapshot{none}); got.Outcome != replay.Same {
		t.Errorf("%+v", got)
	}
}

// A check before a write and a verification are replayed as what they were: whether the step is still asked for, and
// whether the pool has recovered.
func TestChecksAndVerificationsAreReplayed(t *testing.T) {
	t.Parallel()
	first, check, verified := snapshot(t), snapshot(t), snapshot(t)
	check.Seq, check.Of, check.Step, check.Guards = 2, incident.KindClaimed, "p1-s1", nil
	check.Evidence.At = at.Add(time.Minute)
	check.Steps = []incident.Step{first.Steps[0]}
	check.Steps[0].Worked = nil // only the diagnosis has it
	verified.Seq, verified.Of, verified.Step = 3, incident.KindVerified, "p1-s1"
	verified.Verdict = incident.VerdictUnchanged
	verified.Evidence.At = at.Add(10 * time.Minute)
	all := []incident.Snapshot{first, check, verified}
	for name, tt := range map[string]struct {
		with *playbooks.Catalog
		want []replay.Outcome
	}{
		"the same": {book(t, "b > 1", "a > 1", adds, "a <= 1"), []replay.Outcome{replay.Same, replay.Same, replay.Same}},
		"another step": {
			book(t, "b > 1", "a > 1", addsTwo, "a <= 1"),
			[]replay.Outcome{replay.OtherPlan, replay.OtherPlan, replay.Same},
		},
		"another recovery": {
			book(t, "b > 1", "a > 1", adds, "a <= 10"),
			[]replay.Outcome{replay.OtherRecovery, replay.OtherRecovery, replay.OtherRecovery},
		},
		"another cause": {
			book(t, "b <= 1", "a > 1", adds, "a <= 1"),
			[]replay.Outcome{replay.OtherCause, replay.OtherCause, replay.Same},
		},
	} {
		got := replay.Settings{Playbooks: tt.with}.Replay(opened(), all)
		var outcomes []replay.Outcome
		for _, one := range got.Investigations {
			outcomes = append(outcomes, one.Outcome)
		}
		if d := cmp.Diff(tt.want, outcomes); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// What an older version has left: the newest readings, those before a write, and a journal.
func TestIncidentsOfOlderVersionsAreReplayedAsFarAsTheyWereKept(t *testing.T) {
	t.Parallel()
	s := replay.Settings{Playbooks: book(t, "b > 1", "a > 1", adds, "a <= 1")}
	then := snapshot(t)
	told, err := json.Marshal(then.Diagnosis)
	if err != nil {
		t.Fatal(err)
	}
	line := func(ago time.Duration) incident.Entry {
		return incident.Entry{At: at.Add(-ago), Kind: incident.KindInvestigated, Data: told}
	}
	inc := opened()
	inc.Alerts = []incident.Alert{{Labels: map[string]string{"alertname": "X"}}}
	inc.Readings, inc.ReadAt, inc.Cluster = then.Evidence.Readings, at, then.Evidence.Cluster
	inc.Diagnosis, inc.Others = then.Diagnosis, then.Others
	inc.Plan = &incident.Plan{Steps: []incident.Step{then.Steps[0]}}
	inc.Journal = []incident.Entry{line(time.Hour), line(time.Second)}
	outcomes := func(inc incident.Incident, kept ...incident.Snapshot) []replay.Outcome {
		t.Helper()
		var out []replay.Outcome
		for _, one := range s.Replay(inc, kept).Investigations {
			out = append(out, one.Outcome)
		}
		return out
	}
	// How the step was worked out was not kept, so whether it would be the same is open.
	if d := cmp.Diff([]replay.Outcome{replay.NotKept, replay.Undecided}, outcomes(inc)); d != "" {
		t.Errorf("the newest: -want +got:\n%s", d)
	}
	closed := inc.Clone()
	closed.State, closed.HealthySince = incident.StateClosed, at
	if d := cmp.Diff([]replay.Outcome{replay.NotKept, replay.NotKept}, outcomes(closed)); d != "" {
		t.Errorf("closed, so that the readings are of a healthy pool: -want +got:\n%s", d)
	}
	wrote := closed.Clone()
	wrote.Plan.Steps[0].AppliedAt = at
	wrote.Plan.Steps[0].Verification = &incident.Verification{Before: then.Evidence.Readings, At: at.Add(time.Hour)}
	if d := cmp.Diff([]replay.Outcome{replay.NotKept, replay.NotKept, replay.Undecided}, outcomes(wrote)); d != "" {
		t.Errorf("with a write: -want +got:\n%s", d)
	}
	other := inc.Clone()
	other.Others = append(other.Others, incident.Other{Name: "mine", Verdict: incident.False})
	other.Readings = map[string]incident.Reading{"a": {Value: new(0.0)}, "b": {Value: new(0.0)}}
	// The plan stands, and the newest readings say something else: they are not what it rests on.
	got := s.Replay(other, nil)
	last := got.Investigations[len(got.Investigations)-1]
	if last.Then.Diagnosis != "" || last.Outcome != replay.Same {
		t.Errorf("the newest found nothing: %+v", last)
	}
	if d := cmp.Diff([]replay.Outcome{replay.NotKept, replay.Same}, outcomes(inc, then)); d != "" {
		t.Errorf("begun by an older version: -want +got:\n%s", d)
	}
	empty := opened()
	if got := s.Replay(empty, nil); got.Outcome != replay.NotKept || len(got.Investigations) != 0 {
		t.Errorf("before any investigation: %+v", got)
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	t.Parallel()
	all := []replay.Incident{
		{ID: "1", Outcome: replay.Same, OpenedAt: at},
		{ID: "2", Outcome: replay.OtherPlan, OpenedAt: at},
		{ID: "3", Outcome: replay.NoLonger, OpenedAt: at},
		{ID: "4", Outcome: replay.NoLonger, OpenedAt: at.Add(1)},
		{ID: "5", Outcome: replay.Undecided, OpenedAt: at},
	}
	replay.Sort(all)
	order := ""
	for _, inc := range all {
		order += inc.ID
	}
	if order != "43251" {
		t.Errorf("order %s", order)
	}
	sum := replay.Count(all)
	if sum.Incidents != 5 || sum.Outcomes[replay.NoLonger] != 2 || sum.Outcomes[replay.Same] != 1 {
		t.Errorf("%+v", sum)
	}
	for o, want := range map[replay.Outcome]bool{
		replay.NoLonger: true, replay.OtherCause: true, replay.OtherPlan: true, replay.OtherRecovery: true,
		replay.NowDiagnosed: true, replay.Undecided: false, replay.NotKept: false, replay.Same: false,
	} {
		if o.Differs() != want {
			t.Errorf("%s differs: %t", o, !want)
		}
	}
}
