package diagnosis

import (
	_ "embed"
	"strings"
)

// vocabulary is the page with the names that authors of played incidents use. The page is where they are defined: a
// table of labels, then a table of deeds.
//
//go:embed vocabulary.md
var vocabulary string

// Labels are the names that the truth of a played incident may have: Truths, and those that no playbook answers with
// yet.
func Labels() []string { return namesUnder("## Labels") }

// Deeds are the names for what a step or a piece of advice does.
func Deeds() []string { return namesUnder("## Deeds") }

// namesUnder are the first cells of the table below a heading.
func namesUnder(heading string) []string {
	_, text, _ := strings.Cut(vocabulary, heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "-") {
			continue
		}
		out = append(out, strings.TrimSpace(cells[1]))
	}
	return out[min(1, len(out)):] // without the head
}
