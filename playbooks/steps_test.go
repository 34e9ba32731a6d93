package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func kinds(steps []incident.StepRequest) []incident.StepKind {
	var out []incident.StepKind
	for _, s := range steps {
		out = append(out, s.Kind)
	}
	return out
}

// The steps of the runbook for swapping. A smaller token budget comes after more replicas: it restarts every pod, and
// in one simulated engine preemptions only went from 1.04 to 1.02 per second.
func TestSwappingStepsComeInTheRunbooksOrder(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	// The alert on a full cache fires with every one on preemptions, and warns of restarts; that cost is weighed by the
	// playbook of the cause.
	for _, names := range [][]string{{"vLLMRequestSwapping"}, {"vLLMRequestSwapping", "vLLMGPUCacheFull"}} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(names...), Pool: chat(), Evidence: readings(thrash())})
		want := []incident.StepKind{
			incident.StepThrottle, incident.StepReplicas, incident.StepMaxNumBatchedTokens,
			incident.StepManual,
		}
		if diff := cmp.Diff(want, kinds(got.Steps)); diff != "" {
			t.Fatal(diff)
		}
		if s := got.Steps[0]; s.Factor != 0.7 || s.RevertAfter != 30*time.Minute || s.WarmUp != 2*time.Minute || s.Why == "" {
			t.Errorf("throttle: %+v", s)
		}
		if s := got.Steps[2]; s.Factor != 0.5 || s.RevertAfter != 0 || s.WarmUp != 10*time.Minute {
			t.Errorf("max_num_batched_tokens: %+v", s)
		}
		if s := got.Steps[1]; s.Add != 1 || s.Factor != 0 || s.RevertAfter != 0 {
			t.Errorf("replicas: %+v", s)
		}
		if s := got.Steps[3]; !strings.HasPrefix(s.Advice, "Send long prompts") {
			t.Errorf("manual: %+v", s)
		}
		for _, worse := range []string{"raise max_num_seqs", "restart pods"} {
			if !slices.ContainsFunc(got.Diagnosis.Never, func(n incident.Never) bool { return n.What() == worse }) {
				t.Errorf("that %q makes it worse is not said: %q", worse, got.Diagnosis.Never)
			}
		}
	}
}

// What an alert's playbook says never to do to a knob holds whoever owns the diagnosis: slow first tokens and a smaller
// budget do not go together, also when the alert on preemptions fires as well.
func TestWhatOneAlertForbidsAnotherDoesNotAllow(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, other := range []string{"vLLMHighTTFT", "vLLMQueueBacklog"} {
		got := c.Diagnose(playbooks.Input{
			Alerts: alerts("vLLMRequestSwapping", other), Pool: chat(),
			Evidence: readings(thrash()),
		})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); nameOf(got.Diagnosis) != "kv-thrash" || diff != "" {
			t.Errorf("%s: %s %s", other, nameOf(got.Diagnosis), diff)
		}
		if !skipped(got,
			"lowering max_num_batched_tokens: the alert's playbook says never to lower max_num_batched_tokens: ") {
			t.Errorf("%s: it is not told what was skipped: %q", other, got.Diagnosis.Skipped)
		}
	}
}

// Who is asked only because nothing better is known forbids nothing: what helps against a queue is proposed, although
// the playbook on pods that stand still says never to add replicas.
func TestPlaybooksThatAnswerNoAlertForbidNothing(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, names := range [][]string{nil, {"SomethingOfOurOwn"}} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(names...), Pool: chat(), Evidence: readings(with(map[string]float64{
			"ttft_p95": 9, "queue_time_p95": 6, "waiting": 60, "waiting_mean": 60, "waiting_per_engine": 30,
			"waiting_per_engine_mean": 30, "waiting_worst_pod": 32, "waiting_second_pod": 28,
		}))})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); nameOf(got.Diagnosis) != "queueing" || diff != "" {
			t.Errorf("%q: %s %s\n%s", names, nameOf(got.Diagnosis), diff, got.Note)
		}
	}
}

