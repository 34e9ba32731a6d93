package e2e

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Approved, but Prometheus does not answer: what the person saw cannot be checked again, so nothing is written until it
// can. Where it comes back within a check, so that only a part was read, the step is refused and asked about once more.
func TestPrometheusIsDownAfterTheApproval(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.around.cut()
		before := w.around.tried()
		w.click("U0ALICE", "Scale")
		w.says("approved: Scale")
		w.until("the bot asked in vain", func() bool { return w.around.tried() > before+5 })
		if got := w.replicas(); got != 2 {
			w.t.Errorf("without readings the Deployment was scaled to %d", got)
		}
		w.around.mend()
		w.clickUntil("U0ALICE", "Scale", "Fixed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
	})
}

func TestTheAPIServerIsDownAfterTheApproval(t *testing.T) {
	plays(t, size.Medium, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.around.stopServer()
		for !w.approved("U0ALICE", "Scale") { // another alert has joined, and without the API server there is no plan
			w.around.startServer()
			w.button("Scale")
			w.around.stopServer()
		}
		w.until("the bot tried in vain", func() bool {
			return strings.Contains(w.around.logged(), "the check before the write is tried again")
		})
		w.around.startServer()
		w.clickUntil("U0ALICE", "Scale", "Fixed: ")
		if got := w.replicas(); got != 3 {
			w.t.Errorf("the Deployment has %d replicas, want 3", got)
		}
	}, ownCluster())
}

// What was approved goes on while Slack is away; afterwards the thread holds every line once.
func TestSlackIsDownWhileTheStepRuns(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		w.click("U0ALICE", "Scale")
		w.slack.Outage(503)
		w.until("the Deployment is scaled", func() bool { return w.replicas() == 3 })
		w.slack.Outage(0)
		w.says("Fixed: ")
		w.says("Closed: ")
		w.nothingTwice()
	})
}

// An Alertmanager that lost its memory with its pod notifies again of everything that fires.
func TestAlertmanagerIsRestarted(t *testing.T) {
	plays(t, size.Large, func(w *world) {
		w.scenario("high-ttft")
		w.message("2 → 3")
		told := strings.Count(w.around.logged(), "delivery stored")
		w.around.forget()
		w.until("Alertmanager notified again", func() bool {
			return strings.Count(w.around.logged(), "delivery stored") > told
		})
		w.click("U0ALICE", "Scale")
		w.says("Fixed: ")
		w.says("Closed: ")
		w.nothingTwice()
	})
}
