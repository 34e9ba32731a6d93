package playbooks_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func TestRecovery(t *testing.T) {
	t.Parallel()
	const yes, no, open = incident.True, incident.False, incident.Undecided
	type state map[string]any // a number, a reading, or nil for no data
	quiet := state{
		"running": 0.0, "waiting": 0.0, "waiting_per_engine": 0.0, "generation_tokens_rate": 0.0,
		"prompt_tokens_rate": 0.0,
	}
	tests := []struct {
		name  string
		alert string
		state state
		want  incident.Truth
	}{
		{"within target", "vLLMHighTTFT", state{"ttft_p95": 0.5}, yes},
		{"beyond target", "vLLMHighTTFT", state{"ttft_p95": 0.51}, no},
		{"no data while requests run", "vLLMHighTTFT", state{"ttft_p95": nil}, open},
		{"no data while requests wait", "vLLMHighTTFT", state{"ttft_p95": nil, "running": 0.0, "waiting": 1.0}, open},
		{"no data because nobody asks", "vLLMHighTTFT", state{"ttft_p95": nil, "running": 0.0}, yes},
		{
			"nobody asks any more, but the window still has slow ones", "vLLMHighTTFT",
			state{"ttft_p95": 9.0, "running": 0.0},
			no,
		},
		{
			"an error is not quiet", "vLLMHighTTFT",
			state{"ttft_p95": incident.Reading{Error: "timeout"}, "running": 0.0},
			open,
		},
		{"the gauges are missing too", "vLLMHighTTFT", state{"ttft_p95": nil, "running": nil, "waiting": nil}, open},
		{"a bound below the target", "vLLMHighTTFT", state{"ttft_p95": bound(0.4, incident.AtMost)}, yes},
		{"a bound that reaches over the target", "vLLMHighTTFT", state{"ttft_p95": bound(0.6, incident.AtMost)}, open},
		{"a bound above the target", "vLLMHighTTFT", state{"ttft_p95": bound(10, incident.AtLeast)}, no},

		{"queue is short", "vLLMQueueBacklog", state{"queue_time_p95": bound(0.3, incident.AtMost)}, yes},
		{"requests still wait", "vLLMQueueBacklog", state{"waiting": 12.0, "waiting_per_engine": 6.0}, no},
		{
			"a queue that stands, for which the target leaves room", "vLLMQueueBacklog",
			state{"waiting_per_engine": 6.0, "waiting_per_engine_mean": 6.0},
			yes,
		},
		{
			"a queue that stands, and first tokens are late", "vLLMQueueBacklog",
			state{"waiting_per_engine": 6.0, "waiting_per_engine_mean": 6.0, "ttft_p95": 0.6},
			no,
		},
		{
			"a queue that stands and is as long as what the published alert fires on", "vLLMQueueBacklog",
			state{"waiting_per_engine": 51.0, "waiting_per_engine_mean": 51.0},
			no,
		},
		{"those that finished had waited long", "vLLMQueueBacklog", state{"queue_time_p95": 8.0}, no},
		{
			"a long queue settles it, whatever is missing", "vLLMQueueBacklog",
			state{"queue_time_p95": nil, "waiting_per_engine": 6.0},
			no,
		},
		{"no queue times while requests run", "vLLMQueueBacklog", state{"queue_time_p95": nil}, open},
		{"nobody asks", "vLLMQueueBacklog", state{"queue_time_p95": nil, "running": 0.0}, yes},

		{"no preemption", "vLLMRequestSwapping", state{"preemption_rate": 0.0}, yes},
		{"one preemption in the window", "vLLMRequestSwapping", state{"preemption_rate": 0.003}, no},
		{"preemptions not known", "vLLMRequestSwapping", state{"preemption_rate": nil}, open},

		{"room in the cache", "vLLMGPUCacheFull", state{"kv_usage_max": 0.95}, yes},
		{"full cache and requests that wait", "vLLMGPUCacheFull", state{"kv_usage_max": 0.96, "waiting_mean": 3.0}, no},
		{"full cache and preemptions", "vLLMGPUCacheFull", state{"kv_usage_max": 0.96, "preemption_rate": 0.01}, no},
		{"full cache and late tokens", "vLLMGPUCacheFull", state{"kv_usage_max": 0.96, "tpot_p95": 0.06}, no},
		{"full cache without latencies", "vLLMGPUCacheFull", state{"kv_usage_max": 0.96, "ttft_p95": nil}, open},
		{"a full batch that is well", "vLLMGPUCacheFull", state{"kv_usage_max": 0.96}, yes},
		{"cache not known", "KVCacheNearFull", state{"kv_usage_max": nil}, open},

		{"tokens come in time", "vLLMHighTPOT", state{"tpot_p95": 0.05}, yes},
		{"tokens come late", "vLLMHighTPOT", state{"tpot_p95": 0.2}, no},
		{"no tokens because nobody asks", "vLLMHighTPOT", state{"tpot_p95": nil, "running": 0.0}, yes},
		{"no tokens although requests run", "vLLMHighTPOT", state{"tpot_p95": nil}, open},

		{"requests finish", "vLLMHighAbortRate", state{"abort_ratio": 0.1, "unfinished_ratio": 0.1}, yes},
		{"aborts are counted", "vLLMHighAbortRate", state{"abort_ratio": 0.2}, no},
		{"requests go missing", "vLLMHighAbortRate", state{"unfinished_ratio": 0.5}, no},
		{"one of both is not known", "vLLMHighAbortRate", state{"unfinished_ratio": nil}, open},
		{
			"nobody asks, so nothing aborts", "vLLMHighAbortRate",
			state{"abort_ratio": nil, "unfinished_ratio": nil, "running": 0.0},
			yes,
		},

		{"enough tokens", "LowThroughput", state{"generation_tokens_rate": 100.0}, yes},
		{"few tokens with requests that are served in time", "LowThroughput", state{"generation_tokens_rate": 40.0}, yes},
		{"few tokens and late ones", "LowThroughput", state{"generation_tokens_rate": 40.0, "tpot_p95": 0.06}, no},
		{
			"few tokens and requests that wait", "LowThroughput",
			state{"generation_tokens_rate": 40.0, "waiting_mean": 3.0},
			no,
		},
		{"no tokens with requests", "LowThroughput", state{"generation_tokens_rate": 0.0}, no},
		{"no tokens at night", "LowThroughput", quiet, yes},
		{"tokens not known", "LowThroughput", state{"generation_tokens_rate": nil}, open},

		{"an idle GPU of which little is asked", "GPUUnderutilized", state{"gpu_util": 0.2}, yes},
		{"an idle GPU and first tokens that come late", "GPUUnderutilized", state{"gpu_util": 0.2, "ttft_p95": 6.0}, no},
		{
			"an idle GPU, requests that run and no first token", "GPUUnderutilized",
			state{"gpu_util": 0.2, "ttft_p95": nil},
			open,
		},

		{
			"one pod slower than its target, which the pool keeps", "vLLMPodSlow",
			state{"ttft_worst_pod": 0.75, "ttft_second_pod": 0.3},
			yes,
		},
		{
			"one pod slower than the target that puts the pool beyond it", "vLLMPodSlow",
			state{"ttft_p95": 0.6, "ttft_worst_pod": 0.75, "ttft_second_pod": 0.3},
			no,
		},

		{"serving", "vLLMNotServing", state{}, yes},
		{"some pods stand still while others serve", "vLLMNotServing", state{"stalled_pods": 6.0}, no},
		{"standing still", "vLLMNotServing", state{"generation_tokens_rate": 0.0, "prompt_tokens_rate": 0.0}, no},
		{"reading prompts only, as a prefill pool does", "vLLMNotServing", state{"generation_tokens_rate": 0.0}, yes},
		{"idle is not standing still", "vLLMNotServing", quiet, yes},
	}
	c := builtin(t, playbooks.Options{})
	for _, tt := range tests {
		t.Run(tt.alert+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			values := calm()
			for name, v := range tt.state {
				if v, known := v.(float64); known {
					values[name] = v
				}
			}
			ev := readings(values)
			for name, v := range tt.state {
				switch v := v.(type) {
				case nil:
					ev.Readings[name] = incident.Reading{Signal: name}
				case incident.Reading:
					ev.Readings[name] = v
				}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alert), Pool: chat(), Evidence: ev})
			if got.Healthy != tt.want {
				t.Errorf("healthy is %s, want %s; %+v", got.Healthy, tt.want, got.Recovery)
			}
			if told := strings.Contains(got.Note, "Cannot confirm recovery: "); told != (tt.want == open) {
				t.Errorf("healthy is %s and the note is %q", got.Healthy, got.Note)
			}
		})
	}
}

