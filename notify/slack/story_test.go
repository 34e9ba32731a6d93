package slack

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// story drives an incident through the domain, so that what is drawn is what really happens.
type story struct {
	t   *testing.T
	inc incident.Incident
	now time.Time
	seq int64
}

var start = time.Date(2026, 11, 21, 3, 10, 0, 0, time.UTC)

func tell(t *testing.T, mode incident.Mode, pool string) *story {
	t.Helper()
	s := &story{t: t, inc: incident.New("inc-7kq2mz4a", pool, mode, mode == incident.ModeDryRun, start), now: start}
	s.inc.Version = 1
	return s
}

// do lets some time go by and applies an event; a refusal ends the test.
func (s *story) do(after time.Duration, ev incident.Event) *story {
	s.t.Helper()
	s.now = s.now.Add(after)
	if c, ok := ev.(incident.WriteClaimed); ok && s.inc.Active != nil {
		c.Step, c.Op = s.inc.Active.Step, s.inc.Active.Op
		ev = c
	}
	res, err := incident.Apply(s.inc, ev, s.now)
	if err != nil {
		s.t.Fatalf("%s: %v", ev.Kind(), err)
	}
	for _, e := range res.Entries {
		s.seq++
		e.Seq = s.seq
		res.Incident.Journal = append(res.Incident.Journal, e)
	}
	res.Incident.Version = s.inc.Version + 1
	s.inc = res.Incident
	return s
}

func alertOf(name, severity, summary string) incident.Alert {
	return incident.Alert{
		Fingerprint: name, Firing: true, StartsAt: start.Add(-2 * time.Minute), SeenAt: start,
		Labels: map[string]string{
			"alertname": name, "severity": severity, "namespace": "llm", "model_name": "llama-70b", "instance": "10.2.0.7:8000",
		},
		Annotations: map[string]string{"summary": summary},
	}
}

// reading is a signal with a threshold and a past that ends in value.
func reading(name, title string, unit incident.Unit, before, value, threshold float64) incident.Reading {
	from := incident.OriginRule
	if unit == incident.UnitSeconds {
		from = incident.OriginSLO
	}
	r := incident.Reading{
		Signal: name, Title: title, Unit: unit, Direction: incident.HigherIsWorse, Value: new(value),
		Threshold: new(threshold), ThresholdFrom: from,
		Query: `histogram_quantile(0.95, sum by (le) (rate(vllm:` + name +
			`_bucket{namespace="llm",model_name="llama-70b"}[5m])))`,
		At: start.Add(time.Minute),
	}
	for n := range 31 {
		at := start.Add(time.Duration(n-30) * 30 * time.Second)
		share := 1 / (1 + math.Exp(-float64(n-18)/3))
		r.Series = append(r.Series, incident.Point{At: at, Value: before + (value-before)*share})
	}
	return r
}

func troubled() map[string]incident.Reading {
	gone := incident.Reading{
		Signal: "abort_rate", Title: "Aborts", Unit: incident.UnitPerSecond,
		Direction: incident.HigherIsWorse, At: start,
	}
	return map[string]incident.Reading{
		"ttft_p95":       reading("ttft_p95", "TTFT p95", incident.UnitSeconds, 0.6, 7.2, 2),
		"queue_time_p95": reading("queue_time_p95", "Queue time p95", incident.UnitSeconds, 0.3, 5.1, 1),
		"waiting":        reading("waiting", "Waiting requests", incident.UnitCount, 1, 41, 10),
		"kv_usage":       reading("kv_usage", "KV cache usage", incident.UnitRatio, 0.55, 0.97, 0.9),
		"abort_rate":     gone,
	}
}

func cured() map[string]incident.Reading {
	out := maps.Clone(troubled())
	for name, v := range map[string]float64{"ttft_p95": 0.82, "queue_time_p95": 0.4, "waiting": 2, "kv_usage": 0.71} {
		r := out[name]
		r.Value = new(v)
		out[name] = r
	}
	return out
}

