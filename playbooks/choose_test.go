package playbooks_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Two diagnoses hold. The rank alone would choose the one that must not win.
func TestOfTwoTrueDiagnosesTheOneThatTheAlertIsAboutIsChosen(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	stutter := map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.03}
	cold := map[string]float64{"ttft_p95": 4, "prefill_p95": 1, "engine_age": 300, "prefix_hit_rate": 0.1}
	few := map[string]float64{
		"waiting": 6, "waiting_mean": 6, "waiting_per_engine": 3, "waiting_per_engine_mean": 3,
		"queue_time_p95": 3,
	}
	queue := map[string]float64{
		"ttft_p95": 8, "waiting": 20, "waiting_mean": 20, "waiting_per_engine": 10, "waiting_per_engine_mean": 10,
		"waiting_worst_pod": 11, "waiting_second_pod": 9, "queue_time_p95": 7,
	}
	full := map[string]float64{
		"kv_usage": 0.98, "kv_usage_held": 0.98, "kv_usage_max": 0.99, "kv_usage_peak": 0.99,
		"kv_second_pod": 0.98, "waiting_mean": 3, "preemption_rate": 0.1,
	}
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
			"prefill-interference", "nixl-transfer-failing", "also true, independent of prefill interference (", "",
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
			"nixl-transfer-failing", "queueing", "symptom of nixl transfer failing (", "",
		},
		{
			"the queue that they explain is not chosen where they must stand back",
			[]string{"vLLMQueueBacklog", "vLLMHighTPOT"},
			[]map[string]float64{queue, stutter, {"nixl_failed_rate": 0.2}},
			"nixl-transfer-failing", "prefill-interference", "also true, independent of nixl transfer failing (",
			"Also true, independently: prefill interference. For that, consider throttling.",
		},
		{
			"deferred requests have nothing to do with tokens that stutter",
			[]string{"vLLMHighTPOT"},
			[]map[string]float64{stutter, {"waiting": 12, "waiting_deferred": 10}},
			"prefill-interference", "deferred-waits", "also true, independent of prefill interference (", "",
		},
		{
			"waiting for warm caches does not stand before a queue",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, few},
			"queueing", "warming-up", "also true, independent of queueing (", "",
		},
		{
			"cold caches explain the long prefill, and that is waited for",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, {"prefill_p95": 3}},
			"warming-up", "long-prefill", "symptom of warming up (", "check again in 15 minutes",
		},
		{
			"a transfer that fails now and then does not keep a pool from warming up",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, {"prefill_p95": 3, "nixl_failed_rate": 0.12}},
			"warming-up", "nixl-transfer-failing", "also true, independent of warming up (", "check again in 15 minutes",
		},
		{
			"waiting for warm caches does not stand before failed transfers that make a queue",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{cold, few, {"nixl_failed_rate": 0.12}},
			"nixl-transfer-failing", "warming-up", "also true, independent of nixl transfer failing (", "",
		},
		{
			"waiting for warm caches does not stand before clients that leave",
			[]string{"vLLMHighAbortRate"},
			[]map[string]float64{cold, {"abort_ratio": 0.3}},
			"client-timeouts", "warming-up", "also true, independent of client timeouts (", "",
		},
		{
			"a full cache pushes out what is only cached",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{full, {
				"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1, "request_rate": 9, "request_rate_usual": 6,
				"tokens_per_request": 900, "tokens_per_request_usual": 900,
			}},
			"at-capacity", "", "", "",
		},
		{
			"longer requests fill the cache, too",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{full, {
				"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1, "request_rate": 6, "request_rate_usual": 6,
				"tokens_per_request": 1800, "tokens_per_request_usual": 900,
			}},
			"at-capacity", "", "", "",
		},
		{
			"prompts that miss fill the cache themselves where the load is as usual",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{full, {
				"ttft_p95": 4, "prefill_p95": 3, "prefix_hit_rate": 0.1, "request_rate": 6, "request_rate_usual": 6,
				"tokens_per_request": 900, "tokens_per_request_usual": 900,
			}},
			"prefix-cache-miss", "at-capacity", "symptom of prefix cache miss (", "",
		},
		{
			"a cache that misses is chosen, and the queue beside it is said with what would help",
			[]string{"vLLMHighTTFT"},
			[]map[string]float64{few, {"ttft_p95": 4, "prefix_hit_rate": 0.1}},
			"prefix-cache-miss", "queueing", "also true, independent of prefix cache miss (",
			"Also true, independently: queueing. For that, consider throttling, adding replicas.",
		},
		{
			"one slow pod explains that tokens stutter",
			[]string{"vLLMHighTPOT"},
			[]map[string]float64{stutter, {
				"tpot_worst_pod": 0.4, "tpot_second_pod": 0.04, "tpot_mean_worst_pod": 0.1, "tpot_mean_second_pod": 0.02,
			}},
			"one-bad-replica", "prefill-interference", "symptom of one bad replica (", "",
		},
		{
			"an engine that died explains the full caches of the others",
			[]string{"vLLMGPUCacheFull"},
			[]map[string]float64{full, {"engine_resets": 1}},
			"engine-dead", "at-capacity", "symptom of engine dead (", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values := map[string]float64{}
			for _, p := range tt.parts {
				maps.Copy(values, p)
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alerts...), Pool: chat(), Evidence: readings(with(values))})
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

