package incident

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/states.md again")

// diagram draws the state machine as Mermaid, one arrow for all events between two states.
func diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> received\n")
	for _, from := range States() {
		for _, to := range States() {
			var on []string
			for _, tr := range Transitions() {
				if tr.From == from && tr.To == to && from != to {
					on = append(on, string(tr.On))
				}
			}
			if len(on) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(on, ", "))
			}
		}
	}
	b.WriteString("    closed --> [*]\n```\n")
	return b.String()
}

func TestTheStatesPageShowsTheTable(t *testing.T) {
	t.Parallel()
	const path = "../../docs/states.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(raw), "```mermaid")
	_, tail, closed := strings.Cut(string(raw), "\n```\n")
	if !found || !closed {
		t.Fatalf("%s has no diagram", path)
	}
	want := head + diagram() + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(raw) != want {
		t.Errorf("%s does not show the table; run go test ./internal/incident -run States -update", path)
	}
	for _, s := range States() {
		if !strings.Contains(tail, "| "+string(s)+" |") {
			t.Errorf("%s does not explain %s", path, s)
		}
	}
}
