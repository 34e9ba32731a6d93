package web_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func pod(n int) string { return fmt.Sprintf("llama-70b-6d5f7c9b8-%c2x7k", 'a'+n) }

// podValues are one pod's value beside many smaller ones.
func podValues(worst float64, others ...float64) []incident.PodValue {
	out := []incident.PodValue{{Pod: pod(7), Value: worst}}
	for n, v := range others {
		out = append(out, incident.PodValue{Pod: pod(n), Value: v})
	}
	return out
}

// rich is an incident that knows everything that can be known.
func rich() incident.Incident {
	inc := incident.New("inc-7kq2mz4a", "llama-70b", incident.ModeApprove, false, now)
	inc.State, inc.ReadAt, inc.Dialect = incident.StateDeciding, now.Add(time.Minute), "vLLM V1 names (vllm:...)"
	inc.Alerts = []incident.Alert{{
		Fingerprint: "f", Firing: true, StartsAt: now.Add(-2 * time.Minute),
		Labels:      map[string]string{"alertname": "vLLMHighTTFT", "severity": "critical", "pod": pod(7)},
		Annotations: map[string]string{"summary": "P95 time to first token is above 3 s"},
	}}
	read := func(name, title string, u incident.Unit, d incident.Direction, value, threshold float64,
		pods []incident.PodValue, b *incident.Baseline,
	) {
		inc.Readings[name] = incident.Reading{
			Signal: name, Title: title, Unit: u, Direction: d, Value: &value,
			Threshold: &threshold, At: inc.ReadAt, Pods: pods, Baseline: b,
		}
	}
	read("ttft_worst_pod", "Time to first token, 95th percentile, slowest pod", incident.UnitSeconds,
		incident.HigherIsWorse, 7.2, 2,
		podValues(7.2, 0.9, 0.5, 0.45, 0.44, 0.43, 0.42, 0.41, 0.4, 0.39, 0.38),
		&incident.Baseline{Mean: 0.4, Deviation: 1.1, Score: new(6.1), Yesterday: new(0.38)})
	read("kv_usage", "KV cache in use", incident.UnitRatio, incident.HigherIsWorse, 0.97, 0.9, podValues(0.97, 0.41, 0.38),
		&incident.Baseline{Mean: 0.97})
	read("generation_tokens_rate", "Generated tokens", incident.UnitPerSecond, incident.LowerIsWorse, 12, 100,
		podValues(310, 290, 12), &incident.Baseline{Mean: 600, Deviation: 20, Score: new(-1e6)})
	read("waiting", "Requests waiting", incident.UnitCount, incident.HigherIsWorse, 2, 10, podValues(1, 1),
		&incident.Baseline{Mean: 1.8, Deviation: 1, Score: new(0.2)})
	ttft := inc.Readings["ttft_worst_pod"]
	ttft.ThresholdFrom = incident.OriginSLO
	inc.Readings["ttft_worst_pod"] = ttft
	inc.Readings["running"] = incident.Reading{
		Signal: "running", Title: "Requests running", Unit: incident.UnitCount,
		Direction: incident.Neutral, Value: new(90.0), Pods: podValues(64, 26),
	}
	inc.Readings["abort_rate"] = incident.Reading{
		Signal: "abort_rate", Title: "Aborts",
		Baseline: &incident.Baseline{Mean: 1},
	}
	inc.Readings["spec_acceptance"] = incident.Reading{
		Signal: "spec_acceptance", Title: "Draft tokens accepted",
		Optional: true,
	}
	inc.DeadAlerts = []incident.DeadAlert{
		{
			Alert: "VLLMGPUCacheHigh", Expr: "vllm:gpu_cache_usage_perc > 0.9", Missing: []string{"vllm:gpu_cache_usage_perc"},
			Instead: `max by (namespace, model_name, pod) (vllm:kv_cache_usage_perc{namespace="llm"}) > 0.9`,
			Why:     "vLLM's V1 engine calls it vllm:kv_cache_usage_perc.",
		},
		{Alert: "VLLMSwapping", Missing: []string{"vllm:num_requests_swapped"}, Why: "The V1 engine does not swap."},
	}
	inc.Unexamined = []incident.UnexaminedAlert{{
		Alert: "VLLMEverything",
		Why:   "too long to analyze: at least 65537 bytes, and the limit is 65536",
	}}
	inc.Diagnosis = &incident.Diagnosis{
		Name: "bad_replica", Summary: "One pod is slow and the others are well.",
		Evidence: []incident.Condition{
			{
				Text: "ttft_worst_pod > slo.ttft", Truth: incident.True, Signal: "ttft_worst_pod",
				Label: "TTFT p95 slowest pod", Seen: "7.2 s (" + pod(7) + ")",
				Relation: incident.RelationAbove, Threshold: "2 s", ThresholdFrom: incident.OriginSLO,
			},
			{
				Text: "kv_usage > 0.9", Truth: incident.True, Signal: "kv_usage", Label: "KV cache",
				Seen: "97% (" + pod(7) + ")", Relation: incident.RelationAbove, Threshold: "90%",
			},
			{
				Text: "running > 0", Truth: incident.True, Signal: "running", Label: "Running", Seen: "90",
				Relation: incident.RelationAbove, Threshold: "0",
			},
		},
		Never: []incident.Never{
			{Change: "raise", Knob: "replicas", Why: "the pool has room; new replicas hide the bad one"},
			{
				Change: "raise", Knob: "max_num_batched_tokens",
				Why: "longer prefill steps hold up every running answer for longer (vLLM docs/configuration/optimization.md)",
			},
		},
		Skipped: []string{"raising max_num_seqs: KV cache 97%, above 90%"},
		Unusual: []string{
			"9 min ago: Deployment llm/llama-70b: image vllm/vllm-openai:v0.9.2 -> v0.10.1.",
			"Time to first token 7.2 s is 6.1 standard deviations above the hour before (400 ms on average).",
		},
	}
	inc.Others = []incident.Other{
		{Name: "kv_cache_full", Verdict: incident.False, Why: "KV cache 58%, not above 90%"},
		{Name: "abort_spike", Verdict: incident.Undecided, Why: "no data for Aborts"},
	}
	inc.Plan = &incident.Plan{Digest: "0a1b2c3d4e5f", ExpiresAt: now.Add(30 * time.Minute), Steps: []incident.Step{
		{
			ID: "p1-s1", Kind: incident.StepThrottle, State: incident.StepProposed,
			Title: "Throttle BackendTrafficPolicy llm/llama-70b maxParallelRequests from 256 to 128",
			Why:   "Fewer requests at a time let those that run finish.",
			Diff:  "-    maxParallelRequests: 256\n+    maxParallelRequests: 128",
			Guardrails: []incident.Guardrail{
				{Name: "bounds", Verdict: incident.GuardPass, Reason: "within its bounds"},
				{
					Name: "ownership", Verdict: incident.GuardCaution,
					Reason: "Argo CD application models manages it and may set it back",
				},
			},
		},
		{
			ID: "p1-s2", Kind: incident.StepManual, State: incident.StepProposed,
			Title: "Take " + pod(7) + " out of the Service and look at its log",
		},
	}}
	inc.Cluster = incident.Cluster{
		Changes: []incident.RecentChange{
			{
				At: now.Add(-4 * time.Minute), Kind: incident.ChangeRestart, Object: "Pod llm/" + pod(7),
				Text: "container vllm ended with exit code 137 (OOMKilled) and was started again",
			},
			{
				At: now.Add(-8 * time.Minute), Kind: incident.ChangeRollout, Object: "Deployment llm/llama-70b",
				Text: "image vllm/vllm-openai:v0.9.2 -> vllm/vllm-openai:v0.10.1; --max-model-len 32768 -> 131072; " +
					"--hf-overrides changed",
			},
			{
				At: now.Add(-30 * time.Minute), Kind: incident.ChangeScale, Object: "Deployment llm/llama-70b",
				Text: "replicas 2 -> 3", Own: true,
			},
			{
				At: now.Add(-70 * time.Minute), Kind: incident.ChangeNode, Object: "Node gpu-node-17.eu-central-1.compute.internal",
				Text: "NodeNotReady: the kubelet stopped posting its status",
			},
		},
		Crashes: []incident.Crash{
			{
				Pod: pod(7), Container: "vllm", At: now.Add(-4 * time.Minute), Reason: "OOMKilled", ExitCode: 137,
				OutOfMemory: "gpu", Log: crashLog(),
			},
			{Pod: pod(2), Container: "vllm", At: now.Add(-50 * time.Minute), Reason: "Completed"},
		},
		Args: map[string]float64{"max_num_seqs": 424242},
		Unread: []incident.Unread{
			{Part: incident.PartCrashLog, Why: "get pods/log in llm is not allowed"},
			{Part: incident.PartNodes, Why: "list events in default is not allowed"},
		},
	}
	return inc
}

