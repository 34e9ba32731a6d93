package strictyaml

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// ProblemInside is a problem at a character of a text, from 0, as the text is after its quotes and escapes are undone.
// Texts over several lines are followed as they are written.
func (v Value) ProblemInside(offset int, format string, args ...any) Problem {
	p := v.Problem(format, args...)
	n := resolved(v.node)
	if n == nil || n.Kind != yaml.ScalarNode || n.Line < 1 || offset < 0 {
		return p
	}
	line, col := n.Line, n.Column
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		col += properties(v.source.lines[min(line, len(v.source.lines))-1], col)
	}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		line, col = line+1, 1
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		col++
	}
	for ; line <= len(v.source.lines); line, col = line+1, 1 {
		text := v.source.lines[line-1]
		if col == 1 {
			col += utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " "))
		}
		rest := []rune(strings.TrimRight(text, " "))
		rest = rest[min(col-1, len(rest)):]
		width, read := written(rest, n.Style, offset)
		if read == offset {
			p.Line, p.Col = line, col+width
			return p
		}
		offset -= read + 1
	}
	return p
}

// properties is how long the anchor and the tag before a value are, with the spaces behind them.
func properties(line string, col int) int {
	text := []rune(line)
	end := min(col-1, len(text))
	for end < len(text) && (text[end] == '&' || text[end] == '!') {
		for end < len(text) && text[end] != ' ' {
			end++
		}
		for end < len(text) && text[end] == ' ' {
			end++
		}
	}
	return end - min(col-1, len(text))
}

// written is how many characters of a line stand for the first of a text, and for how many of them.
func written(line []rune, style yaml.Style, want int) (width, read int) {
	for width < len(line) && read < want {
		width += escape(line[width:], style)
		read++
	}
	return min(width, len(line)), read
}

// escape is how many characters the first character of a text takes in the file.
func escape(line []rune, style yaml.Style) int {
	if len(line) < 2 {
		return 1
	}
	switch {
	case style&yaml.SingleQuotedStyle != 0 && line[0] == '\'' && line[1] == '\'':
		return 2
	case style&yaml.DoubleQuotedStyle != 0 && line[0] == '\\':
		switch line[1] {
		case 'x':
			return 4
		case 'u':
			return 6
		case 'U':
			return 10
		default:
			return 2
		}
	default:
		return 1
	}
}
