package actions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// turn is one way in which a knob stands in the cluster.
type turn struct {
	name string
	// make makes the objects.
	make func(b *bench)
	req  incident.StepRequest
	// in is where the field is.
	in            schema.GroupVersionResource
	from, to      incident.Value
	title, target string
	wrote         string
}

func turns() []turn {
	workload := func(b *bench) { b.serve(2, nil, served()) }
	return []turn{
		{
			name: "replicas of a Deployment", make: workload, req: addOne, in: deployments, from: incident.Set("2"),
			to:    incident.Set("3"),
			title: "Scale llama-70b from 2 to 3 replicas", target: "Deployment %s/llama-70b spec.replicas (scale)",
			wrote: "patch deployments/scale",
		},
		{
			name: "replicas of any kind with a scale", make: leaderWorkerSet, req: addOne, in: groups, from: incident.Set("2"),
			to:    incident.Set("3"),
			title: "Scale llama-70b from 2 to 3 replicas", target: "LeaderWorkerSet %s/llama-70b spec.replicas (scale)",
			wrote: "patch leaderworkersets/scale",
		},
		{
			name: "minimum of a HorizontalPodAutoscaler", make: func(b *bench) {
				workload(b)
				b.create(hpas,
					hpa(2, 6))
			}, req: addOne, in: hpas,
			from: incident.Set("2"), to: incident.Set("3"),
			title:  "Raise the minimum of HorizontalPodAutoscaler llama-70b from 2 to 3 replicas (llama-70b has 2)",
			target: "HorizontalPodAutoscaler %s/llama-70b spec.minReplicas", wrote: "patch horizontalpodautoscalers",
		},
		{
			name: "absent minimum of a ScaledObject", make: func(b *bench) {
				workload(b)
				b.create(scaledObjs,
					scaledObject(nil))
			}, req: addOne, in: scaledObjs,
			from: incident.Value{}, to: incident.Set("3"),
			title:  "Raise the minimum of ScaledObject llama-70b from 0 to 3 replicas (llama-70b has 2)",
			target: "ScaledObject %s/llama-70b spec.minReplicaCount", wrote: "patch scaledobjects",
		},
		{
			name: "minimum of a PodAutoscaler", make: func(b *bench) {
				workload(b)
				b.create(podScalers,
					podAutoscaler("KPA", nil))
			}, req: addOne, in: podScalers,
			from: incident.Set("1"), to: incident.Set("3"),
			title:  "Raise the minimum of PodAutoscaler llama-70b from 1 to 3 replicas (llama-70b has 2)",
			target: "PodAutoscaler %s/llama-70b spec.minReplicas", wrote: "patch podautoscalers",
		},
		{
			name: "minimum of a Model", make: func(b *bench) {
				b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2), "minReplicas": int64(1)})
			}, req: addOne, in: models,
			from: incident.Set("1"), to: incident.Set("3"),
			title:  "Raise the minimum of Model llama-70b from 1 to 3 replicas (llama-70b has 2)",
			target: "Model %s/llama-70b spec.minReplicas", wrote: "patch models",
		},
		{
			name: "replicas of a Model that does not scale itself", make: func(b *bench) {
				b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2), "autoscalingDisabled": true})
			}, req: addOne, in: models, from: incident.Set("2"), to: incident.Set("3"),
			title: "Scale llama-70b from 2 to 3 replicas", target: "Model %s/llama-70b spec.replicas (scale)",
			wrote: "patch models/scale",
		},
		{
			name: "joined flag in args", make: workload, req: halve, in: deployments, from: incident.Set("8192"),
			to:     incident.Set("4096"),
			title:  "Lower max_num_batched_tokens of llama-70b from 8192 to 4096",
			target: "Deployment %s/llama-70b args[vllm] --max-num-batched-tokens", wrote: "patch deployments",
		},
		{
			name: "flag in two words in command, with a readable number", make: func(b *bench) {
				b.serve(2, []string{
					"vllm", "serve", "meta-llama/Llama-70B", "--max-num-seqs", "256", "--api-key", secret, "--enable-chunked-prefill",
					"--max_num_batched_tokens", "8K", "--port", "8000",
				}, nil)
			}, req: halve, in: deployments, from: incident.Set("8K"), to: incident.Set("4096"),
			title:  "Lower max_num_batched_tokens of llama-70b from 8K to 4096",
			target: "Deployment %s/llama-70b args[vllm] --max-num-batched-tokens", wrote: "patch deployments",
		},
		{
			name: "flag that is not given, at the end of args", make: func(b *bench) {
				b.tokens().Default = 8192
				b.serve(2, nil, ungiven())
			}, req: halve, in: deployments, from: incident.Value{}, to: incident.Set("4096"),
			title:  "Lower max_num_batched_tokens of llama-70b from vLLM's default of 8192 to 4096",
			target: "Deployment %s/llama-70b args[vllm] --max-num-batched-tokens", wrote: "patch deployments",
		},
		{
			name: "flag that is not given, at the end of command where there are no args", make: func(b *bench) {
				b.tokens().Default = 2048
				b.serve(2, append([]string{"vllm", "serve", "meta-llama/Llama-70B"}, ungiven()...), nil)
			}, req: double, in: deployments, from: incident.Value{}, to: incident.Set("4096"),
			title:  "Raise max_num_batched_tokens of llama-70b from vLLM's default of 2048 to 4096",
			target: "Deployment %s/llama-70b args[vllm] --max-num-batched-tokens", wrote: "patch deployments",
		},
		{
			name: "limit of a circuit breaker", make: func(b *bench) {
				b.create(policies,
					policy(parallel(184)))
			}, req: shed, in: policies,
			from: incident.Set("184"), to: incident.Set("92"),
			title:  "Throttle HTTPRoute llama-70b from 184 to 92 parallel requests",
			target: "BackendTrafficPolicy %s/llama-70b spec.circuitBreaker.maxParallelRequests",
			wrote:  "patch backendtrafficpolicies",
		},
		{
			name: "absent circuit breaker", make: func(b *bench) { b.create(policies, policy(nil)) }, req: shed, in: policies,
			from: incident.Value{}, to: incident.Set("512"),
			title:  "Throttle HTTPRoute llama-70b from 1024 to 512 parallel requests",
			target: "BackendTrafficPolicy %s/llama-70b spec.circuitBreaker.maxParallelRequests",
			wrote:  "patch backendtrafficpolicies",
		},
		{
			name: "limit of a circuit breaker far above what is in flight", make: func(b *bench) {
				b.create(policies, policy(parallel(512)))
			}, req: shedding(60), in: policies,
			from: incident.Set("512"), to: incident.Set("30"),
			title:  "Throttle HTTPRoute llama-70b from 512 to 30 parallel requests",
			target: "BackendTrafficPolicy %s/llama-70b spec.circuitBreaker.maxParallelRequests",
			wrote:  "patch backendtrafficpolicies",
		},
		{
			name: "local rate limit, which what is in flight says nothing about", make: func(b *bench) {
				b.pool.Knobs.Throttle.Field = "requests"
				b.create(policies, policy(localLimit(100)))
			}, req: shedding(60), in: policies, from: incident.Set("100"), to: incident.Set("50"),
			title:  "Throttle HTTPRoute llama-70b from 100 to 50 requests per second",
			target: "BackendTrafficPolicy %s/llama-70b spec.rateLimit.local.rules[0].limit.requests",
			wrote:  "patch backendtrafficpolicies",
		},
		{
			name: "local rate limit", make: func(b *bench) {
				b.pool.Knobs.Throttle.Field = "requests"
				b.create(policies,
					policy(localLimit(100)))
			}, req: shed,
			in: policies, from: incident.Set("100"), to: incident.Set("50"),
			title:  "Throttle HTTPRoute llama-70b from 100 to 50 requests per second",
			target: "BackendTrafficPolicy %s/llama-70b spec.rateLimit.local.rules[0].limit.requests",
			wrote:  "patch backendtrafficpolicies",
		},
	}
}

