package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func sound() Input {
	return Input{
		Now: now, Pool: incident.Pool{Name: "llama"}, Mode: incident.ModeApprove, Op: incident.OpApply, Incident: "inc-1",
		Step: incident.Step{
			Kind: incident.StepMaxNumBatchedTokens, Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama"},
			Needs: incident.Needs{Restart: true, Confirm: true},
		},
		Cluster: incident.Cluster{Replicas: new(int64(2)), ReadyReplicas: new(int64(2))},
		Readings: map[string]incident.Reading{
			"waiting":         {Value: new(0.0), Unit: incident.UnitCount},
			"tpot_p95_lately": {Value: new(0.4), Unit: incident.UnitSeconds},
		},
	}
}

func write(ago time.Duration, change func(*incident.Write)) incident.Write {
	w := incident.Write{
		Target: "Deployment/llm/llama", Op: incident.OpApply, StartedAt: now.Add(-ago),
		EndedAt: now.Add(-ago), Result: incident.ResultApplied,
	}
	if change != nil {
		change(&w)
	}
	return w
}

// disaggregated gives the workload ready pods: 1 for prefill, 0 for decode, -1 for a role that isn't known.
func disaggregated(in *Input, pods map[string]float64) {
	var told incident.Reading
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		in.Cluster.Pods = append(in.Cluster.Pods, incident.Pod{Name: name, Ready: true})
		if pods[name] >= 0 {
			told.Pods = append(told.Pods, incident.PodValue{Pod: name, Value: pods[name]})
		}
	}
	n := int64(len(pods))
	in.Cluster.Replicas, in.Cluster.ReadyReplicas = &n, &n
	in.Roles = incident.Evidence{Readings: map[string]incident.Reading{"prefill_pods": told}}.Roles()
}

// refusal is what a person reads of the first guardrail that refuses.
func refusal(gs []incident.Guardrail) string {
	return present.Reason(incident.Step{Cause: Refusal(gs)})
}

func TestSoundStepPassesEveryGuardrail(t *testing.T) {
	t.Parallel()
	got := Check(sound(), Defaults())
	if why := refusal(got); why != "" {
		t.Fatalf("refused: %s", why)
	}
	var names []string
	for _, g := range got {
		names = append(names, g.Name)
	}
	if !slices.Equal(names, Names()) {
		t.Fatalf("%q answered, want %q: a person sees each", names, Names())
	}
}

func TestADryRunPassesInModeDryRun(t *testing.T) {
	t.Parallel()
	in := sound()
	in.Mode, in.DryRun = incident.ModeDryRun, true
	if why := refusal(Check(in, Defaults())); why != "" {
		t.Errorf("refused: %s", why)
	}
}

