package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// Approved, but Prometheus does not answer: what the person saw cannot be checked again, so nothing is written until it
// can. Where it comes back within a check, so that only a part was read, the step is refused and asked about once more.
func TestPrometheusIsDownAfterTheApproval(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	w := newWorld(t)
	w.scenario("high-ttft")
	w.message("2 → 3")
	w.line.cut()
	before := w.line.tried()
	w.click("U0ALICE", "Scale")
	w.says("approved: Scale")
	w.until("the bot asked in vain", func() bool { return w.line.tried() > before+5 })
	if got := w.replicas(); got != 2 {
		t.Errorf("without readings the Deployment was scaled to %d", got)
	}
	w.line.mend()
	w.clickUntil("U0ALICE", "Scale", "Fixed: ")
	if got := w.replicas(); got != 3 {
		t.Errorf("the Deployment has %d replicas, want 3", got)
	}
}

// frail is a cluster of its own: its API server is stopped.
var frail = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})

func TestTheAPIServerIsDownAfterTheApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onCluster(frail.Cluster(t)))
	w.scenario("high-ttft")
	w.message("2 → 3")
	w.c.StopServer(t)
	for !w.approved("U0ALICE", "Scale") { // another alert has joined, and without the API server there is no plan
		w.c.StartServer(t)
		w.button("Scale")
		w.c.StopServer(t)
	}
	w.until("the bot tried in vain", func() bool {
		return strings.Contains(w.bot.out.String(), "the check before the write is tried again")
	})
	w.c.StartServer(t)
	w.clickUntil("U0ALICE", "Scale", "Fixed: ")
	if got := w.replicas(); got != 3 {
		t.Errorf("the Deployment has %d replicas, want 3", got)
	}
}

// What was approved goes on while Slack is away; afterwards the thread holds every line once.
func TestSlackIsDownWhileTheStepRuns(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	w := newWorld(t)
	w.scenario("high-ttft")
	w.message("2 → 3")
	w.click("U0ALICE", "Scale")
	w.slack.Outage(503)
	w.until("the Deployment is scaled", func() bool { return w.replicas() == 3 })
	w.slack.Outage(0)
	w.says("Fixed: ")
	w.says("Closed: ")
	w.nothingTwice()
}

// An Alertmanager that lost its memory with its pod notifies again of everything that fires.
func TestAlertmanagerIsRestarted(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	w := newWorld(t)
	w.scenario("high-ttft")
	w.message("2 → 3")
	w.am.end(syscall.SIGTERM)
	if err := os.RemoveAll(w.amDir()); err != nil {
		t.Fatal(err)
	}
	told := strings.Count(w.bot.out.String(), "delivery stored")
	w.startAlertmanager()
	w.until("Alertmanager notified again", func() bool {
		return strings.Count(w.bot.out.String(), "delivery stored") > told
	})
	w.click("U0ALICE", "Scale")
	w.says("Fixed: ")
	w.says("Closed: ")
	w.nothingTwice()
}
