package actions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestARolloutIsDoneWhenThePodsAreReady(t *testing.T) {
	t.Parallel()
	for _, req := range []incident.StepRequest{addOne, halve} {
		t.Run(string(req.Kind), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, nil, served())
			b.settled(2)
			s := b.propose(req)
			b.do(s, incident.OpApply)
			if r := b.rolledOut(s, incident.OpApply); r.State != incident.RolloutDone {
				t.Fatalf("apply: %+v", r)
			}
			b.do(s, incident.OpUndo)
			if r := b.rolledOut(s, incident.OpUndo); r.State != incident.RolloutDone {
				t.Fatalf("undo: %+v", r)
			}
			b.settled(2)
		})
	}
}

func TestARolloutWhosePodsFindNoNodeIsRunningAndThenFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := deployment(2, nil, served())
	o["spec"].(map[string]any)["progressDeadlineSeconds"] = int64(2)
	b.create(deployments, o)
	b.settled(2)
	s := b.propose(halve)
	b.do(s, incident.OpApply)
	// Pods without a node stay pending: there is no scheduler, as where no GPU is free.
	if err := b.tryPatch(t.Context(), deployments, `{"spec":{"template":{"spec":{"nodeName":null}}}}`); err != nil {
		t.Fatal(err)
	}
	r := b.rolledOut(s, incident.OpApply)
	if r.State != incident.RolloutFailed || !strings.Contains(r.Note, "progress deadline") {
		t.Fatalf("rollout: %+v", r)
	}
	// A failed rollout is where the undo is needed.
	b.do(s, incident.OpUndo)
	checkObserved(t, b, s, incident.OpUndo, "w.undo", s.From, true)
}

func TestAValueThatWasSetBackIsAFailedRollout(t *testing.T) {
	t.Parallel()
	for _, tt := range meddlings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			b.patch(tt.in, tt.merge)
			r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply)
			if err != nil || r.State != incident.RolloutFailed || !strings.Contains(r.Note, tt.got) || r.Reversal == nil ||
				r.Reversal.Value.Text != tt.got {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestAThrottleIsInForceWhenTheGatewayAcceptsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(parallel(184)))
	say := func(status string, generation int64) {
		t.Helper()
		b.patch(policies,
			fmt.Sprintf(`{"status":{"ancestors":[{"ancestorRef":{"name":"gw"},
				"controllerName":"gateway.envoyproxy.io/gatewayclass-controller","conditions":[
			{"type":"Accepted","status":%q,"reason":"Said","message":"the target was not found",
				"lastTransitionTime":"2026-11-21T00:00:00Z","observedGeneration":%d}]}]}}`, status, generation), "status")
	}
	say("True", 1)
	s := b.propose(shed)
	b.do(s, incident.OpApply)
	expect := func(want incident.RolloutState, words string) {
		t.Helper()
		r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply)
		if err != nil || r.State != want || !strings.Contains(r.Note, words) {
			t.Errorf("%+v, %v; want %s", r, err, want)
		}
	}
	expect(incident.RolloutRunning, "has not seen")
	say("False", 2)
	expect(incident.RolloutFailed, "the target was not found")
	say("True", 2)
	expect(incident.RolloutDone, "accepted")
	say("False", 2)
	if _, err := b.bot.Propose(t.Context(), b.pool, shed); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), "not in force") {
		t.Errorf("a step on a policy that is not in force: %v", err)
	}
}

func TestAThrottleThatNoGatewaySpeaksOfIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(parallel(1000)))
	s := b.propose(shed)
	b.do(s, incident.OpApply)
	if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != incident.RolloutDone {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAMissingPolicyIsRefusedWithOneToApply(t *testing.T) {
	t.Parallel()
	for field, more := range map[string]string{
		"maxParallelRequests": "maxParallelRequests: 1024",
		"requests":            "unit: Second",
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.pool.Knobs.Throttle.Field = field
			_, err := b.bot.Propose(t.Context(), b.pool, shed)
			hint := hintOf(err)
			if outcome(err) != "refused" || !strings.Contains(hint, more) {
				t.Fatalf("%v, hint %q", err, hint)
			}
			if list, err := b.c.Dynamic(t).Resource(policies).Namespace(b.ns).List(t.Context(), listAll); err != nil ||
				len(list.Items) != 0 {
				t.Fatalf("the bot made one: %v, %v", list, err)
			}
			// What the hint says is what the API server takes, and then the knob turns.
			_, manifest, _ := strings.Cut(hint, "\n\n")
			b.create(policies, fromYAML(t, manifest))
			b.do(b.propose(shed), incident.OpApply)
		})
	}
}

func TestAPolicyWithoutALocalRateLimitIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Knobs.Throttle.Field = "requests"
	b.create(policies, policy(parallel(184)))
	if _, err := b.bot.Propose(t.Context(), b.pool, shed); outcome(err) != "refused" || hintOf(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestAWorkloadThatWouldNotFollowIsNotRestarted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.patch(deployments, `{"spec":{"paused":true}}`)
	if _, err := b.bot.Propose(t.Context(), b.pool, halve); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), "paused") {
		t.Errorf("%v", err)
	}
}

func TestArgumentsThatAreNotCertainAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		command, args []string
		want          string
	}{
		{"absent", nil, []string{"--max-num-seqs=256"}, "without knobs.max_num_batched_tokens.default"},
		{"a shell", []string{"/bin/sh", "-c"}, []string{"vllm serve m --max-num-batched-tokens=8192"}, "shell"},
		{"a variable", nil, []string{"--max-num-batched-tokens=$(TOKENS)"}, "variable"},
		{"a file", nil, []string{"--config=/etc/vllm.yaml", "--max-num-batched-tokens=8192"}, "--config"},
		{"unknown floor", nil, []string{"--max-num-batched-tokens=8192", "--max-num-seqs=256"}, "chunked prefill"},
		{"no number", nil, []string{"--max-num-batched-tokens=8.5K", "--max-num-seqs=256"}, "cannot be read"},
		{"not below the sequences", nil, []string{
			"--max-num-batched-tokens=4096", "--max-num-seqs=4096",
			"--enable-chunked-prefill",
		}, "--max-num-seqs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serve(2, tt.command, append([]string{"--api-key=" + secret}, tt.args...))
			_, err := b.bot.Propose(t.Context(), b.pool, halve)
			if outcome(err) != "refused" || !strings.Contains(err.Error()+hintOf(err), tt.want) ||
				strings.Contains(err.Error()+hintOf(err), secret) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheLastOfARepeatedFlagIsTurned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := []string{
		"--max_num_batched_tokens", "2048", "--max-num-seqs=256", "--enable-chunked-prefill",
		"--max-num-batched-tokens=8k",
	}
	b.serve(2, nil, args)
	s := b.propose(halve)
	if s.From != incident.Set("8k") || s.To != incident.Set("4000") || !strings.Contains(s.Risk, "more than once") {
		t.Fatalf("from %s to %s, risk %q", s.From, s.To, s.Risk)
	}
	b.do(s, incident.OpApply)
	args[4] = "--max-num-batched-tokens=4000"
	if d := cmp.Diff(args, b.list("vllm", "args")); d != "" {
		t.Errorf("args (-want +got):\n%s", d)
	}
}

func TestAKindWithoutAScaleIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(nil))
	for kind, version := range map[string]string{
		"BackendTrafficPolicy": "gateway.envoyproxy.io/v1alpha1",
		"Engine":               "gateway.envoyproxy.io/v1alpha1", "Deployment": "apps/v9",
	} {
		b.pool.Workload.APIVersion, b.pool.Workload.Kind = version, kind
		// An admin asks: it is not for lack of rights that it is refused.
		if _, err := b.as(kubetest.Admin, nil).Propose(t.Context(), b.pool, addOne); outcome(err) != "refused" ||
			!strings.Contains(err.Error(), kind) {
			t.Errorf("%s of %s: %v", kind, version, err)
		}
	}
}

func TestArgumentsOfOtherKindsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	leaderWorkerSet(b)
	b.pool.Knobs.Arguments = incident.ArgumentKnobs{incident.StepMaxNumBatchedTokens: {Min: 1024, Max: 8192}}
	if _, err := b.bot.Propose(t.Context(), b.pool, halve); outcome(err) != "refused" ||
		!strings.Contains(err.Error(), "LeaderWorkerSet") {
		t.Errorf("%v", err)
	}
}

func TestAnotherKindIsDoneWhenItSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	leaderWorkerSet(b)
	s := b.propose(addOne)
	if !strings.Contains(s.Cost, "1 more group of pods") {
		t.Errorf("cost: %s", s.Cost)
	}
	b.do(s, incident.OpApply)
	for _, tt := range []struct {
		status string
		want   incident.RolloutState
	}{
		{`{"replicas":2}`, incident.RolloutRunning},
		{`{"replicas":3,"readyReplicas":2}`, incident.RolloutRunning},
		{`{"replicas":3,"readyReplicas":3,"observedGeneration":1}`, incident.RolloutRunning},
		{`{"replicas":3,"readyReplicas":3,"observedGeneration":2}`, incident.RolloutDone},
	} {
		b.patch(groups, `{"status":`+tt.status+`}`, "status")
		if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != tt.want {
			t.Errorf("%s: %+v, %v; want %s", tt.status, r, err, tt.want)
		}
	}
}
