package e2e

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Each of the five alerts of the runbook, from Prometheus' own rule to the recovery that PromQL confirms; two of them
// stand in loop_test.go.

func TestAQueueIsHealedByScalingOut(t *testing.T) {
	// else nobody waits as long as the alert demands
	plays(t, size.Large, func(w *world) {
		w.scenario("queue-backlog")
		w.message("vLLMQueueBacklog", "2 → 3")
		w.click("U0ALICE", "Scale")
		w.says("Fixed: ")
		w.scenario("healthy") // the rush is over
		w.says("Closed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
	}, letting(400))
}

func TestAFullCacheIsHealed(t *testing.T) {
	// 1000: else the policy keeps the cache from filling. A chat would ask for a third step: three replicas take 50 to 75
	// ms for a token.
	plays(t, size.Large, func(w *world) {
		w.scenario("cache-full")
		w.message("vLLMGPUCacheFull", "2 → 3")
		w.click("U0ALICE", "Scale")
		w.says("Fixed: ")
		w.scenario("healthy") // the rush is over
		w.says("Closed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
	}, letting(1000), replace("    knobs:", "    slo: batch\n    knobs:"))
}

// Scaling out is not enough here, and the bot says so: the next step takes it from there.
func TestASpikeOfAbortsIsHealedInTwoSteps(t *testing.T) {
	// "improved" is said when the time is up
	plays(t, size.Large, func(w *world) {
		w.scenario("abort-spike")
		w.message("vLLMHighAbortRate", "2 → 3")
		w.click("U0ALICE", "Scale")
		w.says("Improved: ")
		w.message("Clients time out", "Throttle 184 → ") // how far depends on what is in flight
		w.click("U0ALICE", "Throttle")
		w.says("Fixed: ")
		w.scenario("healthy") // the rush is over
		w.says("Closed: ")
		if r, l := w.replicas(), w.limit(); r != 3 || l != 184 {
			w.t.Errorf("at the end %d replicas and a limit of %d, want 3 and 184: a mitigation is undone on recovery", r, l)
		}
	}, replace("verify_for: 2m", "verify_for: 30s"))
}

// A step that makes it worse is offered back, with the numbers, and the way back is verified too.
func TestAStepThatMakesItWorseIsUndone(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.fleet.SetWorse(true)
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.click("U0ALICE", "Scale")
		w.says("Worse: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("before anybody said so the Deployment was set to %d", got)
		}
		w.message("Roll back")
		w.click("U0ALICE", "Roll back")
		w.says("Rolled back: ")
		if got := w.replicas(); got != 2 {
			w.t.Errorf("after the undo there are %d replicas, want 2", got)
		}
		w.scenario("healthy")
		w.says("Closed: ")
	})
}

func TestAFireThatComesBackOpensTheSameMessage(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.scenario("healthy")
		w.says("Closed: ")
		w.scenario("high-ttft")
		w.says("Reopened: ")
		w.message("2 → 3", "Approve by")
		w.click("U0ALICE", "Scale")
		w.says("Fixed: ")
		w.nothingTwice()
	})
}