func evidenceOf(readings map[string]incident.Reading) incident.Evidence {
	return incident.Evidence{
		At: start.Add(time.Minute), Readings: readings, Dialect: "vLLM V1 names (vllm:...)",
		Cluster: incident.Cluster{
			Workload: incident.WorkloadRef{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama-70b",
				Container: "vllm",
			},
			Replicas: new(int64(2)), ReadyReplicas: new(int64(2)),
		},
	}
}

func diagnosisOf() *incident.Diagnosis {
	return &incident.Diagnosis{
		Playbook: "high-ttft", Name: "kv_cache_full", Rule: "kv > 0.9 && waiting > 10", Doc: "docs/playbooks/high-ttft.md",
		Summary: "The KV cache is full, so new requests wait for memory.",
		Evidence: []incident.Condition{
			{
				Text: "kv_usage > 0.9", Truth: incident.True, Signal: "kv_usage", Label: "KV cache", Seen: "97%",
				Relation: incident.RelationAbove, Threshold: "90%",
			},
			{
				Text: "waiting > 10", Truth: incident.True, Signal: "waiting", Label: "Waiting", Seen: "41",
				Relation: incident.RelationAbove, Threshold: "10",
			},
			{
				Text: "ttft_p95 > slo.ttft", Truth: incident.True, Signal: "ttft_p95", Label: "TTFT p95", Seen: "7.2 s",
				Relation: incident.RelationAbove, Threshold: "2 s", ThresholdFrom: incident.OriginSLO,
			},
			{
				Text: "abort_rate < 1", Truth: incident.Undecided, Signal: "abort_rate", Label: "Aborts", Seen: "no data",
				Relation: incident.RelationBelow, Threshold: "1/s",
			},
		},
		Healthy: []string{"ttft_p95", "queue_time_p95", "waiting"},
	}
}

// cautious adds what a diagnosis says beside the cause, and to one condition the pod that it is about.
func cautious(d *incident.Diagnosis) *incident.Diagnosis {
	out := *d
	out.Evidence = slices.Clone(d.Evidence)
	out.Evidence[1].Seen = "41 (llama-70b-6d5f-x2x7k)"
	out.Never = nevers(
		"raise max_num_seqs: more requests at once in a full KV cache lead to preemption",
		"lower gpu_memory_utilization: it makes the KV cache smaller, which is what is missing",
		"restart pods: it takes away capacity, and empties the prefix caches",
		"raise max_num_batched_tokens: longer prefill steps hold up every running answer for longer (vLLM "+
			"docs/configuration/optimization.md)",
	)
	out.Unusual = []string{
		"12 min ago: Deployment llm/llama-70b: image vllm/vllm-openai:v0.9.2 -> v0.10.1; --max-model-len 32768 -> 131072.",
		"TTFT p95 7.2 s is 6.1 standard deviations above the hour before (400 ms on average); at this hour yesterday it " +
			"was 380 ms.",
		"KV cache usage and TTFT p95 rise and fall together (correlation 0.97 over 30 points in 15 min).",
		"Waiting requests and TTFT p95 rise and fall together (correlation 0.93 over 30 points in 15 min).",
		"Waiting requests 41 is 5.2 standard deviations above the hour before (1.2 on average).",
	}
	return &out
}

// nevers are lines such as "restart pods: why".
func nevers(lines ...string) []incident.Never {
	out := make([]incident.Never, len(lines))
	for n, line := range lines {
		what, why, _ := strings.Cut(line, ": ")
		change, knob, _ := strings.Cut(what, " ")
		out[n] = incident.Never{Change: change, Knob: knob, Why: why}
	}
	return out
}

func deployment(at incident.Target) incident.Target {
	at.APIVersion, at.Kind, at.Namespace, at.Name, at.UID = "apps/v1", "Deployment", "llm", "llama-70b", "1f0c"
	return at
}

