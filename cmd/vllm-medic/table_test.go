package main

import (
	"bytes"
	"strings"
	"testing"
)

// A name that is copied is never cut; it takes a line of its own, with the reason, and its values come below.
func TestATableFitsAndCutsNoName(t *testing.T) {
	t.Parallel()
	long := "prod/meta-llama/Llama-3.3-70B-Instruct-of-the-search-team"
	value := strings.Repeat("9", 12)
	tab := table{
		rows: [][]string{
			{"HEALTH", "MODEL", "A", "B", "C", "D", "WHY"},
			{"problem", long, value, value, value, value, "longer than the column"},
			{"healthy", "llm/llama", "1", "2", "3", "4", "another reason that is too long"},
		},
		own: 1, clip: []int{6}, tones: []tone{uncolored, red, green},
	}
	var b, colored bytes.Buffer
	tab.print(&b)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "problem  "+long+"  longer than the column") ||
		strings.Index(lines[2], value) != strings.Index(lines[0], "  A  ")+2 || !strings.HasSuffix(lines[3], "…") {
		t.Errorf("got\n%s", &b)
	}
	for _, line := range lines {
		if shown(line) > columns {
			t.Errorf("too long: %s", line)
		}
	}
	tab.print(&sheet{to: &colored, width: columns, colored: true})
	bare := strings.NewReplacer(string(red), "", string(green), "", toneEnd, "").Replace(colored.String())
	if bare != b.String() ||
		strings.Count(colored.String(), toneEnd) != 2 {
		t.Errorf("in color:\n%q", colored.String())
	}
}

// What is printed for people fits a terminal, whatever names and reasons come from outside.
func TestListsOfIncidentsFit(t *testing.T) {
	t.Parallel()
	inc := known()
	inc.Pool = strings.Repeat("long-pool-", 6)
	inc.Diagnosis.Name = strings.Repeat("cause-", 10)
	var b bytes.Buffer
	out := &sheet{to: &b, width: columns}
	printIncident(out, inc, true)
	for line := range strings.Lines(b.String()) {
		if shown(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("too long: %s", line)
		}
	}
}