func bound(v float64, b incident.Bound) incident.Reading {
	return incident.Reading{Value: &v, Bound: b}
}

func TestRecoveryOfSeveralAlertsNeedsAll(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(with(map[string]float64{"ttft_p95": 0.2, "tpot_p95": 0.3}))
	untargeted := incident.Pool{Name: "p", SLO: incident.SLO{TTFT: 0.5}}
	if got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMHighTTFT"), Pool: untargeted,
		Evidence: ev,
	}); got.Healthy != incident.True {
		t.Errorf("TTFT alone is %s", got.Healthy)
	}
	if got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMHighTTFT", "vLLMHighTPOT"), Pool: untargeted,
		Evidence: ev,
	}); got.Healthy != incident.False {
		t.Errorf("both are %s", got.Healthy)
	}
}

// Users who wait longer than they are promised are no recovery, whichever latency the alert is about. What can't be
// told holds nothing up, and neither does a profile's target: the pool may always miss it.
func TestRecoveryMeetsEveryTargetThatCanBeTold(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	profile, _ := c.Profile("chat")
	own := profile
	own.TTFT, own.E2E, own.QueueTime = profile.TTFT*0.9, profile.E2E*0.9, 1
	for _, tt := range []struct {
		name string
		slo  incident.SLO
		read map[string]any
		want incident.Truth
	}{
		{"all are met", own, nil, incident.True},
		{"TTFT is late, profile", profile, map[string]any{"ttft_p95": 9.0}, incident.True},
		{"TTFT is late", own, map[string]any{"ttft_p95": 9.0}, incident.False},
		{"the time in the queue is too long", own, map[string]any{"queue_time_p95": 9.0}, incident.False},
		{"without targets", incident.SLO{}, map[string]any{"ttft_p95": 9.0}, incident.True},
		{"no data", own, map[string]any{"ttft_p95": nil}, incident.True},
		{"an error", own, map[string]any{"ttft_p95": incident.Reading{Error: "timeout"}}, incident.True},
		{"a bound over it", own, map[string]any{"ttft_p95": bound(9, incident.AtMost)}, incident.True},
		{"a bound above it", own, map[string]any{"ttft_p95": bound(9, incident.AtLeast)}, incident.False},
		{"whole answers, profile", profile, map[string]any{"e2e_p95": profile.E2E + 1}, incident.True},
		{"whole answers, the pool's own", own, map[string]any{"e2e_p95": profile.E2E + 1}, incident.False},
	} {
		ev := readings(with(nil))
		for name, v := range tt.read {
			switch v := v.(type) {
			case nil:
				ev.Readings[name] = incident.Reading{}
			case float64:
				ev.Readings[name] = incident.Reading{Value: &v}
			case incident.Reading:
				ev.Readings[name] = v
			}
		}
		got := c.Diagnose(playbooks.Input{
			Alerts: alerts("vLLMPreemption"), Pool: incident.Pool{Name: "p", SLO: tt.slo}, Evidence: ev,
		})
		if got.Healthy != tt.want {
			t.Errorf("%s: healthy is %s, want %s", tt.name, got.Healthy, tt.want)
		}
	}
}

