package playbooks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in one file. Line and Col count from 1; they are 0 when the mistake is not in a file.
type Problem struct {
	File string
	Line int
	Col  int
	Text string
}

// String is "file:line:col: text".
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Text)
	}
}

// LoadErrors is every mistake that Load found, in the order of the files and of the lines in them.
type LoadErrors []Problem

// Error is one problem a line.
func (ps LoadErrors) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders by file, in the order in which the files were given, then by place; the same text at the same place is said once.
func (ps LoadErrors) sorted(files []File) LoadErrors {
	order := map[string]int{"": -1}
	for i, f := range files {
		if _, ok := order[f.Name]; !ok {
			order[f.Name] = i
		}
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(ps)
}
