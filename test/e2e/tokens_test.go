package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// longPrompts come to engines that read them in steps so small that what each step costs before it reads anything is
// most of it. Nothing waits, and the cache is far from full. Twice the budget needs half the steps.
func longPrompts(t *testing.T) fleet.Scenario {
	t.Helper()
	s, err := fleet.ScenarioNamed("long-prefill")
	if err != nil {
		t.Fatal(err)
	}
	s.Engine.MaxNumBatchedTokens, s.Engine.Step, s.Engine.PerPromptToken = 1024, 40*time.Millisecond, 10*time.Microsecond
	return s
}

// The Deployment runs without a prefix cache (a cold one would explain the long prefill, and pass by itself) and with
// vLLM's own budget, which only the configuration knows; that prompts are read in chunks is said, or no budget would be
// known to be large enough. Raising it restarts the pods, so Slack asks twice; the real controller replaces them, each
// with the new argument; Prometheus says that it helped.
func TestALongPrefillIsHealedByALargerBudgetForEachStep(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		before := w.podNames()
		w.upFor(time.Hour)
		w.begin(longPrompts(w.t))
		m := w.message("vLLMHighTTFT", "prefill takes long", "from vLLM's default of 1024 to 2048")
		b := w.button("Restart with 2048")
		if b.Confirm == nil || !strings.Contains(b.Confirm.Text, "replaces all pods") {
			w.t.Fatalf("the button asks nothing: %+v", b)
		}
		click := fakeslack.ClickRequest{
			User: "U0ALICE", Channel: channel, MessageTS: m.TS, BlockID: b.BlockID,
			ActionID: b.ActionID, Decline: true,
		}
		if _, err := w.slack.Click(w.t.Context(), click); !errors.Is(err, fakeslack.ErrDeclined) ||
			slices.ContainsFunc(w.engineArgs(), tokensArg) {
			w.t.Fatalf("declined in the dialog: %v, and the arguments are %q", err, w.engineArgs())
		}
		w.click("U0ALICE", "Restart with 2048")
		w.says("Fixed: ")
		want := []string{
			"--model=meta-llama/Llama-70B", "--api-key=sk-very-secret", "--max-num-seqs=64", "--enable-chunked-prefill",
			"--no-enable-prefix-caching", "--max-num-batched-tokens=2048",
		}
		if got := w.engineArgs(); !slices.Equal(got, want) {
			w.t.Errorf("the Deployment has the arguments %q, want %q", got, want)
		}
		for _, r := range w.fleet.State().Replicas {
			if r.MaxNumBatchedTokens != 2048 || slices.Contains(before, r.Name) {
				w.t.Errorf("pod %s runs with a budget of %d; the pods were %q", r.Name, r.MaxNumBatchedTokens, before)
			}
		}
		w.says("Closed: ")
		w.nothingTwice()
		if strings.Contains(w.story(), "sk-very-secret") {
			w.t.Error("a secret of the arguments shows in Slack")
		}
	}, serving("--max-num-seqs=64", "--enable-chunked-prefill", "--no-enable-prefix-caching"),
		replace("max_num_batched_tokens: {min: 2048, max: 16384}",
			"max_num_batched_tokens: {min: 2048, max: 16384, default: 1024}"),
		replace("    knobs:", "    slo: {profile: agentic, ttft: 2500ms}\n    knobs:"))
}

func tokensArg(s string) bool { return strings.Contains(s, "batched") }

// engineArgs are the arguments of the real Deployment.
func (w *world) engineArgs() []string {
	w.t.Helper()
	d, err := w.c().Client(w.t).AppsV1().Deployments(w.ns).Get(w.t.Context(), model, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return d.Spec.Template.Spec.Containers[0].Args
}

// upFor makes the pods look as old as those of a pool that has served for a while: what restarts pods is not proposed
// for new ones.
func (w *world) upFor(d time.Duration) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"startTime":%q}}`, time.Now().Add(-d).UTC().Format(time.RFC3339))
	for _, name := range w.podNames() {
		if _, err := w.c().Client(w.t).CoreV1().Pods(w.ns).Patch(w.t.Context(), name, types.MergePatchType, patch,
			metav1.PatchOptions{}, "status"); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) podNames() []string {
	w.t.Helper()
	pods, err := w.ready(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.Name
	}
	return out
}
