package fakeslack

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// All that a message ever said is told, with its buttons and its thread, and what people wrote is not.
func TestAllThatWasSaidIsTold(t *testing.T) {
	t.Parallel()
	s, _, _ := clicked(t, Options{})
	s.PostAs("U0ALICE", room, "looking", "")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/_fake/told", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var told []truth.Message
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || len(told[0].Versions) == 0 {
		t.Fatalf("told %+v", told)
	}
	if b := told[0].Versions[0].Buttons; len(b) == 0 || b[0].Action != "approve" {
		t.Errorf("the buttons are %+v", b)
	}
}
