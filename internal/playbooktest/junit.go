package playbooktest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/util/junitxml"
)

// FileResult is what became of one file.
type FileResult struct {
	File string `json:"file"`
	// Problems say why the file could not be read; then there are no results.
	Problems []string `json:"problems,omitempty"`
	Results  []Result `json:"results"`
}

// Passed says that the file could be read and no test of it failed.
func (f FileResult) Passed() bool {
	for _, r := range f.Results {
		if !r.Passed {
			return false
		}
	}
	return len(f.Problems) == 0
}

// SameFailure says that two results are of one test and differ only in the dialect.
func (r Result) SameFailure(o Result) bool {
	return r.Test == o.Test && r.Passed == o.Passed && r.Error == o.Error && slices.Equal(r.Differences,
		o.Differences) && slices.Equal(r.Without, o.Without)
}

// WriteJUnit writes results as promtool does, for a CI system.
func WriteJUnit(w io.Writer, files []FileResult) error {
	var doc junitxml.JUnitXML
	for _, f := range files {
		suite := doc.Suite(f.File)
		if len(f.Problems) > 0 {
			suite.Case("read the file")
			suite.Abort(fmt.Errorf("%s", strings.Join(f.Problems, "\n")))
		}
		for _, r := range f.Results {
			suite.Case(r.Test + " (" + r.Dialect + ")")
			if r.Error != "" {
				suite.Abort(fmt.Errorf("%s", r.Error))
			}
			for _, d := range r.Differences {
				suite.Fail(d.Text())
			}
		}
	}
	if _, err := io.WriteString(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"); err != nil {
		return err
	}
	return doc.WriteXML(w)
}

// Text is the difference in two lines, and one more for each reason.
func (d Difference) Text() string {
	lines := []string{"- " + d.Field + ": " + d.Expected, "+ " + d.Field + ": " + d.Got}
	for line := range strings.Lines(d.Why) {
		lines = append(lines, "    "+strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}