// The symptom may be gone while the cause that is being treated goes on.
func TestRecoveryWaitsForTheCauseToo(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	still := readings(with(map[string]float64{"preemption_rate": 1, "kv_usage": 0.9, "kv_usage_peak": 0.97}))
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: still})
	if nameOf(got.Diagnosis) != "kv-thrash" || got.Healthy != incident.False {
		t.Errorf("%s, healthy %s", nameOf(got.Diagnosis), got.Healthy)
	}
	// The rule of the diagnosis does not hold any more, but preemptions go on: it was the reason for the plan, so it is
	// not over.
	fading := readings(with(map[string]float64{"preemption_rate": 0.2, "kv_usage": 0.8}))
	for plannedFor, want := range map[string]incident.Truth{
		"":              incident.True,
		"kv-thrash":     incident.False,
		"long-prefill":  incident.True,
		"idle":          incident.True,
		"gone-playbook": incident.Undecided,
	} {
		got := c.Diagnose(playbooks.Input{
			Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: fading,
			PlannedFor: plannedFor,
		})
		if got.Healthy != want {
			t.Errorf("planned for %q: healthy is %s, want %s", plannedFor, got.Healthy, want)
		}
		if plannedFor == "gone-playbook" && !strings.Contains(got.Note, "gone playbook is no longer in the catalog") {
			t.Errorf("the note is %q", got.Note)
		}
	}
}

func TestRecoveryShowsWhatWasSeen(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(with(map[string]float64{"running": 0}))
	ev.Readings["ttft_p95"] = incident.Reading{Signal: "ttft_p95"}
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: ev})
	if len(got.Recovery) == 0 {
		t.Fatal("nothing is shown")
	}
	r := got.Recovery[0]
	if r.Truth != incident.True || r.Seen != "no data" || r.Threshold != "500 ms" ||
		!strings.Contains(r.Text, "(or absent(ttft_p95) && ") {
		t.Errorf("got %+v", r)
	}
}
