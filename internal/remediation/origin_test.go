package remediation

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The sequence of deliveries begins again where a restored backup ended. The incident of the delivery that comes now
// must not have the id of the lost one's, and the same delivery that is folded again must not make another.
func TestANumberThatIsGivenAgainAfterARestoreMakesAnotherID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 3, 0, 0, 123456789, time.UTC)
	lost := newID("llama", originOf(incident.Delivery{ID: 7, ReceivedAt: at}))
	again := newID("llama", originOf(incident.Delivery{ID: 7, ReceivedAt: at.In(time.FixedZone("", 3600)), Attempts: 2}))
	if lost != again {
		t.Errorf("the same delivery makes %s and %s", lost, again)
	}
	if other := newID("llama", originOf(incident.Delivery{ID: 7, ReceivedAt: at.Add(time.Hour)})); other == lost {
		t.Errorf("the seventh delivery after a restore makes %s again", other)
	}
	if len(lost) != len("inc-mgzldp4b") {
		t.Errorf("the form of an id has changed: %s", lost)
	}
}
