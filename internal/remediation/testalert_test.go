package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// A test alert is shown and leads to nothing, also on a pool in trouble on which policy would act. A real alert that
// joins it is treated as one.
func TestATestAlertLeadsToNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert(incident.TestAlertName, "llama"))
	b.sweep() // neither cluster has a script: a call to it fails the test
	b.pass(time.Minute)
	inc := b.open("llama")
	if inc.State != incident.StateWatching || inc.Plan != nil || inc.Diagnosis != nil || !inc.OnlyTest() {
		t.Errorf("state %s, plan %+v, diagnosis %+v", inc.State, inc.Plan, inc.Diagnosis)
	}
	if got := present.Mark(inc) + " " + present.Headline(inc); got != "TEST llama: test alert arrived, nothing to do" {
		t.Errorf("it says %q", got)
	}
	if !strings.Contains(inc.Note, "This is a test alert") {
		t.Errorf("it notes %q", inc.Note)
	}
	b.restart(llama())
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(time.Minute)
	if inc = b.read(inc.ID); inc.State != incident.StateDeciding || inc.OnlyTest() || present.Mark(inc) == "TEST" {
		t.Errorf("the real alert leads to nothing: state %s, %s", inc.State, present.Headline(inc))
	}
}