func crashLog() []string {
	var out []string
	for n := range 16 {
		out = append(out,
			fmt.Sprintf("INFO 03-01 02:55:%02d [loggers.py:118] Engine 000: Avg prompt throughput: 1312.4 tokens/s, Avg "+
				"generation throughput: 402.8 tokens/s, Running: 64 reqs, Waiting: %d reqs", n, n))
	}
	return append(out,
		"ERROR 03-01 02:56:01 [core.py:638] EngineCore encountered a fatal error.", "Traceback (most recent call last):",
		`  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 629, in run_engine_core`,
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.11 GiB "+
			"of which 1.04 GiB is free.")
}

// show draws the page of an incident.
func show(t *testing.T, inc incident.Incident) string {
	t.Helper()
	s := newSite(t)
	s.expect("show", "inc-1", inc, nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	return s.look("/incidents/inc-1")
}

func TestThePageSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	inc := rich()
	if got := show(t, inc); strings.Contains(got, "resolved earlier") || strings.Contains(got, "omitted") {
		t.Error("it says that something is left out when nothing is")
	}
	inc.AlertsLeftOut, inc.JournalLeftOut = 1900, 4711
	inc.LastLeftOut = &incident.Entry{At: inc.OpenedAt, Text: "Alert fires again: <b>."}
	got := show(t, inc)
	for _, want := range []string{
		"And 1900 resolved earlier.", "4711 repetitive entries omitted, the latest ",
		"Alert fires again: &lt;b&gt;.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// An alert about whose rule nothing is known must not look like one that can see the pool, and a change of the bot not
// like somebody else's.
func TestThePageSaysWhatWasNotExaminedAndWhoseChangeItWas(t *testing.T) {
	t.Parallel()
	inc := rich()
	inc.DeadAlerts = nil
	inc.Unexamined[0].Alert = "<b>"
	page := show(t, inc)
	for _, want := range []string{
		"<h2>Alerts whose rule was not checked</h2>",
		"<strong>&lt;b&gt;</strong>: its expression is too long to analyze: at least 65537 bytes, and the limit is 65536.",
		"replicas 2 -&gt; 3 <span class=\"soft\">(by vllm-medic)</span>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(page, "(by vllm-medic)") != 1 {
		t.Error("changes of others are called the bot's own")
	}
	inc.Unexamined, inc.Cluster.Changes = nil, inc.Cluster.Changes[:1]
	if page = show(t, inc); strings.Contains(page, "rule was not checked") || strings.Contains(page, "by vllm-medic") {
		t.Error("it is said when there is nothing to say")
	}
}

func TestThePageShowsEverythingThatIsKnown(t *testing.T) {
	t.Parallel()
	page := show(t, rich())
	for _, want := range []string{
		"What would make it worse", "Do not <strong>raise replicas</strong>: the pool has room", ">Unusual<",
		">Skipped steps<", "<li>raising max_num_seqs: KV cache 97%, above 90%</li>",
		"9 min ago: Deployment", "Recent changes", "9 min before the reading",
		"Container terminations", "OOMKilled, exit code 137", "out of GPU memory",
		"torch.OutOfMemoryError: CUDA out of memory", "Completed, exit code 0",
		"Pod by pod", "worst " + pod(7) + ": 7.2 s", "worst " + pod(1) + ": 12/s", "highest " + pod(7) + ": 64", "3 more",
		"usually 400 ms, 6.1 sigma above, 380 ms at this hour yesterday", "usually 600/s, more than 100 sigma below",
		"usually 97%<", "usually 1.8, 0.2 sigma above",
		"Alerts that can never fire for this pool",
		"<code>vllm:gpu_cache_usage_perc</code>, which this pool's vLLM does not export. vLLM&#39;s V1",
		"There is no replacement.",
		`<pre class="copy">max by (namespace, model_name, pod) ` +
			`(vllm:kv_cache_usage_perc{namespace=&#34;llm&#34;}) &gt; 0.9</pre>`,
		"No data (feature not in use)</summary><p class=\"soft small\">Draft tokens accepted<",
		"Not read: the log of a crashed container: get pods/log in llm is not allowed; events of the nodes",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"424242", "worst " + pod(0), "usually 1<", "NaN", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestNothingEmptyIsShown(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Diagnosis = &incident.Diagnosis{Summary: "The pool has too little room."}
	inc.Cluster = incident.Cluster{
		NotConfigured: true,
		Error:         "no Kubernetes is configured, so the workload was not checked",
	}
	inc.Readings = map[string]incident.Reading{"a": {Title: "A", Value: new(1.0), Pods: []incident.PodValue{}}}
	page := show(t, inc)
	for _, bad := range []string{
		"make it worse", "Unusual", "Skipped", "Recent changes", "Container terminations", "can never fire",
		"Not there", "Pod by pod", "usually", "Not read", "Kubernetes", "<ul>", "Decision", "<li class",
	} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestAClusterThatCouldNotBeAskedIsNamed(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Cluster.Error = "the API server cannot be reached: connection refused"
	if page := show(t, inc); !strings.Contains(page, "Kubernetes could not be read: the API server cannot be reached") {
		t.Errorf("page %s", page)
	}
}

// A pod's value is foreign, too: what has no length has no bar, and the page is drawn.
func TestBarsKeepWithinTheirBounds(t *testing.T) {
	t.Parallel()
	for name, pods := range map[string][]incident.PodValue{
		"zero":     {{Pod: "a"}, {Pod: "b"}},
		"negative": {{Pod: "a", Value: -1}, {Pod: "b", Value: -2}},
		"odd": {
			{Pod: "a", Value: math.NaN()},
			{Pod: "b", Value: math.Inf(1)},
			{Pod: "c", Value: math.Inf(-1)},
			{Pod: "d", Value: 1e308},
		},
		"one": {{Pod: "a", Value: 3}},
	} {
		inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
		inc.Readings = map[string]incident.Reading{"a": {
			Title: "A", Value: new(1.0), Direction: incident.HigherIsWorse,
			Pods: pods,
		}}
		page := show(t, inc)
		if got := strings.Count(page, "<rect width"); got != len(pods) {
			t.Errorf("%s: %d bars", name, got)
		}
		if marked := strings.Contains(page, `class="marked worst"`); name != "odd" && marked != (name == "negative") {
			t.Errorf("%s: the worst pod is marked: %v", name, marked)
		}
		for _, s := range strings.Split(page, "<rect width=\"")[1:] {
			var percent int
			if _, err := fmt.Sscanf(s, "%d\"", &percent); err != nil || percent < 0 || percent > 100 {
				t.Errorf("%s: a bar is %q", name, s[:10])
			}
		}
	}
}

func TestManyPodsAndLongTextsAreShownWithoutFillingThePage(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	r := incident.Reading{Title: "A", Value: new(64.0), Threshold: new(1.0), Direction: incident.HigherIsWorse}
	for n := range 64 {
		r.Pods = append(r.Pods,
			incident.PodValue{Pod: fmt.Sprintf("pod-%d-%s", n, strings.Repeat("x", 200)), Value: float64(64 - n)})
	}
	inc.Readings = map[string]incident.Reading{"a": r}
	long := strings.Repeat("long ", 4000)
	inc.Cluster.Crashes = []incident.Crash{{Pod: "p", ExitCode: 1, Log: []string{long, "last"}}}
	inc.Cluster.Changes = []incident.RecentChange{{At: now, Kind: incident.ChangeRollout, Object: "o", Text: long}}
	page := show(t, inc)
	before, after, ok := strings.Cut(page, `<summary class="soft">56 more</summary>`)
	if !ok || strings.Count(before, "<rect width") != 8 ||
		strings.Count(after, "<rect width") != 56 {
		t.Error("not eight pods are shown and 56 folded away")
	}
	if strings.Count(page, long) != 2 || !strings.Contains(page, "last</pre></div>") {
		t.Error("a text is not shown whole")
	}
}

// What it may be instead is told with what decides, until something has happened since.
func TestThePageSaysWhatItMayBeInstead(t *testing.T) {
	t.Parallel()
	inc := rich()
	inc.Diagnosis.Doubts = []incident.Doubt{{
		Kind: incident.DoubtMissing, Name: "kv-thrash", Summary: "Requests are preempted.",
		Conditions: []incident.Condition{{Label: "Preemptions", Signal: "preemption_rate", Seen: "no data"}},
	}}
	mustHold(t, show(t, inc), "Could also be kv thrash</strong>: no data for Preemptions.", "Requests are preempted.")
	inc.Diagnosis.Doubts = nil
	mustLack(t, show(t, inc), "Could also be")
}
