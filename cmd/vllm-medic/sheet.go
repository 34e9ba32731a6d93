package main

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// columns is how wide a line for people is at most, in a pipe and on a terminal that has room for it; leastColumns is
// what a narrower terminal is taken to have.
const (
	columns      = 100
	leastColumns = 40
)

// tone is what a color says of a text. It never says it alone: the text is the same without.
type tone string

// The colors of a terminal, from the 16 that its user has chosen.
const (
	uncolored tone = ""
	bold      tone = "\x1b[1m"
	faint     tone = "\x1b[2m"
	red       tone = "\x1b[31m"
	green     tone = "\x1b[32m"
	yellow    tone = "\x1b[33m"

	toneEnd = "\x1b[0m"
)

// sheet is text for people: no line is longer than a terminal is wide, and some of it has a color. A line is written
// when it has ended.
type sheet struct {
	to io.Writer
	// width is 0 where lines are not cut.
	width   int
	colored bool
	line    []byte
}

// unwrapped is a sheet whose lines are as long as they are.
func unwrapped(t terminal) *sheet {
	return &sheet{to: t.out, colored: colored(isTerminal(t.out), t.getenv)}
}

// newSheet writes to standard output.
func newSheet(t terminal) *sheet {
	s := &sheet{to: t.out, width: columns, colored: colored(isTerminal(t.out), t.getenv)}
	if f, ok := t.out.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.width = max(leastColumns, min(columns, width))
		}
	}
	return s
}

// colored says whether text may have colors: only for a person at a terminal that knows them and who wants them
// (no-color.org).
func colored(atTerminal bool, getenv func(string) (string, bool)) bool {
	no, _ := getenv("NO_COLOR")
	kind, _ := getenv("TERM")
	return atTerminal && no == "" && kind != "dumb"
}

// Write takes text in pieces of any size.
func (s *sheet) Write(b []byte) (int, error) {
	s.line = append(s.line, b...)
	for {
		end := bytes.IndexByte(s.line, '\n')
		if end < 0 {
			return len(b), nil
		}
		var out strings.Builder
		for _, line := range wrapped(string(s.line[:end]), s.width) {
			out.WriteString(line + "\n")
		}
		s.line = s.line[end+1:]
		if _, err := io.WriteString(s.to, out.String()); err != nil {
			return len(b), err
		}
	}
}

// tint says a text in a color, where there are some. What others wrote is made visible before the color comes in.
func tint(w io.Writer, t tone, text string) {
	if s, ok := w.(*sheet); !ok || !s.colored || t == uncolored || text == "" {
		say(w, "%s", text)
		return
	}
	_, _ = io.WriteString(w, string(t)+redact.Visible(text)+toneEnd) // as in say
}

// tintLine says a line in a color, where there are some.
func tintLine(w io.Writer, t tone, text string) {
	tint(w, t, text)
	say(w, "\n")
}

// commands begin lines that are copied into a shell: such a line stays whole.
func commands() []string { return []string{"$ ", "kubectl ", "vllm-medic "} }

// wrapped cuts a line at spaces, so that none of its parts is wider than width. What follows is indented by two more
// than the line itself. A word that has no space, such as a URL, stays whole, and so does a command.
func wrapped(line string, width int) []string {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if width == 0 || shown(line) <= width {
		return []string{line}
	}
	line = strings.TrimRight(line, " ")
	for _, c := range commands() {
		if strings.HasPrefix(text, c) {
			return []string{line}
		}
	}
	further := strings.Repeat(" ", min(indent+2, width/2))
	var out []string
	rest := line
	for from := indent; shown(rest) > width; {
		cut := cutAt(rest, from, width)
		if cut < 0 {
			break
		}
		out = append(out, strings.TrimRight(rest[:cut], " "))
		rest = further + strings.TrimLeft(rest[cut:], " ")
		from = len(further)
	}
	return append(out, rest)
}

// cutAt is the last space before the width is used up, or the first one after it; -1 where there is none behind from.
func cutAt(line string, from, width int) int {
	cut, seen := -1, 0
	for i := 0; i < len(line); {
		if n := escape(line[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if r == ' ' && i > from {
			if seen > width && cut >= 0 {
				return cut
			}
			cut = i
			if seen > width {
				return cut
			}
		}
		seen++
		i += size
	}
	return cut
}

// shown is how many columns a line takes: a color takes none.
func shown(line string) int {
	n := 0
	for i := 0; i < len(line); {
		if e := escape(line[i:]); e > 0 {
			i += e
			continue
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
		n++
	}
	return n
}

// escape is the length of the color that a text begins with; 0 where it begins with none.
func escape(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	return strings.IndexByte(text, 'm') + 1
}
