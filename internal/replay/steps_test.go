package replay_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/replay"
)

func TestAStepIsWorkedOutFromTheNumbersOfThen(t *testing.T) {
	t.Parallel()
	halving := func(s *incident.Snapshot) {
		s.Requests = []incident.StepRequest{{
			Kind: incident.StepThrottle, Factor: 0.5, Why: "w", RevertAfter: 10 * time.Minute,
		}}
		s.Steps = []incident.Step{{
			Kind: incident.StepThrottle, From: incident.Set("256"), To: incident.Set("128"),
			Worked: &incident.Worked{From: 256, Min: 16, Max: 1024},
		}}
	}
	noChange := func(*incident.Snapshot) {}
	for name, tt := range map[string]struct {
		then  func(*incident.Snapshot)
		steps string
		pools []incident.Pool
		want  replay.Outcome
		to    string // of now
		why   string // refused or open
	}{
		"as then":                  {noChange, adds, nil, replay.Same, "3", ""},
		"as then, with its bounds": {noChange, adds, pools(2, 8), replay.Same, "3", ""},
		"a signal of a newer guardrail": {
			func(s *incident.Snapshot) { delete(s.Evidence.Readings, incident.SignalLoadNow) }, adds, pools(2, 8),
			replay.Undecided, "", "the guardrails of now ask for load_now, which was not read then",
		},
		"a load that had gone": {
			func(s *incident.Snapshot) {
				s.Evidence.Readings[incident.SignalLoadNow] = incident.Reading{Value: new(.2), Unit: incident.UnitRatio}
			}, adds, pools(2, 8), replay.OtherPlan, "3",
			"the load is gone: only 20% of the last minutes' average is running or queued now",
		},
		"tighter bounds refuse": {
			noChange, adds, pools(1, 2), replay.OtherPlan, "", "already at the limit: 2 (the maximum is 2)",
		},
		"tighter bounds lead to the same": {noChange, addsTwo, pools(1, 3), replay.Same, "3", ""},
		"a knob that is not allowed": {
			noChange, adds,
			[]incident.Pool{{Name: "llama"}},
			replay.OtherPlan, "",
			"the knob replicas of pool llama is not configured",
		},
		"wider bounds of the pool are no limit of others": {
			func(s *incident.Snapshot) {
				s.Steps[0].Worked = &incident.Worked{From: 8, Up: true, Min: 2, Max: 9}
				s.Steps[0].From, s.Steps[0].To = incident.Set("8"), incident.Set("9")
			},
			addsTwo, pools(2, 16), replay.Undecided, "",
			"the limits of others beyond the bounds of then were not read then",
		},
		"the limit of somebody else stays, however wide the pool's are": {
			func(s *incident.Snapshot) {
				s.Steps[0].Worked = &incident.Worked{From: 8, Up: true, Min: 2, Max: 9, MaxWhy: "an autoscaler"}
				s.Steps[0].From, s.Steps[0].To = incident.Set("8"), incident.Set("9")
			},
			addsTwo, pools(2, 16), replay.Same, "9", "",
		},
		"what was refused for its numbers": {
			func(s *incident.Snapshot) {
				s.Steps[0] = incident.Step{
					Kind: incident.StepReplicas, Worked: &incident.Worked{From: 8, Up: true, Min: 2, Max: 8},
					Guardrails: []incident.Guardrail{{
						Name: "proposal", Verdict: incident.GuardRefuse, Reason: "already at the limit: 8 (the maximum is 8)",
					}},
				}
			},
			adds, nil, replay.Same, "", "already at the limit: 8 (the maximum is 8)",
		},
		"what was refused for another reason": {
			func(s *incident.Snapshot) {
				s.Steps[0] = incident.Step{Kind: incident.StepReplicas, Guardrails: []incident.Guardrail{{
					Name: "proposal", Verdict: incident.GuardRefuse, Reason: "an operator owns it",
				}}}
			},
			addsTwo, nil, replay.Same, "", "an operator owns it",
		},
		"a guardrail that refused then": {
			func(s *incident.Snapshot) {
				s.Steps[0].Guardrails = []incident.Guardrail{{
					Name: "ownership", Verdict: incident.GuardRefuse, Reason: "Argo CD sets it back",
				}}
			},
			adds, nil, replay.Same, "3", "Argo CD sets it back",
		},
		"a lower limit":       {halving, halves, nil, replay.Same, "128", ""},
		"a still lower limit": {halving, throttle, nil, replay.OtherPlan, "64", ""},
		"another time to stay": {
			halving, "{throttle: {factor: 0.5}, why: w, undo: on_recovery, revert_after: 20m}", nil, replay.OtherPlan, "128", "",
		},
		"how it was worked out was not kept, and the same is asked for": {
			func(s *incident.Snapshot) { s.Steps[0].Worked = nil }, adds, nil, replay.Same, "3", "",
		},
		"how it was worked out was not kept": {
			func(s *incident.Snapshot) { s.Steps[0].Worked = nil }, addsTwo, nil, replay.Undecided, "",
			"its present value was not read then",
		},
		"the value that a person chose": {
			func(s *incident.Snapshot) {
				s.Chosen = map[incident.StepKind]int64{incident.StepReplicas: 3}
				s.Requests[0].Add = 2
			},
			addsTwo, nil, replay.Same, "3", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then := snapshot(t)
			tt.then(&then)
			s := replay.Settings{Playbooks: book(t, "b > 1", "a > 1", tt.steps, "a <= 1"), Pools: tt.pools}
			if tt.pools != nil {
				s.Policy = new(policy.Defaults())
			}
			one := s.Replay(opened(), []incident.Snapshot{then}).Investigations[0]
			if one.Outcome != tt.want || len(one.Steps) != 1 {
				t.Fatalf("%s: %+v", one.Outcome, one.Steps)
			}
			now := one.Steps[0].Now
			if why := now.Refused + now.Open; now.To.Text != tt.to || why != tt.why {
				t.Errorf("to %s, refused or open: %q", now.To, why)
			}
		})
	}
}

