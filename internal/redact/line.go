package redact

import (
	"strings"
	"unicode/utf8"
)

// maxLine bounds a foreign text in our errors and warnings, in runes.
const maxLine = 300

// Line makes a foreign text one short line of valid UTF-8. It hides nothing.
func Line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if utf8.RuneCountInString(s) <= maxLine {
		return s
	}
	return string([]rune(s)[:maxLine]) + "..."
}
