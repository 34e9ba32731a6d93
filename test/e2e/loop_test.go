package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	programs "github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

func TestHighTTFTIsHealedByScalingOut(t *testing.T) {
	plays(t, size.Medium, func(w *world) {
		w.scenario("high-ttft")
		w.message("vLLMHighTTFT", "2 → 3")
		if answers := w.click("U0BOB", "Scale"); w.replicas() != 2 ||
			!strings.Contains(answers[0].Text, "You can't decide on this") {
			w.t.Errorf("somebody who is not on the list was obeyed, or not told why: %s", answers[0].Text)
		}
		w.click("U0ALICE", "Scale")
		w.says("Fixed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
		w.says("Closed: ")
	})
}

// The alert that the seed calls swapping fires on preemptions. The runbook's first step reduces the load, and the
// throttle is reverted when it is over.
func TestSwappingIsThrottledAndTheThrottleReverted(t *testing.T) {
	// seven tenths of it fit into the cache with room to spare; of 184 a few are still thrown out now and then
	plays(t, size.Large, func(w *world) {
		w.scenario("swapping")
		m := w.message("vLLMRequestSwapping", "160 → 112")
		if text := m.VisibleText(); strings.Index(text, "hrottle") > strings.Index(text, "Scale") &&
			strings.Contains(text, "Scale") {
			w.t.Error("scaling out is proposed before the load is reduced")
		}
		w.click("U0ALICE", "Throttle")
		w.says("Fixed: ")
		if got := w.limit(); got != 112 {
			w.t.Errorf("the policy lets %d requests in, want 112", got)
		}
		w.scenario("healthy")
		w.says(": reverting to ")
		w.says("Reverted as planned: ")
		if got := w.limit(); got != 160 {
			w.t.Errorf("after the undo the policy lets %d requests in, want 160", got)
		}
		w.says("Closed: ")
	}, letting(160))
}

func TestADenialLeavesEverythingAsItIs(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("queue-backlog")
		w.message("2 → 3")
		w.click("U0ALICE", "Deny") // one click denies everything that is asked
		w.message("Denied by", "No further proposals unless the diagnosis changes", "Ask again")
		w.scenario("healthy")
		w.says("Closed: ")
		if r, l := w.replicas(), w.limit(); r != 2 || l != 184 {
			w.t.Errorf("after a denial there are %d replicas and a limit of %d, want 2 and 184", r, l)
		}
	})
}

func TestExpiryMeansNo(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("queue-backlog")
		w.says("Approval expired")
		if r, l := w.replicas(), w.limit(); r != 2 || l != 184 {
			w.t.Errorf("after the expiry there are %d replicas and a limit of %d, want 2 and 184", r, l)
		}
	}, replace("expire: 5m", "expire: 3s"))
}

// A dry run reads everything and writes nothing: the API server's own audit log says so.
func TestADryRunSendsNoWrite(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("DRY RUN", "2 → 3")
		w.click("U0ALICE", "Dry-run scale")
		w.says("DRY RUN: would have applied")
		w.says("Inconclusive: ")
		if r := w.replicas(); r != 2 {
			w.t.Errorf("a dry run scaled to %d", r)
		}
		dry := 0
		for _, e := range w.c().Audit(w.t, w.user) {
			switch {
			case !e.Writing() || e.Review():
			case e.DryRun():
				dry++
			default:
				w.t.Errorf("a dry run sent a write: %s", e)
			}
		}
		if dry == 0 {
			w.t.Error("the audit log shows no dry-run, so this test saw nothing")
		}
	}, inMode("dry-run"), asUser(dryRunUser))
}

func TestAChangeByAHumanBetweenProposalAndClickWins(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		patch := []byte(`{"spec":{"replicas":4}}`)
		if _, err := w.objects(deployments).Patch(w.t.Context(), model, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.click("U0ALICE", "Scale")
		w.says("Not applied: ")
		if r := w.replicas(); r != 4 {
			w.t.Errorf("the human's 4 replicas became %d", r)
		}
	}, replace("refresh: 2s", "refresh: 1h"))
}

// Killed in the middle it goes on where it was: nothing asked twice, nothing written twice.
func TestTheBotIsKilledWhileTheSignalsSettle(t *testing.T) {
	plays(t, size.Medium, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.around.killBot()
		w.around.startBot()
		w.click("U0ALICE", "Scale")
		w.says("Applied: ")
		w.around.killBot()
		w.around.startBot()
		w.says("Fixed: ")
		w.says("Closed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
		if n := len(w.slack.Messages(channel)); n != 1 {
			w.t.Errorf("%d messages in the channel, want 1", n)
		}
	})
}

func TestAnAlertThatCarriesOnlyAnInstanceFindsItsPool(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		pods, err := w.c().Client(w.t).CoreV1().Pods(w.ns).List(w.t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 {
			w.t.Fatalf("no pods: %v", err)
		}
		w.around.push(map[string]string{
			"alertname": "HighTTFT", "severity": "warning",
			"instance": pods.Items[0].Status.PodIP + ":8000",
		})
		m := w.message("HighTTFT")
		if !strings.Contains(m.VisibleText(), model) {
			w.t.Errorf("the alert did not lead to the pool:\n%s", m.VisibleText())
		}
	})
}

func TestAnAlertWithoutAPoolIsVisibleOnce(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		for _, name := range []string{"one", "two"} {
			w.around.push(map[string]string{"alertname": "HighTTFT", "namespace": "elsewhere", "model_name": name})
			w.message(fmt.Sprintf("match: {model_name: %q", name))
		}
		w.says("Also firing")
		if n := len(w.slack.Messages(channel)); n != 1 {
			w.t.Errorf("%d messages, want 1", n)
		}
	})
}

func TestSlackIsDownWhenItBegins(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.slack.Outage(503)
		w.scenario("high-ttft")
		ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
		defer cancel()
		if err := w.slack.Wait(ctx, func(s *fakeslack.Server) bool {
			return len(s.CallsTo("chat.postMessage")) > 0
		}); err != nil {
			w.t.Fatal(err)
		}
		w.slack.Outage(0)
		w.message("2 → 3")
		if n := len(w.slack.Messages(channel)); n != 1 {
			w.t.Errorf("%d messages, want 1", n)
		}
	})
}
