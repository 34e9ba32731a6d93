package playbooks

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// place is a value in a file. It knows where it stands, so that a mistake found long after decoding still gets its line and column.
type place struct {
	file  string
	lines []string
	node  *yaml.Node
}

func newPlace(f File, root *yaml.Node) place {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(f.Data)) // YAML knows all three line breaks.
	return place{file: f.Name, lines: strings.Split(text, "\n"), node: root}
}

// key is the value of a field; where the field is missing, it is the mapping itself, so that "x is missing" points at what lacks it.
func (p place) key(name string) place {
	n := resolved(p.node)
	if n == nil || n.Kind != yaml.MappingNode {
		return p
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			p.node = n.Content[i+1]
			return p
		}
	}
	return p
}

// item is the i-th entry of a list.
func (p place) item(i int) place {
	if n := resolved(p.node); n != nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		p.node = n.Content[i]
	}
	return p
}

func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// problem is a mistake at the start of the value.
func (p place) problem(format string, args ...any) Problem {
	line, col := 1, 1
	if p.node != nil && p.node.Line > 0 {
		line, col = p.node.Line, p.node.Column
	}
	return Problem{File: p.file, Line: line, Col: col, Text: fmt.Sprintf(format, args...)}
}

// problemAt is a mistake at a character inside a text value. Texts over several lines are followed as they are written; escapes in
// quoted texts are not undone, so behind one the column may be off by its length.
func (p place) problemAt(offset int, format string, args ...any) Problem {
	out := p.problem(format, args...)
	n := resolved(p.node)
	if n == nil || n.Kind != yaml.ScalarNode || n.Line < 1 || offset < 0 {
		return out
	}
	line, col := n.Line, n.Column
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		line, col = line+1, 1
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		col++
	}
	for ; line <= len(p.lines); line, col = line+1, 1 {
		text := p.lines[line-1]
		if col == 1 {
			trimmed := strings.TrimLeft(text, " ")
			col += utf8.RuneCountInString(text) - utf8.RuneCountInString(trimmed)
		}
		length := utf8.RuneCountInString(strings.TrimRight(text, " ")) - col + 1
		if offset <= max(length, 0) {
			out.Line, out.Col = line, col+offset
			return out
		}
		offset -= max(length, 0) + 1
	}
	return out
}