func passes(extra ...incident.Guardrail) []incident.Guardrail {
	pass := func(name, reason string) incident.Guardrail {
		return incident.Guardrail{Name: name, Verdict: incident.GuardPass, Reason: reason}
	}
	return append([]incident.Guardrail{
		pass("bounds", "within its bounds"), pass("mode", "mode approve"), pass("pause", "not paused"),
		pass("lock", "no other step is open on Deployment llm/llama-70b"),
		pass("cool-down", "no change in the last 10 min"),
		pass("budget", "0 of 4 changes this hour, 1 of 12 today"),
	}, extra...)
}

func digested(s incident.Step) incident.Step {
	s.Digest = s.ComputeDigest()
	return s
}

func throttleStep() incident.Step {
	return digested(incident.Step{
		Kind: incident.StepThrottle, Title: "Throttle BackendTrafficPolicy llm/llama-70b maxParallelRequests from 256 to 128",
		Why: "Fewer requests at a time let those that run finish.",
		Target: incident.Target{
			APIVersion: "gateway.envoyproxy.io/v1alpha1", Kind: "BackendTrafficPolicy", Namespace: "llm", Name: "llama-70b",
			UID:   "77aa",
			Field: "spec.circuitBreaker.maxParallelRequests", Setting: "maxParallelRequests",
		},
		From: incident.Set("256"), To: incident.Set("128"), Undo: incident.Set("256"),
		Checked: incident.Checked{OK: true, By: incident.CheckedByServer},
		Diff:    "-    maxParallelRequests: 256\n+    maxParallelRequests: 128",
		Cost:    "callers above the limit get 503", Speed: "seconds", Risk: "callers that do not retry see errors",
		Needs: incident.Needs{Approvals: 1}, RevertAfter: 10 * time.Minute,
		Guardrails: passes(incident.Guardrail{
			Name: "step", Verdict: incident.GuardShrink,
			Reason: "capped at 128 (max 50% per step; playbook asked for 64)",
		}),
	})
}

func scaleStep() incident.Step {
	return digested(incident.Step{
		Kind: incident.StepReplicas, Title: "Scale Deployment llm/llama-70b from 2 to 3 replicas",
		Why: "More cache and more slots for the same load.", Target: deployment(incident.Target{
			Field: "spec.replicas (scale)", Setting: incident.SettingReplicas, Subresource: incident.SubresourceScale,
		}),
		From: incident.Set("2"), To: incident.Set("3"), Undo: incident.Set("2"),
		Checked: incident.Checked{OK: true, By: incident.CheckedByServer},
		Cost:    "one more pod with its GPUs", Speed: "5 to 10 minutes until it serves",
		Risk:  "the new pod starts with an empty cache",
		Needs: incident.Needs{Approvals: 1}, Guardrails: passes(),
	})
}

func batchStep() incident.Step {
	return digested(incident.Step{
		Kind:  incident.StepMaxNumBatchedTokens,
		Title: "Set --max-num-batched-tokens of Deployment llm/llama-70b from 8192 to 4096",
		Why:   "Smaller batches need less memory at a time.", Target: deployment(incident.Target{
			Field: "args[vllm] --max-num-batched-tokens", Setting: "max-num-batched-tokens", Container: "vllm",
		}),
		From: incident.Set("8192"), To: incident.Set("4096"), Undo: incident.Set("8192"),
		Checked: incident.Checked{OK: true, By: incident.CheckedByServer},
		Diff:    "-  - --max-num-batched-tokens=8192\n+  - --max-num-batched-tokens=4096",
		Cost:    "a rollout, a cold compile, lost prefix caches", Speed: "10 to 20 minutes",
		Risk:  "running requests are cut off",
		Needs: incident.Needs{Approvals: 1, Confirm: true, Restart: true},
		Guardrails: passes(incident.Guardrail{
			Name: "availability", Verdict: incident.GuardPass,
			Reason: "all 2 pods are ready and nothing waits",
		}),
	})
}

