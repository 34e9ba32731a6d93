package incident

import (
	"encoding/json"
	"testing"
)

func routed(leftOut uint64, alert string) Note {
	return Note{Kind: NoteRouting, Routing: &Routing{LeftOut: leftOut, Routes: []Route{{
		Kind: RouteUnknown, Alert: alert, Owners: []WorkloadRef{{Kind: "Deployment", Namespace: "llm", Name: "llama"}},
	}}}}
}

// Many deliveries are folded in at once, and most of them say the same.
func TestARoutingIsSaidOnceForDeliveriesThatComeTogether(t *testing.T) {
	t.Parallel()
	res, err := ApplyAll(received(), []Event{
		AlertsReceived{Alerts: []Alert{firing("a")}, Note: routed(7, "HighTTFT")},
		AlertsReceived{Alerts: []Alert{firing("b")}, Note: routed(7, "HighTTFT")},
		AlertsReceived{Alerts: []Alert{firing("c")}, Note: routed(7, "QueueBuildUp")},
		AlertsReceived{Alerts: []Alert{firing("c")}, Note: routed(8, "HighTTFT")}, // no alert is new
		AlertsReceived{Alerts: []Alert{firing("d")}},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range res.Entries {
		if e.Said.Kind == NoteRouting {
			said = append(said, e.Said.Routing.Routes[0].Alert)
		}
	}
	if len(said) != 2 || said[0] != "HighTTFT" || said[1] != "QueueBuildUp" {
		t.Errorf("said of %q", said)
	}
}

func TestAStoredRoutingIsTheSame(t *testing.T) {
	t.Parallel()
	n := routed(7, "HighTTFT")
	n.Why = "in words"
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var again Note
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if !again.Same(routed(7, "HighTTFT")) {
		t.Errorf("%s is another note", b)
	}
	for name, other := range map[string]Note{
		"another number": routed(8, "HighTTFT"),
		"another alert":  routed(7, "QueueBuildUp"),
		"no routing":     {Kind: NoteRouting},
	} {
		if again.Same(other) || other.Same(again) {
			t.Errorf("%s counts as the same", name)
		}
	}
}