func TestGuardrailsRefuse(t *testing.T) {
	t.Parallel()
	many := func(n int, ago time.Duration) []incident.Write {
		var out []incident.Write
		for range n {
			out = append(out, write(ago, func(w *incident.Write) { w.Target = "Other/llm/x"; w.Result = incident.ResultFailed }))
		}
		return out
	}
	for _, tc := range []struct {
		name, want string
		change     func(*Input)
	}{
		{"observe mode", "mode observe", func(in *Input) { in.Mode = incident.ModeObserve }},
		{"dry run since", "the pool is in mode dry-run now", func(in *Input) { in.Mode = incident.ModeDryRun }},
		{"unknown mode", "not known", func(in *Input) { in.Mode = "yolo" }},
		{"global pause", "paused for all pools by slack:U1: freeze", func(in *Input) {
			in.Pauses = []incident.Pause{{Reason: "freeze", By: incident.Actor{Kind: "slack", ID: "U1"}}}
		}},
		{"pool pause", "paused for pool llama", func(in *Input) {
			in.Pauses = []incident.Pause{{Pool: "llama", Reason: "x"}}
		}},
		{"lock of another incident", "incident inc-2", func(in *Input) {
			in.Locks = map[string]string{"Deployment/llm/llama": "inc-2"}
		}},
		{"the only prefill pod", "it restarts the only prefill pod, p", func(in *Input) {
			disaggregated(in, map[string]float64{"p": 1, "d": 0, "e": 0})
		}},
		{"the only decode pod", "it restarts the only decode pod, d", func(in *Input) {
			disaggregated(in, map[string]float64{"p": 1, "q": 1, "d": 0})
		}},
		{"a pod of no known role", "it isn't known whether x does prefill or decode", func(in *Input) {
			disaggregated(in, map[string]float64{"p": 1, "q": 1, "d": 0, "e": 0, "x": -1})
		}},
		{"cool-down", "allowed in 5 min", func(in *Input) { in.Writes = []incident.Write{write(5*time.Minute, nil)} }},
		{"cool-down of an undo too", "was changed 1 min ago", func(in *Input) {
			in.Writes = []incident.Write{write(time.Minute, func(w *incident.Write) { w.Op = incident.OpUndo })}
			in.Step.Needs = incident.Needs{}
			in.Writes[0].Target = in.Step.Target.Key()
		}},
		{"a write without an end counts for the cool-down", "was changed", func(in *Input) {
			in.Writes = []incident.Write{write(time.Minute, func(w *incident.Write) { w.EndedAt = time.Time{}; w.Result = "" })}
		}},
		{"hourly budget, failures included", "4 of 4 changes in the last hour", func(in *Input) {
			in.Writes = many(4, 59*time.Minute)
		}},
		{"daily budget", "12 of 12 changes in the last day", func(in *Input) { in.Writes = many(12, 23*time.Hour) }},
		{"history unknown", "cannot be read", func(in *Input) { in.WritesUnknown = true }},
		{"restart with a pod missing", "only 1 of 2", func(in *Input) { in.Cluster.ReadyReplicas = new(int64(1)) }},
		{"restart of the only pod", "only pod", func(in *Input) {
			in.Cluster.Replicas, in.Cluster.ReadyReplicas = new(int64(1)), new(int64(1))
		}},
		{"restart with the workload unknown", "not known: forbidden", func(in *Input) { in.Cluster.Error = "forbidden" }},
		{"restart without replica counts", "not known", func(in *Input) { in.Cluster.Replicas = nil }},
		{"restart in a rollout", "rollout is already running", func(in *Input) { in.Cluster.RolloutRunning = true }},
		{"restart while requests wait", "12 requests are queued", func(in *Input) {
			in.Readings["waiting"] = incident.Reading{Value: new(12.0), Unit: incident.UnitCount}
		}},
		{"restart with the queue unknown", "no data", func(in *Input) { delete(in.Readings, "waiting") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			tc.change(&in)
			if got := refusal(Check(in, Defaults())); !strings.Contains(got, tc.want) {
				t.Errorf("reason %q, want it to contain %q", got, tc.want)
			}
		})
	}
}

// A step against load needs a load that is there now, whatever the diagnosis says of the minutes before.
func TestAStepAgainstLoadNeedsTheLoad(t *testing.T) {
	t.Parallel()
	value := func(v float64, u incident.Unit) incident.Reading { return incident.Reading{Value: &v, Unit: u} }
	reading := func(name string, r incident.Reading) func(map[string]incident.Reading) {
		return func(all map[string]incident.Reading) { all[name] = r }
	}
	for _, tc := range []struct {
		name, want string
		change     func(map[string]incident.Reading)
	}{
		{name: "the load is there", change: func(map[string]incident.Reading) {}},
		{name: "half of it is there", change: reading("load_now", value(.5, incident.UnitRatio))},
		{
			name: "a third of it is left", change: reading("load_now", value(.33, incident.UnitRatio)),
			want: "the load is gone: only 33% of the last minutes' average",
		},
		{
			name: "nothing runs or waits", want: "nothing is running or queued any more",
			change: func(all map[string]incident.Reading) {
				all["running"], all["waiting"] = value(0, incident.UnitCount), value(0, incident.UnitCount)
			},
		},
		{
			name: "all of it waits", change: reading("running", value(0, incident.UnitCount)),
		},
		{
			name: "not measured", want: "it isn't known whether the load is still there: load_now is unknown",
			change: reading("load_now", incident.Reading{}),
		},
		{
			name: "could not be asked", want: "timeout",
			change: reading("waiting", incident.Reading{Value: new(3.0), Error: "timeout"}),
		},
	} {
		for kind, against := range map[incident.StepKind]bool{
			incident.StepThrottle: true, incident.StepReplicas: true, incident.StepMaxNumBatchedTokens: false,
		} {
			t.Run(tc.name+", "+string(kind), func(t *testing.T) {
				t.Parallel()
				in := sound()
				in.Step.Kind, in.Step.Needs = kind, incident.Needs{}
				in.Readings = map[string]incident.Reading{
					"running": value(40, incident.UnitCount), "waiting": value(12, incident.UnitCount),
					"load_now": value(1.1, incident.UnitRatio), "waiting_lately": value(12, incident.UnitCount),
					"tpot_p95_lately": value(.4, incident.UnitSeconds),
				}
				tc.change(in.Readings)
				want := tc.want
				if !against {
					want = ""
				}
				if got := refusal(Check(in, Defaults())); want == "" && got != "" || !strings.Contains(got, want) {
					t.Errorf("refused for %q, want %q", got, want)
				}
			})
		}
	}
}