// The guardrails of today are asked with what they knew then, where there is a configuration.
func TestThePolicyOfTheConfigurationIsAsked(t *testing.T) {
	t.Parallel()
	then := snapshot(t)
	then.Steps[0].Guardrails = []incident.Guardrail{{Name: "cool-down", Verdict: incident.GuardPass, Reason: "passed"}}
	then.Guards.Writes = []incident.Write{{
		Target: then.Steps[0].Target.Key(), StartedAt: at.Add(-20 * time.Minute), EndedAt: at.Add(-20 * time.Minute),
	}}
	settings := policy.Defaults()
	settings.CoolDown = time.Hour
	c := book(t, "b > 1", "a > 1", adds, "a <= 1")
	s := replay.Settings{Playbooks: c, Pools: pools(2, 8), Policy: &settings}
	one := s.Replay(opened(), []incident.Snapshot{then}).Investigations[0]
	if one.Outcome != replay.OtherPlan || one.Steps[0].Now.Refused == "" {
		t.Errorf("%+v, %+v", one, one.Steps[0].Now)
	}
	if one := (replay.Settings{Playbooks: c}).Replay(opened(), []incident.Snapshot{then}); one.Outcome != replay.Same {
		t.Errorf("without a configuration: %+v", one)
	}
	// What could not be read then refused, and refuses in a replay.
	then.Guards.WritesUnknown = true
	settings.CoolDown = time.Minute
	one = s.Replay(opened(), []incident.Snapshot{then}).Investigations[0]
	if one.Outcome != replay.OtherPlan || one.Steps[0].Now.Refused == "" {
		t.Errorf("an unread history: %+v", one.Steps[0].Now)
	}
}
