package slack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What an older version has stored only as sentences is shown as what a newer one has stored as facts.
func TestAnIncidentOfAnOlderVersionIsShownAsOneOfToday(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"asked": {
			"⚠️ diff not checked by the API server", "⚠️ *Don't* raise `max_num_seqs`, lower", "Scale 2 → 3 instead",
			"Raise minimum 2 → 3 instead",
		},
		"drift":      {"A step could not be written: Deployment llm/llama-70b: the server does not allow it: forbidden"},
		"denied":     {"*Denied by <@U0ALICE>, "},
		"mitigation": {"recovered, temporary throttle in place", "*Reverts to 256 at "},
		"undone":     {"Rolling back to 2 (asked for by slack:U0ALICE)."},
		"unrouted":   {"Add one like this:\npools:\n  - name: llama-70b\n"},
	} {
		b, err := os.ReadFile(filepath.Join("..", "..", "internal", "incident", "testdata", "before-facts-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var inc incident.Incident
		if err := json.Unmarshal(b, &inc); err != nil {
			t.Fatal(err)
		}
		text := string(sent(t, Render(inc, links)))
		for _, want := range wants {
			quoted, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, strings.Trim(string(quoted), `"`)) &&
				!strings.Contains(shownText(Render(inc, links)), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, shownText(Render(inc, links)))
			}
		}
		if reason := "the server does not allow it"; strings.Count(shownText(Render(inc, links)), reason) > 1 {
			t.Errorf("%s: the reason is said twice", name)
		}
	}
}