func TestGuardrailsLetPass(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*Input)
	}{
		{"own lock", func(in *Input) { in.Locks = map[string]string{"Deployment/llm/llama": "inc-1"} }},
		{"pause of another pool", func(in *Input) { in.Pauses = []incident.Pause{{Pool: "other"}} }},
		{"old write", func(in *Input) { in.Writes = []incident.Write{write(time.Hour, nil)} }},
		{"write that changed nothing", func(in *Input) {
			in.Writes = []incident.Write{write(time.Minute, func(w *incident.Write) { w.Result = incident.ResultDrift })}
		}},
		{"dry run write does not slow the real thing", func(in *Input) {
			in.Writes = []incident.Write{write(time.Minute, func(w *incident.Write) {
				w.DryRun = true
				w.Result = incident.ResultDryRun
			})}
		}},
		{"two pods of each role", func(in *Input) {
			disaggregated(in, map[string]float64{"p": 1, "q": 1, "d": 0, "e": 0})
		}},
		{"one side, and the other elsewhere", func(in *Input) {
			disaggregated(in, map[string]float64{"p": 1, "d": 0, "e": 0})
			in.Cluster.Pods = in.Cluster.Pods[:2]
		}},
		{"no restart needs no ready pods", func(in *Input) {
			in.Step.Needs = incident.Needs{}
			in.Cluster = incident.Cluster{Error: "x"}
		}},
		{"undo ignores cool-down and budget", func(in *Input) {
			in.Op = incident.OpUndo
			in.Writes = []incident.Write{write(time.Second, nil)}
			in.WritesUnknown = true
			in.Cluster.Error = "x"
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			tc.change(&in)
			if got := refusal(Check(in, Defaults())); got != "" {
				t.Errorf("refused: %s", got)
			}
		})
	}
}

