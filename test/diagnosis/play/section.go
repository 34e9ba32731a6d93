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

// Section is what README.md says between its marks. Wrong answers keep the reasons that they had before.
func Section(s Score, ordinary []Incident, blind []Blind, before []diagnosis.Miss) string {
	var out strings.Builder
	out.WriteString("\n| corpus | on first contact | now |\n|---|---|---|\n")
	for _, l := range Table(s, ordinary, blind) {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", l.Corpus, l.First, l.Now)
	}
	out.WriteString("\n")
	ordered := slices.Clone(s)
	slices.SortFunc(ordered, func(a, b Result) int { return strings.Compare(a.Incident.Name, b.Incident.Name) })
	wrong, harm := "", ""
	for _, r := range ordered {
		if !r.Right() {
			m := diagnosis.Miss{Name: r.Incident.Name, Expected: r.Incident.Truth, Got: r.Answer.Got}
			wrong += m.Known(before).Line()
		}
		for _, h := range r.Harm {
			harm += fmt.Sprintf("| %s | %s | %s |\n", r.Incident.Name, h.Deed, h.Why)
		}
	}
	if wrong == "" {
		out.WriteString("No answer is wrong now.\n\n")
	} else {
		out.WriteString("Wrong answers now:\n\n| incident | expected | got | why |\n|---|---|---|---|\n" + wrong + "\n")
	}
	if harm == "" {
		out.WriteString("None is harmful.\n\n")
	} else {
		out.WriteString("Harmful ones:\n\n| incident | does | why it is harmful |\n|---|---|---|\n" + harm + "\n")
	}
	return out.String()
}

// KnownMisses are the wrong answers that README.md lists, with their reasons.
func KnownMisses(readme string) ([]diagnosis.Miss, error) {
	_, section, _, err := diagnosis.Marked(readme, sectionBegin, sectionEnd)
	return diagnosis.MissesIn(section), err
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
	return diagnosis.Unexplained(readme, diagnosis.MissesIn(committed))
}
