package remediation_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Replicas of two versions share a store while an update rolls out. An operation that only the newer one knows is no
// step to be written.
func TestAnOperationOfANewerVersionWritesNothing(t *testing.T) {
	t.Parallel()
	for _, phase := range []incident.Phase{incident.PhaseRecheck, incident.PhaseClaimed} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			b.approve(b.asked(sick(5, addReplica())))
			inc := b.read(b.open("llama").ID)
			inc.Active.Op, inc.Active.Phase, inc.Active.WriteID = "drain", phase, "w"
			if err := b.store.Commit(t.Context(), incident.Change{
				Incident: inc, Expect: inc.Version,
				DueAt: b.clock(),
			}); err != nil {
				t.Fatal(err)
			}
			if err := b.trySweep(); err == nil || !strings.Contains(err.Error(), `operation "drain" is not known`) {
				t.Errorf("the turn ends with %v", err)
			}
			if got := b.live.written(); len(got) != 0 {
				t.Errorf("written %v", got)
			}
			if _, err := b.engine.Act(t.Context(), inc.ID, incident.Aborted{By: ada, Reason: "by hand"}); err != nil &&
				phase == incident.PhaseRecheck {
				t.Errorf("a person cannot end it: %v", err)
			}
		})
	}
}
