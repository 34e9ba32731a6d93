package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Where the evidence does not tell two causes apart, the second one is said with what decides; where it does, nothing.
func TestDoubtsAreSaidWithWhatDecides(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	cold := func(hits float64) map[string]float64 {
		return map[string]float64{
			"ttft_p95": 4, "prefill_p95": 3, "engine_age": 300, "prefix_hit_rate": hits, "prefix_hit_rate_usual": 0.5,
			"prefix_miss_rate": 1 - hits, "prefix_miss_rate_usual": 0.5,
		}
	}
	queue := map[string]float64{
		"ttft_p95": 8, "waiting": 20, "waiting_mean": 20, "waiting_per_engine": 10, "waiting_per_engine_mean": 10,
		"waiting_worst_pod": 11, "waiting_second_pod": 9, "queue_time_p95": 7,
	}
	full := maps.Clone(queue)
	maps.Copy(full, map[string]float64{
		"kv_usage": 0.98, "kv_usage_held": 0.98, "kv_usage_max": 0.99, "kv_usage_peak": 0.99, "kv_second_pod": 0.98,
	})
	roomy := func(values map[string]float64) map[string]float64 {
		out := maps.Clone(queue)
		maps.Copy(out, map[string]float64{"kv_usage": 0.3, "kv_usage_max": 0.3, "prefill_p95": 0.2})
		maps.Copy(out, values)
		return out
	}
	stutter := func(values map[string]float64) map[string]float64 {
		out := map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.03}
		maps.Copy(out, values)
		return out
	}
	for _, tt := range []struct {
		name    string
		values  map[string]float64
		without string // a reading that has no data
		alerts  []string
		want    string // the diagnosis
		doubts  []string
	}{
		{
			"the hit rate is just above 80% of the usual", cold(0.43), "",
			[]string{"vLLMHighTTFT"},
			"long-prefill",
			[]string{"near warming-up prefix_hit_rate"},
		},
		{"the hit rate is far above it", cold(0.48), "", []string{"vLLMHighTTFT"}, "long-prefill", nil},
		{
			"the hit rate is just below it: the long prefill that cold caches explain is no other cause", cold(0.39), "",
			[]string{"vLLMHighTTFT"},
			"warming-up",
			nil,
		},
		{
			"nobody knows whether requests are preempted", queue, "preemption_rate",
			[]string{"vLLMQueueBacklog"},
			"queueing", nil,
		},
		{
			"a queue and tokens that stutter", stutter(queue), "",
			[]string{"vLLMHighTTFT", "vLLMHighTPOT"},
			"queueing",
			[]string{"both prefill-interference tpot_p95"},
		},
		{
			"tokens that stutter on GPUs as fast as usual", stutter(map[string]float64{
				"tpot_mean_usual": 0.03, "tpot_mean_fastest": 0.03, "tpot_mean_lately": 0.03,
			}), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference", nil,
		},
		{
			"tokens that stutter, and nobody knows how fast the GPUs were", stutter(nil), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference",
			[]string{"missing slower-at-equal-load tpot_mean_usual"},
		},
		{
			"tokens that stutter at a load that has grown, which explains them",
			stutter(map[string]float64{"request_rate": 2, "request_rate_usual": 1}), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference", nil,
		},
		{
			"tokens that stutter where longer responses explain them",
			stutter(map[string]float64{"tokens_per_request": 2000, "tokens_per_request_usual": 1000}), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference", nil,
		},
		{
			"tokens that stutter in a pool whose drafts are rejected more often",
			stutter(map[string]float64{"spec_acceptance": 0.6, "spec_acceptance_usual": 0.7}), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference", nil,
		},
		{
			"slow prompts that most of a late front end explains",
			map[string]float64{
				"ttft_p95": 4, "ttft_p95_lately": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1, "ttft_mean": 3, "ttft_rest": 2.8,
				"e2e_rest": 2.8,
			},
			"prefix_hit_rate_usual",
			[]string{"vLLMHighTTFT"},
			"frontend-bound", nil,
		},
		{
			"slow prompts, few of which hit the cache, in a pool without a past",
			map[string]float64{"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1},
			"prefix_hit_rate_usual",
			[]string{"vLLMHighTTFT"},
			"long-prefill",
			[]string{"missing prefix-cache-miss prefix_hit_rate_usual"},
		},
		{
			"slow prompts, most of which hit the cache",
			map[string]float64{"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.8},
			"prefix_hit_rate_usual",
			[]string{"vLLMHighTTFT"},
			"long-prefill", nil,
		},
		{
			"a queue with room for more, in a version that doesn't say what it waits for",
			roomy(map[string]float64{"running_per_engine": 10, "running_peak_usual": 20}), "deferred_share",
			[]string{"vLLMQueueBacklog"},
			"queueing",
			[]string{"missing deferred-waits waiting_deferred deferred_share"},
		},
		{
			"a queue that nothing defers, in a version that says what it waits for",
			roomy(map[string]float64{"running_per_engine": 10, "running_peak_usual": 20, "waiting_deferred": 0}),
			"deferred_share",
			[]string{"vLLMQueueBacklog"},
			"queueing", nil,
		},
		{
			"a queue before a cache that is more than half full",
			roomy(map[string]float64{"running_per_engine": 10, "running_peak_usual": 20, "kv_usage_max": 0.6}),
			"deferred_share",
			[]string{"vLLMQueueBacklog"},
			"queueing", nil,
		},
		{
			"a queue with as many running as before",
			roomy(map[string]float64{"running_per_engine": 20, "running_peak_usual": 20}), "deferred_share",
			[]string{"vLLMQueueBacklog"},
			"queueing", nil,
		},
		{
			"tokens that stutter on GPUs that are nearly slower than usual",
			stutter(map[string]float64{
				"tpot_mean_usual": 0.02, "tpot_mean_fastest": 0.025, "tpot_mean_lately": 0.03,
			}), "",
			[]string{"vLLMHighTPOT"},
			"prefill-interference",
			[]string{"near slower-at-equal-load tpot_mean_fastest"},
		},
		{
			"of a pool in which nothing is wrong nothing is in doubt",
			map[string]float64{"waiting_per_engine": 4.9},
			"",
			[]string{"vLLMHighTTFT"},
			"", nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ev := readings(with(tt.values))
			if tt.without != "" {
				ev.Readings[tt.without] = incident.Reading{Signal: tt.without, At: at()}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alerts...), Pool: chat(), Evidence: ev}).Diagnosis
			if got == nil {
				if tt.want != "" {
					t.Fatalf("no diagnosis, want %s", tt.want)
				}
				return
			}
			var doubts []string
			for _, d := range got.Doubts {
				text := string(d.Kind) + " " + d.Name
				for _, c := range d.Conditions {
					text += " " + c.Signal
				}
				doubts = append(doubts, text)
			}
			if diff := cmp.Diff(tt.doubts, doubts); got.Name != tt.want || diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Name, diff)
			}
		})
	}
}