func TestAnUndoAsksModeAndLock(t *testing.T) {
	t.Parallel()
	alice, bot := incident.Actor{Kind: "slack", ID: "U1"}, incident.Actor{Kind: "bot", ID: "vllm-medic"}
	for _, tc := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"a person in observe", func(in *Input) { in.Mode, in.By = incident.ModeObserve, alice }, ""},
		{"the bot in observe", func(in *Input) { in.Mode, in.By = incident.ModeObserve, bot }, "mode observe"},
		{"policy in observe", func(in *Input) {
			in.Mode, in.By = incident.ModeObserve, incident.Actor{Kind: "policy", ID: "undo"}
		}, "mode observe"},
		{"nobody in observe", func(in *Input) { in.Mode = incident.ModeObserve }, "mode observe"},
		{"a person in mode dry-run", func(in *Input) { in.Mode, in.By = incident.ModeDryRun, alice }, "mode dry-run"},
		{"the bot in approve", func(in *Input) { in.Mode, in.By = incident.ModeApprove, bot }, ""},
		{"an unknown mode", func(in *Input) { in.Mode, in.By = "wild", alice }, "not known"},
		{"another incident's lock", func(in *Input) {
			in.By = alice
			in.Locks = map[string]string{"Deployment/llm/llama": "inc-2"}
		}, "inc-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			in.Op = incident.OpUndo
			tc.change(&in)
			got := refusal(Check(in, Defaults()))
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPolicyNeverRepeatsWhatWasTried(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Automatic = []incident.StepKind{incident.StepThrottle}
	step := incident.Step{Kind: incident.StepThrottle, Attempt: &incident.Attempt{Verdict: incident.VerdictWorse}}
	if got, why := Decide(incident.ModeAuto, step, incident.Approvers{Users: []string{"U1"}}, s); got != NeedsApproval ||
		!strings.Contains(why, "already tried") {
		t.Errorf("%s: %s", got, why)
	}
}

// Who reads the plan learns why nothing ran by itself.
func TestPolicySaysWhichCautionKeptItFromRunning(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Automatic = []incident.StepKind{incident.StepReplicas}
	step := incident.Step{
		Kind:       incident.StepReplicas,
		Guardrails: []incident.Guardrail{{Verdict: incident.GuardCaution, Reason: "Argo CD may set it back"}},
	}
	if !step.Executable() {
		t.Error("a caution refuses the step")
	}
	got, why := Decide(incident.ModeAuto, step, incident.Approvers{Users: []string{"U1"}}, s)
	if got != NeedsApproval || !strings.Contains(why, "Argo CD may set it back") {
		t.Errorf("%s: %s", got, why)
	}
}

func TestPauseStopsAnUndo(t *testing.T) {
	t.Parallel()
	in := sound()
	in.Op = incident.OpUndo
	in.Pauses = []incident.Pause{{Reason: "all hands off"}}
	if got := refusal(Check(in, Defaults())); !strings.Contains(got, "all hands off") {
		t.Errorf("an undo passed a pause: %q", got)
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	throttle := incident.Step{Kind: incident.StepThrottle}
	restart := incident.Step{Kind: incident.StepReplicas, Needs: incident.Needs{Restart: true}}
	refused := incident.Step{
		Kind:       incident.StepThrottle,
		Guardrails: []incident.Guardrail{{Verdict: incident.GuardRefuse, Reason: "no"}},
	}
	cautious := incident.Step{Kind: incident.StepThrottle, Guardrails: []incident.Guardrail{
		{Verdict: incident.GuardPass, Reason: "fine"}, {Verdict: incident.GuardCaution, Reason: "Argo CD may set it back"},
	}}
	auto := Defaults()
	auto.Automatic = []incident.StepKind{incident.StepThrottle, incident.StepReplicas}
	for _, tc := range []struct {
		name string
		mode incident.Mode
		step incident.Step
		set  Settings
		want Answer
	}{
		{"approve asks", incident.ModeApprove, throttle, auto, NeedsApproval},
		{"mode dry-run asks", incident.ModeDryRun, throttle, auto, NeedsApproval},
		{"auto runs a listed kind", incident.ModeAuto, throttle, auto, Automatic},
		{"auto asks for a kind that is not listed", incident.ModeAuto, throttle, Defaults(), NeedsApproval},
		{"auto never restarts", incident.ModeAuto, restart, auto, NeedsApproval},
		{"auto asks about a caution", incident.ModeAuto, cautious, auto, NeedsApproval},
		{"a caution can be approved", incident.ModeApprove, cautious, auto, NeedsApproval},
		{"observe refuses", incident.ModeObserve, throttle, auto, Refused},
		{"unknown mode refuses", "", throttle, auto, Refused},
		{"a guardrail refuses in every mode", incident.ModeAuto, refused, auto, Refused},
		{"advice is never run", incident.ModeAuto, incident.Step{Kind: incident.StepManual}, auto, Refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got, why := Decide(tc.mode, tc.step, incident.Approvers{}, tc.set); got != tc.want {
				t.Errorf("%s (%s), want %s", got, why, tc.want)
			}
		})
	}
}

func TestValidateNamesEveryMistake(t *testing.T) {
	t.Parallel()
	bad := Settings{
		CoolDown: -1, HourlyBudget: 0, DailyBudget: -1,
		Automatic: []incident.StepKind{"manual", "max_num_batched_tokens", "reboot"},
	}
	if errs := bad.Validate(); len(errs) != 6 {
		t.Errorf("%d errors, want 6: %v", len(errs), errs)
	}
	if errs := Defaults().Validate(); len(errs) != 0 {
		t.Errorf("the defaults are refused: %v", errs)
	}
}
