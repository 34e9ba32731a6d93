package incident

import (
	"encoding/json"
	"testing"
)

// The values are stored and exported: those of today's rows must be read for as long as there are any.
func TestStoredKindsOfActorsStay(t *testing.T) {
	t.Parallel()
	stored := map[ActorKind]struct {
		text   string
		person bool
	}{
		ActorSlack: {"slack", true}, ActorKubernetes: {"kubernetes", true}, ActorViewer: {"viewer", false},
		ActorPolicy: {"policy", false}, ActorBot: {"bot", false}, ActorSchedule: {"schedule", false},
	}
	if len(stored) != len(ActorKinds) {
		t.Errorf("%d kinds, %d are known here", len(ActorKinds), len(stored))
	}
	for _, kind := range ActorKinds {
		a := Actor{Kind: kind, ID: "x"}
		raw, err := json.Marshal(a)
		if want := `{"kind":"` + stored[kind].text + `","id":"x"}`; err != nil || string(raw) != want {
			t.Errorf("%s is stored as %s, want %s (%v)", kind, raw, want, err)
		}
		if a.Person() != stored[kind].person || a.String() != stored[kind].text+":x" {
			t.Errorf("%s: a person %t, %s", kind, a.Person(), a)
		}
	}
	if (Actor{Kind: "somebody"}).Person() {
		t.Error("a kind that nobody knows is a person")
	}
}
