package play

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// The marks between which README.md says how played incidents were answered.
const (
	sectionBegin = "<!-- played: go run ./test/diagnosis/cmd/accuracy --update -->\n"
	sectionEnd   = "<!-- end of played -->"
)

// Line is a corpus with its two numbers.
type Line struct{ Corpus, First, Now string }

// Table has a line for the ordinary incidents and one for each blind corpus that has had its first run. The score is of
// all of them, as they are now.
func Table(s Score, ordinary []Incident, blind []Blind) []Line {
	of := func(incidents []Incident) Score {
		return slices.DeleteFunc(slices.Clone(s), func(r Result) bool {
			return !slices.ContainsFunc(incidents, func(i Incident) bool { return i.Name == r.Incident.Name })
		})
	}
	out := []Line{{"played", "not blind", of(ordinary).Count().String()}}
	for _, b := range blind {
		if b.First != nil {
			out = append(out, Line{"blind/" + b.Name, b.First.String(), of(b.Now(ordinary)).Count().String()})
		}
	}
	return out
}

// Section is what README.md says between its marks.
func Section(s Score, ordinary []Incident, blind []Blind) string {
	var out strings.Builder
	out.WriteString("\n| corpus | on first contact | now |\n|---|---|---|\n")
	for _, l := range Table(s, ordinary, blind) {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", l.Corpus, l.First, l.Now)
	}
	ordered := slices.DeleteFunc(slices.Clone(s), func(r Result) bool { return r.Right() && len(r.Harm) == 0 })
	if len(ordered) == 0 {
		out.WriteString("\nNo answer is wrong or harmful now.\n\n")
		return out.String()
	}
	out.WriteString("\nWrong or harmful answers now:\n\n| incident | expected | got | harmful |\n|---|---|---|---|\n")
	slices.SortFunc(ordered, func(a, b Result) int { return strings.Compare(a.Incident.Name, b.Incident.Name) })
	for _, r := range ordered {
		var harm []string
		for _, h := range r.Harm {
			harm = append(harm, h.Deed)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.Incident.Name, r.Incident.Truth, r.Answer.Got,
			strings.Join(slices.Compact(slices.Sorted(slices.Values(harm))), ", "))
	}
	out.WriteString("\n")
	return out.String()
}

// Update writes README.md's section.
func Update(readme, section string) error {
	head, _, tail, err := diagnosis.Marked(readme, sectionBegin, sectionEnd)
	if err != nil {
		return err
	}
	//nolint:gosec // a file of this repository
	return os.WriteFile(readme, []byte(head+sectionBegin+section+sectionEnd+tail), 0o644)
}

// Holds compares README.md with a run of all.
func Holds(readme, section string) error {
	_, committed, _, err := diagnosis.Marked(readme, sectionBegin, sectionEnd)
	if err != nil {
		return err
	}
	if d := cmp.Diff(committed, section); d != "" {
		return fmt.Errorf("%s does not say what this run says of played incidents; see "+
			"go run ./test/diagnosis/cmd/accuracy --update (-committed +run):\n%s", readme, d)
	}
	return nil
}