// Whatever the readings are, an incident that is about slow first tokens never leads to a smaller token budget.
func TestHighTTFTNeverLowersMaxNumBatchedTokens(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	lowered := func(r playbooks.Result) bool {
		return slices.ContainsFunc(r.Steps, func(s incident.StepRequest) bool {
			return s.Kind == incident.StepMaxNumBatchedTokens && s.Factor < 1
		})
	}
	for _, alert := range []string{"vLLMHighTTFT", "HighTTFT"} {
		for _, tr := range troubles() {
			got := c.Diagnose(playbooks.Input{Alerts: alerts(alert), Pool: chat(), Evidence: tr.evidence(nil)})
			if lowered(got) {
				t.Errorf("%s with the readings of %s: %s lowers it", alert, tr.diagnosis, nameOf(got.Diagnosis))
			}
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts(alert), Pool: chat(), Evidence: readings(thrash())})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); diff != "" {
			t.Error(diff)
		}
		if !skipped(got,
			"lowering max_num_batched_tokens: the alert's playbook says never to lower max_num_batched_tokens: ") {
			t.Errorf("it is not told what was skipped: %q", got.Diagnosis.Skipped)
		}
	}
}

func TestAStepIsLeftOutWhenItsOwnRuleDoesNotHold(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	prefill := map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000}
	withRaise := []incident.StepKind{incident.StepManual, incident.StepMaxNumBatchedTokens, incident.StepManual}
	without := []incident.StepKind{incident.StepManual, incident.StepManual}
	tests := []struct {
		name    string
		ev      incident.Evidence
		want    []incident.StepKind
		skipped string
	}{
		{"room in the time per token", readings(with(maps.Clone(prefill))), withRaise, ""},
		{"no room", func() incident.Evidence {
			ev := with(prefill)
			ev["tpot_p95"] = 0.049
			return readings(ev)
		}(), without, "raising max_num_batched_tokens: TPOT p95 49 ms, above 40 ms"},
		{
			"prompts that fit into a step",
			readings(with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 1500})), without,
			"raising max_num_batched_tokens: ",
		},
		{
			// Half a codebase in every prompt: each step is full of prompt tokens, and a larger one is as much longer.
			"steps that are large enough",
			func() incident.Evidence {
				ev := readings(with(maps.Clone(prefill)))
				ev.Cluster = incident.Cluster{Args: map[string]float64{"max_num_batched_tokens": 8192}}
				return ev
			}(), without,
			"raising max_num_batched_tokens: ",
		},
		{
			"a step that nothing sets",
			func() incident.Evidence {
				ev := readings(with(maps.Clone(prefill)))
				ev.Cluster = incident.Cluster{Args: map[string]float64{}}
				return ev
			}(), without,
			"raising max_num_batched_tokens: ",
		},
		{"not known", func() incident.Evidence {
			ev := with(prefill)
			delete(ev, "tpot_p95")
			return readings(ev)
		}(), without, "raising max_num_batched_tokens: TPOT p95 not read"},
		{
			"a prefix cache that finds less than usual",
			readings(with(map[string]float64{
				"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000, "prefix_hit_rate": 0.38,
			})), without,
			"Prefix hit rate 38%, below 40% (80% of Usual prefix hits)",
		},
		{
			"a prefix cache that misses more than usual",
			readings(with(map[string]float64{
				"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000, "prefix_hit_rate": 0.74, "prefix_hit_rate_usual": 0.85,
			})), without,
			"Prefix miss rate 26%, above 22.5% (1.5 × Usual prefix misses)",
		},
		{"a pool without prefix caching", func() incident.Evidence {
			ev := readings(with(maps.Clone(prefill)))
			ev.Readings["prefix_hit_rate"], ev.Readings["prefix_hit_rate_usual"] = incident.Reading{}, incident.Reading{}
			return ev
		}(), withRaise, ""},
		{"a hit rate that could not be read", func() incident.Evidence {
			ev := readings(with(maps.Clone(prefill)))
			ev.Readings["prefix_hit_rate"] = incident.Reading{Error: "timeout"}
			return ev
		}(), without, "Prefix hit rate could not be read"},
		{
			"a young engine",
			readings(with(map[string]float64{
				"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000, "engine_age": 600,
			})), without,
			"Youngest engine 10 min, below 15 min",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.ev.Cluster.Args == nil {
				tt.ev.Cluster = incident.Cluster{Args: map[string]float64{"max_num_batched_tokens": 2048}}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: tt.ev})
			if diff := cmp.Diff(tt.want, kinds(got.Steps)); diff != "" {
				t.Errorf("%s: %s", nameOf(got.Diagnosis), diff)
			}
			if tt.skipped != "" && !skipped(got, tt.skipped) {
				t.Errorf("skipped: %q", got.Diagnosis.Skipped)
			}
			if strings.Contains(got.Note, "max_num_batched_tokens") {
				t.Errorf("the note, which is told above the cause, is %q", got.Note)
			}
			for _, s := range got.Steps {
				if s.Kind == incident.StepMaxNumBatchedTokens && s.Factor <= 1 {
					t.Errorf("the factor is %g", s.Factor)
				}
			}
		})
	}
}

