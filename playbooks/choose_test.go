package playbooks_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Two diagnoses hold. The rank alone would choose the one that must not win.
func TestOfTwoTrueDiagnosesTheOneThatTheAlertIsAboutIsChosen(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	stutter := map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.03}
	cold := map[string]float64{"ttft_p95": 4, "prefill_p95": 1, "engine_age": 300, "prefix_hit_rate": 0.1}
	queue := map[string]float64{
		"ttft_p95": 8, "waiting": 20, "waiting_mean": 20, "waiting_per_engine": 10, "waiting_per_engine_mean": 10, "waiting_worst_pod": 11, "waiting_second_pod": 9, "queue_time_p95": 7,
	}
	full := map[string]float64{"kv_usage": 0.98, "kv_usage_held": 0.98, "kv_usage_max": 0.99, "kv_usage_peak": 0.99, "kv_second_pod": 0.98, "waiting_mean": 3, "preemption_rate": 0.1}
	for _, tt := range []struct {
		name   string
		alerts []string
		parts  []map[string]float64
		want   string
		other  string
		why    string // the beginning of why the other was not chosen
		note   string
	}{
		{
			"failed transfers have nothing to do with tokens that stutter",
			[]string{"vLLMHighTPOT"},
			[]map[string]float64{stutter, {"nixl_failed_rate": 0.2}},
			"prefill-interference", "nixl-transfer-failing", "it holds too, independent of prefill-interference (", "",
		},
		{
			"for an alert on transfers they have",
			[]string{"NixlTransferFailing"},
			[]map[string]float64{stutter, {"nixl_failed_rate": 0.2}},
			"nixl-transfer-failing", "", "", "",
		},
		{
			"failed transfers explain the queue",
			[]string{"vLLMQueueBacklog"},
			[]map[string]float64{queue, {"nixl_failed_rate": 0.2}},
			"nixl-transfer-failing", "queueing", "it is a symptom: nixl-transfer-failing explains it (", "",
		},
		{
			"the queue that they explain is not chosen where they must stand back",
			[]string{"vLLMQueueBacklog", "vLLMHighTPOT"},
			[]map[string]float64{queue, stutter, {"nixl_failed_rate": 0.2}},
			"nixl-transfer-failing", "prefill-interference", "it holds too, independent of nixl-transfer-failing (",
			"Independent of it prefill-interference holds too; against that one throttling, adding replicas, lowering max_num_batched_tokens would help.",
		},
		{
			"deferred requests have nothing to do with tokens that stutter",
			[]string{"vLLMHighTPOT"},
			[]map[string]float64{stutter, {"waiting": 12, "waiting_deferred": 10}},
			"prefill-interference", "deferred-waits", "it holds too, independent of prefill-interference (", "",
		},
		{
			"waiting for warm caches does not stand before a queue",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, {"waiting": 6, "waiting_mean": 6, "waiting_per_engine": 3, "waiting_per_engine_mean": 3, "queue_time_p95": 3}},
			"queueing", "warming-up", "it holds too, independent of queueing (", "",
		},
		{
			"cold caches explain the long prefill, and that is waited for",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, {"prefill_p95": 3}},
			"warming-up", "long-prefill", "it is a symptom: warming-up explains it (", "look again in 15 minutes",
		},
		{
			"waiting for warm caches does not stand before clients that leave",
			[]string{"vLLMHighAbortRate"},
			[]map[string]float64{cold, {"abort_ratio": 0.3}},
			"client-timeouts", "warming-up", "it holds too, independent of client-timeouts (", "",
		},
		{
			"a full cache pushes out what is only cached",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{full, {"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1}},
			"at-capacity", "prefix-cache-miss", "it is a symptom: at-capacity explains it (", "",
		},
		{
			"a cache that misses is chosen, and the queue beside it is said with what would help",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{{"ttft_p95": 4, "prefix_hit_rate": 0.1, "waiting": 6, "waiting_mean": 6, "waiting_per_engine": 3, "waiting_per_engine_mean": 3, "queue_time_p95": 3}},
			"prefix-cache-miss", "queueing", "it holds too, independent of prefix-cache-miss (",
			"Independent of it queueing holds too; against that one throttling, adding replicas would help.",
		},
		{
			"one slow pod explains that tokens stutter",
			[]string{"vLLMHighTPOT"},
			[]map[string]float64{stutter, {"tpot_worst_pod": 0.4, "tpot_second_pod": 0.04}},
			"one-bad-replica", "prefill-interference", "it is a symptom: one-bad-replica explains it (", "",
		},
		{
			"an engine that died explains the full caches of the others",
			[]string{"vLLMGPUCacheFull"},
			[]map[string]float64{full, {"engine_resets": 1}},
			"engine-dead", "at-capacity", "it is a symptom: engine-dead explains it (", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values := calm()
			for _, p := range tt.parts {
				maps.Copy(values, p)
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alerts...), Pool: chat(), Evidence: readings(values)})
			if nameOf(got.Diagnosis) != tt.want {
				t.Fatalf("got %s, want %s; %+v", nameOf(got.Diagnosis), tt.want, got.Others)
			}
			if tt.other != "" {
				if o := verdictOf(t, got, tt.other); o.Verdict != incident.True || !strings.HasPrefix(o.Why, tt.why) {
					t.Errorf("%s: %s, %q", tt.other, o.Verdict, o.Why)
				}
			}
			if !strings.Contains(got.Note, tt.note) {
				t.Errorf("the note is %q", got.Note)
			}
		})
	}
}

// Whatever two troubles meet, "nothing is to be done" is never the answer to one that acts and that it does not bring about.
func TestADiagnosisWithoutActionNeverHidesOneThatActs(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	well := calm()
	steps := map[string]int{}
	for _, tr := range troubles() {
		steps[tr.diagnosis] += len(c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)}).Steps)
	}
	met := 0
	for _, a := range troubles() {
		for _, b := range troubles() {
			values := maps.Clone(a.readings)
			for name, v := range b.readings {
				if usual, known := well[name]; !known || usual != v {
					values[name] = v
				}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(a.alert, b.alert), Pool: chat(), Evidence: readings(values)})
			if got.Diagnosis == nil || steps[got.Diagnosis.Name] > 0 {
				continue
			}
			met++
			for _, o := range got.Others {
				if o.Verdict == incident.True && steps[o.Name] > 0 && !strings.HasPrefix(o.Why, "it is a symptom: ") {
					t.Errorf("%s with %s: %s is chosen, and %s acts", a.diagnosis, b.diagnosis, got.Diagnosis.Name, o.Name)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no diagnosis without action was ever chosen, so nothing was looked at")
	}
}

func TestALimitOfZeroDoesNotStandBeforeWhatIsFarBeyondItsLimit(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	// Preemptions with room in the cache are no known cause, and neither is a late first token without a queue and a prefill.
	got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMRequestSwapping", "vLLMHighTTFT"), Pool: chat(),
		Evidence: readings(with(map[string]float64{"preemption_rate": 3, "ttft_p95": 10, "ttft_worst_pod": 10, "ttft_second_pod": 10})),
	})
	if got.Diagnosis != nil {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	_, furthest, found := strings.Cut(got.Note, "Furthest beyond their limits: ")
	late, preempted := strings.Index(furthest, "10 (0.5)"), strings.Index(furthest, "3 (0)")
	if !found || late < 0 || preempted < 0 || late > preempted {
		t.Errorf("the note is %q", got.Note)
	}
}
