package strictyaml

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// unreadable is the first byte that cannot be in a file of YAML, with its place: the library says only that there is
// one. A file in UTF-16 with its mark is the library's to read. ok means that there is none.
func (s *source) unreadable(data []byte) (p Problem, ok bool) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return Problem{}, true
	}
	p = Problem{File: s.name, Line: 1, Col: 1, Kind: Syntax}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.Text = fmt.Sprintf("the byte 0x%02X is not UTF-8; save the file as UTF-8", data[at])
			return p, false
		case control(r):
			p.Text = fmt.Sprintf("there is a control character (U+%04X), which YAML doesn't allow; remove it", r)
			return p, false
		case r == '\n' || r == '\r' && !bytes.HasPrefix(data[at:], []byte("\r\n")):
			p.Line, p.Col = p.Line+1, 1
		case r != '\r' && r != '\uFEFF':
			p.Col++
		}
		at += size
	}
	return p, true
}

// control says whether YAML forbids a character (YAML 1.2, 5.1).
func control(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || r == 0x85:
		return false
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return true
	}
	return r == 0xfffe || r == 0xffff
}
