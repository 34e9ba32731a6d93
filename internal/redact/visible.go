package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Invisible says whether a character can't be seen, or makes what follows look otherwise: control characters, and those
// of format, such as U+202E, which turns the direction of text around, and spaces without a width. Line ends and tabs
// are seen.
func Invisible(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf) || unicode.Is(unicode.Noncharacter_Code_Point, r)
}

// Visible puts a replacement character in place of each that can't be seen, so that a reader sees that something was
// there, and for what is no UTF-8: terminals, pages and messages show the words of others through it. A carriage return
// before a line end is part of it.
func Visible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Invisible) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}