func TestAStepIsProposedMadeSeenAndTakenBack(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			before := b.get(tt.in)
			s := b.propose(tt.req)
			checkProposal(t, b, tt, s)
			if err := b.bot.Recheck(t.Context(), b.pool, s); err != nil {
				t.Fatalf("recheck: %v", err)
			}
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Fatalf("looking wrote: %v", got)
			}
			for try := range 2 {
				if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "inc-1.s1.apply.7"); err != nil {
					t.Fatalf("apply, try %d: %v", try, err)
				}
			}
			checkObserved(t, b, s, incident.OpApply, "inc-1.s1.apply.7", tt.to, true)
			checkObserved(t, b, s, incident.OpUndo, "inc-1.s1.undo.9", tt.to, false)
			if cmp.Equal(before.Object["spec"], b.get(tt.in).Object["spec"]) {
				t.Fatal("the step changed nothing")
			}
			for try := range 2 {
				if err := b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "inc-1.s1.undo.9"); err != nil {
					t.Fatalf("undo, try %d: %v", try, err)
				}
			}
			checkObserved(t, b, s, incident.OpUndo, "inc-1.s1.undo.9", tt.from, true)
			if d := cmp.Diff(before.Object["spec"], b.get(tt.in).Object["spec"]); d != "" {
				t.Errorf("the undo did not restore what was there (-before +after):\n%s", d)
			}
			if d := cmp.Diff([]string{tt.wrote, tt.wrote}, b.writes(kubetest.Bot)); d != "" {
				t.Errorf("writes in the audit log (-want +got):\n%s", d)
			}
		})
	}
}

