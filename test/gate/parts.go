package gate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Part is a row of test/large.md: large tests that are run together.
type Part struct {
	Name, Package string
	// Tests are the names of the tests; nil are all of the package.
	Tests []string
	// By are the files and folders whose changes it is run after.
	By []string
}

// columns are those of a row, with what is before the first and after the last one.
const columns = 7

// Parts reads the table of a page. No row, a row with another number of columns and a name that is used twice are
// errors.
func Parts(page string) ([]Part, error) {
	var out []Part
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) == 1 || strings.HasPrefix(line, "| part |") || strings.HasPrefix(line, "|---") {
			continue
		}
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		if len(cells) != columns || slices.Contains(cells[1:columns-1], "") {
			return nil, fmt.Errorf("a part has five columns: %q", line)
		}
		p := Part{Name: cells[1], Package: cells[2], Tests: strings.Fields(cells[3]), By: strings.Fields(cells[5])}
		if cells[3] == "all" {
			p.Tests = nil
		}
		if slices.ContainsFunc(out, func(o Part) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("there are two parts %q", p.Name)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("the page has no table of parts")
	}
	return out, nil
}

// Pattern is what go test -run takes for the part's tests: nothing for all of them.
func (p Part) Pattern() string {
	if p.Tests == nil {
		return ""
	}
	names := make([]string, len(p.Tests))
	for n, name := range p.Tests {
		names[n] = regexp.QuoteMeta(name)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Touched says whether the part is run after a change of one of these files.
func (p Part) Touched(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return slices.ContainsFunc(p.By, func(by string) bool { return file == by || strings.HasPrefix(file, by+"/") })
	})
}

// WithoutPart are the tests, of those that a run has left out for their size, that no part runs.
func WithoutPart(larger []string, parts []Part) []string {
	var out []string
	for _, t := range larger {
		pkg, name, _ := strings.Cut(t, " ")
		name, _, _ = strings.Cut(name, "/")
		runs := func(p Part) bool {
			return p.Package == pkg && (p.Tests == nil || slices.Contains(p.Tests, name))
		}
		if t = pkg + " " + name; !slices.ContainsFunc(parts, runs) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
