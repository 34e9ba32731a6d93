package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind says what is wrong at a place. Callers decide by it, never by the text.
type Kind int

// The kinds. Meaning is the zero value: the file could be read, and what it says cannot be right.
const (
	Meaning   Kind = iota
	Syntax         // no YAML, no or several documents, too large
	Unknown        // a field that does not exist
	Duplicate      // a field for the second time; the first one counts
	Mismatch       // another kind of value than belongs there
	Grammar        // a text that its own notation does not know, such as a duration
)

// Problem is one error in one file. Line and Col count from 1; they are 0 when it is about the whole file, and File is
// empty when it is in none.
type Problem struct {
	File string
	Line int
	Col  int
	Text string
	Kind Kind
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

// samePlace says whether two problems stand at one character.
func (p Problem) samePlace(q Problem) bool {
	return p.File == q.File && p.Line == q.Line && p.Col == q.Col
}

// Problems is every error that was found.
type Problems []Problem //nolint:errname // one of them is a Problem, and that is the word on every screen

// Error is one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Misshapen says whether something could not be read, or not be told apart, so that what is not there may only be
// unreadable.
func (ps Problems) Misshapen() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Kind != Meaning && p.Kind != Grammar })
}

// Hides says whether a problem of the file's shape stands where p does: nothing else is to be said about that place.
func (ps Problems) Hides(p Problem) bool {
	return slices.ContainsFunc(ps, func(q Problem) bool { return q.Kind != Meaning && q.samePlace(p) })
}

// Sorted orders by file, in the order of names, then by place. The same text at the same place is said once. Problems
// of no file come first.
func (ps Problems) Sorted(names ...string) Problems {
	order := map[string]int{"": -1}
	for i, name := range names {
		if _, ok := order[name]; !ok {
			order[name] = i
		}
	}
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
		)
	})
	return slices.CompactFunc(out, func(a, b Problem) bool { return a.samePlace(b) && a.Text == b.Text })
}

// Err is the problems as an error; nil when there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