// What the journal keeps of a write is what the API server itself has of those versions: the object as it was just
// before the write, and as the write left it, whatever controllers did to its status around it.
func TestAWriteSaysOnWhichVersionItWasMadeAndWhichItMade(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			old := b.get(tt.in).Object["spec"]
			dry, err := b.bot.Registry.DryRun().Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if err != nil || dry.Before == "" || dry.After != "" {
				t.Errorf("a dry run: %+v %v, want the version before and none after", dry, err)
			}
			made, err := b.bot.Registry.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(old, b.at(tt.in, made.Before).Object["spec"]); d != "" {
				t.Errorf("the version before the write is not what was there: %s", d)
			}
			if d := cmp.Diff(b.get(tt.in).Object["spec"], b.at(tt.in, made.After).Object["spec"]); d != "" {
				t.Errorf("the version after the write is not what it made: %s", d)
			}
			if made.Before == made.After {
				t.Errorf("one version before and after: %+v", made)
			}
			again, err := b.bot.Registry.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if err != nil || again.Before != "" || again.After == "" {
				t.Errorf("the same write again: %+v %v, want only the version that was found", again, err)
			}
		})
	}
}

func checkProposal(t *testing.T, b *bench, tt turn, s incident.Step) {
	t.Helper()
	type short struct {
		From, To, Undo incident.Value
		Title, Target  string
		Checked        incident.Checked
		State          incident.StepState
	}
	want := short{
		tt.from, tt.to, tt.from, tt.title, fmt.Sprintf(tt.target, b.ns),
		incident.Checked{OK: true, By: incident.CheckedByServer},
		incident.StepProposed,
	}
	got := short{s.From, s.To, s.Undo, s.Title, s.Target.String(), s.Checked, s.State}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("step (-want +got):\n%s", d)
	}
	for _, v := range []incident.Value{s.From, s.To} {
		if v.Present && !strings.Contains(s.Title, v.Text) {
			t.Errorf("the title %q does not name %s", s.Title, v.Text)
		}
	}
	if s.Target.UID != string(b.get(tt.in).GetUID()) || s.Digest != s.ComputeDigest() {
		t.Errorf("uid %s, digest %s", s.Target.UID, s.Digest)
	}
	for name, text := range map[string]string{"cost": s.Cost, "speed": s.Speed, "risk": s.Risk, "diff": s.Diff} {
		if text == "" || strings.Contains(text, secret) {
			t.Errorf("%s: %q", name, text)
		}
	}
	if restart := tt.req.Kind == incident.StepMaxNumBatchedTokens; s.Needs.Restart != restart ||
		s.Needs.Confirm != restart {
		t.Errorf("needs %+v", s.Needs)
	}
	if throttled := tt.req.Kind == incident.StepThrottle; throttled != s.Mitigation() {
		t.Errorf("a mitigation reverted after %v", s.RevertAfter)
	}
}

func checkObserved(t *testing.T, b *bench, s incident.Step, op incident.Op, id string, want incident.Value, ours bool) {
	t.Helper()
	o, err := b.bot.Observe(t.Context(), b.pool, s, op, id, nil)
	if err != nil {
		t.Fatalf("observe %s: %v", op, err)
	}
	if o.Value != want || o.Ours != ours {
		t.Errorf("observed after %s %s: %+v, want %v, ours %v", op, id, o, want, ours)
	}
}

func TestTheArgumentsThatAreNotTurnedStayByteForByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	s := b.propose(halve)
	if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
		t.Fatal(err)
	}
	want := served()
	want[4] = "--max-num-batched-tokens=4096"
	if d := cmp.Diff(want, b.list("vllm", "args")); d != "" {
		t.Errorf("args of vllm (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"--max-num-batched-tokens=1"}, b.list("proxy", "args")); d != "" {
		t.Errorf("args of the other container (-want +got):\n%s", d)
	}
	if got := b.get(deployments).GetAnnotations()[actions.Annotation]; got != "w1" {
		t.Errorf("annotation %q", got)
	}
}