// A step is proposed only where it is right for every cause that it may be.
func TestNoStepIsProposedThatHurtsWhatItMayBeInstead(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tt := range []struct {
		name    string
		fastest float64
		want    bool
	}{
		{"the GPUs are nearly slower than usual, which no restart mends", 0.025, false},
		{"the GPUs are as fast as usual", 0.02, true},
	} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTPOT"), Pool: chat(), Evidence: readings(with(
			map[string]float64{
				"ttft_p95": 0.2, "tpot_mean": 0.045, "tpot_p95": 0.3, "tpot_p50": 0.03,
				"prompt_len_p95": 6000, "prompt_len_usual": 6000,
				"tpot_mean_usual": 0.02, "tpot_mean_fastest": tt.fastest, "tpot_mean_lately": 0.03,
			}))})
		proposed := slices.ContainsFunc(got.Steps, func(s incident.StepRequest) bool {
			return s.Kind == incident.StepMaxNumBatchedTokens
		})
		if got.Diagnosis.Name != "prefill-interference" || proposed != tt.want {
			t.Errorf("%s: %s, proposed: %t, want %t; skipped: %q", tt.name, got.Diagnosis.Name, proposed, tt.want,
				got.Diagnosis.Skipped)
		}
	}
}

// Where nothing is diagnosed, what nobody can tell is said with what is missing.
func TestWithoutADiagnosisItIsSaidWhatItCouldBe(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tt := range []struct {
		name    string
		waiting float64
		want    bool
	}{
		{"first tokens are late without a queue, in a version without prefill times", 0, true},
		{"some requests wait", 3, false},
	} {
		ev := readings(with(map[string]float64{
			"ttft_p95": 4, "ttft_p95_lately": 4, "waiting_per_engine": tt.waiting, "waiting_per_engine_mean": tt.waiting,
		}))
		for _, name := range []string{"prefill_p95", "queue_time_p95"} {
			ev.Readings[name] = incident.Reading{Signal: name, At: at()}
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: ev})
		said := strings.Contains(got.Note, labelOf(t, c, "ttft_rest")) &&
			strings.Contains(got.Note, incident.CauseWords("frontend-bound"))
		if got.Diagnosis != nil || said != tt.want {
			t.Errorf("%s: %v, %q", tt.name, got.Diagnosis, got.Note)
		}
	}
}