// skipped says whether a step with such a reason is told to be skipped.
func skipped(r playbooks.Result, part string) bool {
	return r.Diagnosis != nil &&
		slices.ContainsFunc(r.Diagnosis.Skipped, func(s string) bool { return strings.Contains(s, part) })
}

// Of advice for several cases the one that fits is given. That the others don't fit is no news, and read like an error
// in the first lines of a message.
func TestAdviceThatTheReadingsGiveNoReasonForIsNotTold(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	told := 0
	for _, tr := range troubles() {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)})
		if got.Diagnosis == nil {
			continue
		}
		told += len(got.Diagnosis.Skipped)
		if skipped(got, "a manual step") || strings.Contains(got.Note, "Skipped") {
			t.Errorf("%s: skipped %q, note %q", tr.diagnosis, got.Diagnosis.Skipped, got.Note)
		}
	}
	if told == 0 {
		t.Error("no trouble skips a step, so this test shows nothing")
	}
}

func TestDiagnosesWithoutActionProposeNothingAndSayWhy(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		if !slices.Contains([]string{"idle", "light-load", "healthy-full-batch"}, tr.diagnosis) {
			continue
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)})
		if len(got.Steps) != 0 || !strings.Contains(got.Note, "No action needed: ") {
			t.Errorf("%s: %d steps, note %q", tr.diagnosis, len(got.Steps), got.Note)
		}
	}
}

// A stalled or failing engine is not cured by more of them.
func TestStallsAndErrorsNeverScale(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		if tr.diagnosis != "stalled" && tr.diagnosis != "engine-errors" {
			continue
		}
		for _, p := range c.Playbooks() {
			if !slices.Contains(p.Diagnoses, tr.diagnosis) {
				continue
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(p.Alerts...), Pool: chat(), Evidence: tr.evidence(nil)})
			if diff := cmp.Diff([]incident.StepKind{incident.StepManual},
				kinds(got.Steps)); nameOf(got.Diagnosis) != tr.diagnosis || diff != "" {
				t.Errorf("%s: %s %s", p.Name, nameOf(got.Diagnosis), diff)
			}
		}
	}
}

func TestTheLongestWarmUpBoundsEveryStep(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{MaxWarmUp: 5 * time.Second})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMRequestSwapping"), Pool: chat(), Evidence: readings(thrash())})
	if len(got.Steps) == 0 {
		t.Fatal("no steps")
	}
	for _, s := range got.Steps {
		if s.WarmUp > 5*time.Second {
			t.Errorf("%s warms up for %s", s.Kind, s.WarmUp)
		}
	}
}

// A person reads the sizes in an advice, and copies its counts into a configuration.
func TestOnlyWhatIsReadHasSeparatedThousands(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	values := thrash()
	values["kv_capacity"], values["tokens_per_request"], values["safe_max_num_seqs"] = 2_500_000, 1700, 1250.9
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMRequestSwapping"), Pool: chat(), Evidence: readings(values)})
	want := "max_num_seqs to at most 1250 (0.85 x 2,500,000 of KV cache / 1,700 in an average request)"
	advice := got.Steps[len(got.Steps)-1].Advice
	if !strings.Contains(strings.Join(strings.Fields(advice), " "), want) {
		t.Errorf("the advice is %s", advice)
	}
}
