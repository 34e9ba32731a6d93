package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Whatever the diagnosis says of the minutes before, a step needs its trouble in the newest samples.
func TestAStepNeedsItsTroubleInTheNewestSamples(t *testing.T) {
	t.Parallel()
	over := map[string]incident.Reading{
		"waiting_lately":         {Short: "Waiting (last 2 min)", Value: new(0.0), Unit: incident.UnitCount},
		"ttft_p95_lately":        {Short: "TTFT p95 (2 min)", Value: new(0.4), Unit: incident.UnitSeconds},
		"tpot_p95_lately":        {Short: "TPOT p95 (2 min)", Value: new(0.03), Unit: incident.UnitSeconds},
		"kv_usage_max":           {Short: "KV cache max", Value: new(0.6), Unit: incident.UnitRatio},
		"preemption_rate_lately": {Short: "Preemptions (2 min)", Value: new(0.0), Unit: incident.UnitPerSecond},
	}
	const no = "nothing in the newest samples shows that it is still needed"
	lower, raise := int64(-1), int64(1)
	for _, tc := range []struct {
		name string
		kind incident.StepKind
		way  int64
		slo  incident.SLO
		seen map[string]incident.Reading
		want string
	}{
		{name: "a throttle after the burst", kind: incident.StepThrottle, way: lower, want: no},
		{name: "replicas after the burst", kind: incident.StepReplicas, way: raise, want: no},
		{name: "a smaller budget after the burst", kind: incident.StepMaxNumBatchedTokens, way: lower, want: no},
		{
			name: "a queue", kind: incident.StepReplicas, way: raise,
			seen: map[string]incident.Reading{"waiting_lately": {Value: new(3.0)}},
		},
		{
			name: "a single request that waits", kind: incident.StepReplicas, way: raise, want: no,
			seen: map[string]incident.Reading{"waiting_lately": {Value: new(1.0)}},
		},
		{
			name: "first tokens over the usual limit", kind: incident.StepThrottle, way: lower,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(2.6)}},
		},
		{
			name: "first tokens within the pool's target", kind: incident.StepThrottle, way: lower,
			slo: incident.SLO{TTFT: 10}, want: no,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(2.6)}},
		},
		{
			name: "at least as much as the histogram can tell", kind: incident.StepThrottle, way: lower,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(10.0), Bound: incident.AtLeast}},
		},
		{
			name: "at most the first bucket", kind: incident.StepThrottle, way: lower, slo: incident.SLO{TTFT: 0.1}, want: no,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(0.3), Bound: incident.AtMost}},
		},
		{
			name: "a full cache", kind: incident.StepThrottle, way: lower,
			seen: map[string]incident.Reading{"kv_usage_max": {Value: new(0.97)}},
		},
		{
			name: "slow tokens for a smaller budget", kind: incident.StepMaxNumBatchedTokens, way: lower,
			seen: map[string]incident.Reading{"tpot_p95_lately": {Value: new(0.2)}},
		},
		{
			name: "slow first tokens are none for a smaller budget",
			kind: incident.StepMaxNumBatchedTokens, way: lower, want: no,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(9.0)}},
		},
		{
			name: "slow first tokens for a larger budget", kind: incident.StepMaxNumBatchedTokens, way: raise,
			seen: map[string]incident.Reading{"ttft_p95_lately": {Value: new(9.0)}},
		},
		{
			name: "slow tokens are none for a larger budget", kind: incident.StepMaxNumBatchedTokens, way: raise, want: no,
			seen: map[string]incident.Reading{"tpot_p95_lately": {Value: new(0.2)}},
		},
		{
			name: "not measured", kind: incident.StepThrottle, way: lower, want: "waiting_lately: no data",
			seen: map[string]incident.Reading{"waiting_lately": {}},
		},
		{
			name: "could not be asked", kind: incident.StepThrottle, way: lower, want: "error: timeout",
			seen: map[string]incident.Reading{"waiting_lately": {Value: new(40.0), Error: "timeout"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			in.Pool.SLO, in.Step.Kind, in.Step.Needs = tc.slo, tc.kind, incident.Needs{}
			in.Step.From, in.Step.To = incident.Set("10"), incident.Set(strconv.FormatInt(10+tc.way, 10))
			in.Readings = map[string]incident.Reading{
				"running": {Value: new(40.0)}, "waiting": {Value: new(0.0)}, "load_now": {Value: new(1.0)},
			}
			maps.Copy(in.Readings, over)
			for name, r := range tc.seen {
				r.Unit = over[name].Unit
				in.Readings[name] = r
			}
			got := refusal(Check(in, Defaults()))
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// More decode pods don't read prompts, and more prefill pods don't generate tokens.
func TestReplicasAreAddedToTheSideOnWhichRequestsWait(t *testing.T) {
	t.Parallel()
	queue := func(prefill, decode float64) incident.Reading {
		total := prefill + decode
		return incident.Reading{
			Value: &total, Unit: incident.UnitCount,
			Pods: []incident.PodValue{{Pod: "p", Value: prefill}, {Pod: "d", Value: decode}},
		}
	}
	cache := func(prefill, decode float64) incident.Reading {
		return incident.Reading{
			Value: &decode, Unit: incident.UnitRatio,
			Pods: []incident.PodValue{{Pod: "p", Value: prefill}, {Pod: "d", Value: decode}},
		}
	}
	for _, tc := range []struct {
		name, want string
		workload   []string
		roles      map[string]float64
		unasked    bool
		waiting    incident.Reading
		kv         incident.Reading
	}{
		{name: "no roles", workload: []string{"p", "d"}, waiting: queue(30, 0), kv: cache(.2, .2)},
		{
			name:     "prompts wait and decode pods have room",
			workload: []string{"d"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(30, 0), kv: cache(.3, .4),
			want: "it adds decode pods, which have room, and requests wait on the prefill side",
		},
		{
			name: "prompts wait for prefill pods", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(30, 0), kv: cache(.3, .4),
		},
		{
			name:     "what waits on the prefill side waits for decode pods that are full",
			workload: []string{"d"}, roles: map[string]float64{"p": 1, "d": 0}, waiting: queue(30, 0), kv: cache(.97, .97),
		},
		{
			name: "decode pods have the queue", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(0, 30), kv: cache(.3, .7), want: "it adds prefill pods, which have room",
		},
		{
			name: "a few wait on the own side, too", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(2, 500), kv: cache(.3, .7), want: "it adds prefill pods, which have room",
		},
		{
			name: "prompts wait for full decode pods", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(30, 0), kv: cache(.9, .97), want: "what waits there waits for decode pods",
		},
		{
			name: "caches that aren't told by pod", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(30, 0), kv: incident.Reading{}, want: "how full their KV caches are",
		},
		{
			name: "a pod of no known role serves", workload: []string{"p"}, roles: map[string]float64{"p": 1, "d": 0, "x": -1},
			waiting: queue(30, 0), kv: cache(.3, .4), want: "the role of some pods that serve isn't known",
		},
		{
			name: "the roles could not be asked", workload: []string{"p"}, unasked: true,
			waiting: queue(30, 0), kv: cache(.3, .4), want: "isn't known whether prefill and decode run in the same pods",
		},
		{
			name: "a workload of no known role", workload: []string{"x"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(0, 30), kv: cache(.3, .9), want: "it isn't known whether x does prefill or decode",
		},
		{
			name: "a workload without ready pods", roles: map[string]float64{"p": 1, "d": 0}, waiting: queue(0, 30),
			kv: cache(.3, .9), want: "it isn't known whether the workload does prefill or decode",
		},
		{
			name: "a queue that isn't told by pod", workload: []string{"d"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: incident.Reading{Value: new(30.0), Unit: incident.UnitCount}, kv: cache(.3, .9),
			want: "it isn't known on which side requests wait",
		},
		{
			name: "both in one workload", workload: []string{"p", "d"}, roles: map[string]float64{"p": 1, "d": 0},
			waiting: queue(30, 30), kv: cache(.3, .9), want: "both prefill and decode pods",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			in.Roles = serving(tc.roles)
			in.Cluster.Pods = nil
			for _, name := range tc.workload {
				in.Cluster.Pods = append(in.Cluster.Pods, incident.Pod{Name: name, Ready: true})
			}
			in.Step.Kind, in.Step.Needs = incident.StepReplicas, incident.Needs{}
			in.Readings = map[string]incident.Reading{
				"running": {Value: new(40.0)}, "load_now": {Value: new(1.0)}, "waiting": tc.waiting, "kv_usage": tc.kv,
				"waiting_lately": {Value: new(30.0)},
			}
			if tc.unasked {
				in.Readings["prefill_pods"] = incident.Reading{Error: "timeout"}
			}
			got := refusal(Check(in, Defaults()))
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// serving are the roles of pods that serve: 1 for prefill, 0 for decode, -1 for one that isn't known.
func serving(pods map[string]float64) incident.Roles {
	var told, running incident.Reading
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		running.Pods = append(running.Pods, incident.PodValue{Pod: name, Value: 8})
		if pods[name] >= 0 {
			told.Pods = append(told.Pods, incident.PodValue{Pod: name, Value: pods[name]})
		}
	}
	return incident.Evidence{Readings: map[string]incident.Reading{"prefill_pods": told, "running": running}}.Roles()
}