func refusedBatchStep() incident.Step {
	s := batchStep()
	s.Guardrails = passes(incident.Guardrail{
		Name: "availability", Verdict: incident.GuardRefuse,
		Reason: "a restart would remove capacity while 41 requests are queued; reduce the load first",
	})
	s.Diff = ""
	return digested(s)
}

func manualStep() incident.Step {
	return digested(incident.Step{
		Kind: incident.StepManual, Title: "Move the long-prompt clients to a pool of their own",
		Why: "Long prompts push the short ones out of the cache.",
	})
}

func alice() incident.Actor { return incident.Actor{Kind: "slack", ID: "U0ALICE"} }

// proposed tells the story up to the question.
func proposed(t *testing.T, mode incident.Mode, steps ...incident.Step) *story {
	t.Helper()
	return tell(t, mode, "llama-70b").proposed(steps...)
}

func (s *story) proposed(steps ...incident.Step) *story {
	s.t.Helper()
	if len(steps) == 0 {
		steps = []incident.Step{throttleStep(), refusedBatchStep(), scaleStep(), manualStep()}
	}
	return s.
		do(0, incident.AlertsReceived{Alerts: []incident.Alert{
			alertOf("vLLMHighTTFT", "critical", "P95 time to first token is above 3 s"),
			alertOf("vLLMQueueBacklog", "warning", "More than 20 requests wait"),
		}}).
		do(10*time.Second, incident.InvestigationStarted{}).
		do(5*time.Second, incident.Investigated{
			Evidence: evidenceOf(troubled()), Diagnosis: diagnosisOf(), Steps: steps, Healthy: incident.False,
			Others: []incident.Other{
				{Name: "abort_spike", Verdict: incident.Undecided, Why: "no data for Aborts"},
				{Name: "slow_decode", Verdict: incident.False, Why: "TPOT is fine"},
			},
		})
}

func asked(t *testing.T, mode incident.Mode, steps ...incident.Step) *story {
	t.Helper()
	return proposed(t, mode, steps...).do(time.Second, incident.Asked{ExpiresAt: start.Add(30 * time.Minute)})
}

// decide approves, denies or undoes a step of the present plan.
func (s *story) decide(verb incident.Verb, step string) *story {
	s.t.Helper()
	return s.do(time.Minute, incident.Decided{Decision: incident.Decision{
		Step: step, Digest: s.inc.Plan.Digest, Verb: verb, By: alice(), Confirm: true,
	}})
}

func verification(v incident.Verdict, after map[string]incident.Reading) incident.Verification {
	before := troubled()
	for _, m := range []map[string]incident.Reading{before, after} {
		for n, r := range m {
			r.Series = nil
			m[n] = r
		}
	}
	_, shown := incident.VerdictOf(before, after, []string{"ttft_p95", "waiting"}, incident.Undecided)
	if v == incident.VerdictRecovered {
		shown.Finding = incident.FoundHealthy
	}
	return incident.Verification{
		Verdict: v, Comparison: &shown, Before: before, After: after, At: start.Add(12 * time.Minute),
	}
}

// ran tells the story up to the verdict on the step.
func (s *story) ran(step string, v incident.Verification, undoNow bool) *story {
	s.t.Helper()
	s.decide(incident.Approve, step).
		do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).
		do(time.Second, incident.Written{Result: incident.ResultApplied}).
		do(4*time.Minute, incident.RolledOut{
			Why: incident.Because("3 of 3 pods are ready."), SettleUntil: s.now.Add(10 * time.Minute),
		}).
		do(6*time.Minute, incident.Settled{})
	v.At = s.now.Add(time.Second)
	return s.do(time.Second,
		incident.Verified{Verification: v, Final: true, UndoNow: undoNow, ExpiresAt: start.Add(50 * time.Minute)})
}
