package e2e

import (
	"strings"
	"testing"
)

func TestHighTTFTIsHealedByScalingOut(t *testing.T) {
	w := newWorld(t)
	w.scenario("high-ttft")
	w.message("vLLMHighTTFT", "2 → 3")
	if answers := w.click("U0BOB", "Scale"); w.replicas() != 2 || !strings.Contains(answers[0].Text, "not among the people") {
		t.Errorf("somebody who is not on the list was obeyed, or not told why: %s", answers[0].Text)
	}
	w.click("U0ALICE", "Scale")
	w.says("Verified: recovered")
	if got := w.replicas(); got != 3 {
		t.Errorf("the Deployment has %d replicas, want 3", got)
	}
	w.says("Closed: ")
}
