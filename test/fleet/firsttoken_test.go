package fleet_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// A first token is told when it comes, and not when the answer ends, which the outcome tells.
func TestAFirstTokenIsToldBeforeTheAnswerEnds(t *testing.T) {
	t.Parallel()
	first := map[time.Duration]time.Duration{} // by the client's arrival: how long it waited
	var early, outcomes int
	f, err := fleet.New(fleet.Options{
		Scenario: "healthy",
		FirstToken: func(at, waited time.Duration) {
			first[at-waited] = waited
		},
		Observe: func(o fleet.Outcome) {
			outcomes++
			if waited, told := first[o.Arrived]; told && waited == o.FirstToken && o.Arrived+waited < o.Ended {
				early++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(30 * time.Second)
	if outcomes < 50 || early != outcomes || len(first) <= outcomes {
		t.Errorf("of %d answers the first token of %d was told before, as long after the first try; %d in all", outcomes,
			early, len(first))
	}
}
