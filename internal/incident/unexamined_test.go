package incident

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whoever reads that an alert's rule is dead must also read of which alerts that is not known, as of the last
// investigation.
func TestWhatWasNotExaminedStandsInTheIncident(t *testing.T) {
	t.Parallel()
	next := found("queueing", scaleStep("2", "3"))
	next.Evidence.Unexamined = []UnexaminedAlert{{Alert: "Hostile", Why: "too long to analyze"}}
	inc := must(t, investigating(t), next)
	text, err := json.Marshal(inc)
	if err != nil || !strings.Contains(string(text), `"unexamined":[{"alert":"Hostile","why":"too long to analyze"}]`) {
		t.Errorf("%s, %v", text, err)
	}
	if inc = must(t, inc, Asked{ExpiresAt: now}, found("queueing", scaleStep("2", "3"))); len(inc.Unexamined) != 0 {
		t.Errorf("after an investigation that examined all: %+v", inc.Unexamined)
	}
}