// What the message says would help beside the chosen diagnosis is what could be proposed, without what the chosen one
// or an alert's playbook forbids.
func TestBesideTheChosenDiagnosisOnlyStepsThatNothingForbidsAreNamed(t *testing.T) {
	t.Parallel()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	c, err := playbooks.Load(append(files, playbooks.File{Name: "own.yaml", Data: []byte(`
name: own
title: Something of our own
alerts: [Own]
healthy: [{rule: gpu_xid <= 0}]
diagnoses:
  - name: own-cause
    rank: 1
    summary: A person must look.
    source: a test
    when: present(gpu_xid) && gpu_xid > 0
    steps: [{manual: {advice: Look.}}]
`)}), playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stutter := map[string]float64{
		"gpu_xid": 1, "tpot_p95": 0.3, "tpot_p50": 0.03, "tpot_mean": 0.06, "ttft_p95": 0.2, "prompt_len_p95": 9000,
	}
	long := map[string]float64{"nixl_failed_rate": 0.12, "ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000}
	const interference = "Also true, independently: prefill interference. For that, consider "
	for _, tt := range []struct {
		name   string
		alerts []string
		values map[string]float64
		want   string
		note   string // what it says of the other diagnosis; empty for nothing
	}{
		{
			"nothing forbids them",
			[]string{"Own", "vLLMHighTPOT"},
			stutter, "own-cause",
			interference + "throttling, adding replicas, lowering max_num_batched_tokens.",
		},
		{
			"the rule of a step does not hold",
			[]string{"Own", "vLLMHighTPOT"},
			map[string]float64{"gpu_xid": 1, "tpot_p95": 0.3, "tpot_p50": 0.03, "ttft_p95": 0.3},
			"own-cause",
			interference + "throttling, adding replicas.",
		},
		{
			"responses only stutter",
			[]string{"Own", "vLLMHighTPOT"},
			map[string]float64{
				"gpu_xid": 1, "tpot_p95": 0.3, "tpot_p50": 0.03, "tpot_mean": 0.039, "ttft_p95": 0.2, "prompt_len_p95": 9000,
			},
			"own-cause",
			interference + "throttling, adding replicas.",
		},
		{
			"an alert's playbook forbids a step",
			[]string{"Own", "vLLMHighTPOT", "vLLMHighTTFT"},
			stutter, "own-cause",
			interference + "throttling, adding replicas.",
		},
		{
			"the chosen diagnosis and its playbook forbid steps",
			[]string{"NixlTransferFailing", "vLLMHighTPOT"},
			map[string]float64{"nixl_failed_rate": 0.12, "tpot_p95": 0.3, "tpot_p50": 0.03, "ttft_p95": 0.2},
			"nixl-transfer-failing", interference + "throttling.",
		},
		{
			"the only step is left",
			[]string{"Own", "vLLMHighTTFT"},
			map[string]float64{"gpu_xid": 1, "ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000},
			"own-cause",
			"Also true, independently: long prefill. For that, consider raising max_num_batched_tokens.",
		},
		{"no step is left", []string{"NixlTransferFailing", "vLLMHighTTFT"}, long, "nixl-transfer-failing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ev := readings(with(tt.values))
			ev.Cluster = incident.Cluster{Args: map[string]float64{"max_num_batched_tokens": 2048}}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alerts...), Pool: chat(), Evidence: ev})
			if nameOf(got.Diagnosis) != tt.want {
				t.Fatalf("got %s, want %s", nameOf(got.Diagnosis), tt.want)
			}
			if tt.note == "" && strings.Contains(got.Note, "Also true, independently") || !strings.Contains(got.Note, tt.note) {
				t.Errorf("the note is %q, want %q", got.Note, tt.note)
			}
		})
	}
}

func TestWhatIsPastALimitOfZeroIsNamedAfterWhatIsFarPastItsTarget(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	// Preemptions with room in the cache are no known cause, and neither is a late first token without a queue and a
	// prefill.
	got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMRequestSwapping", "vLLMHighTTFT"), Pool: chat(),
		Evidence: readings(with(map[string]float64{
			"preemption_rate": 3, "ttft_p95": 10, "ttft_worst_pod": 10,
			"ttft_second_pod": 10,
		})),
	})
	if got.Diagnosis != nil {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	_, furthest, found := strings.Cut(got.Note, "Furthest past target or limit: ")
	late, preempted := strings.Index(furthest, "10 (0.5)"), strings.Index(furthest, "3 (0)")
	if !found || late < 0 || preempted < 0 || late > preempted {
		t.Errorf("the note is %q", got.Note)
	}
}

func TestWhatIsPastItsTargetIsNamedBeforeWhatIsCloseToIt(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMHighTTFT"), Pool: chat(),
		Evidence: readings(with(map[string]float64{"ttft_p95": 10, "ttft_worst_pod": 10, "ttft_second_pod": 10})),
	})
	if got.Diagnosis != nil {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	past, closest := strings.Index(got.Note, "Furthest past target or limit: "), strings.Index(got.Note,
		"Closest to target or limit: ")
	if past < 0 || closest < past {
		t.Errorf("the note is %q", got.Note)
	}
}
