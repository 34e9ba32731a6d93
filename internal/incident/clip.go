package incident

import "unicode/utf8"

// ClipMark ends a text that was cut off.
const ClipMark = "…"

// ClipBytes is a text of at most that many bytes: a longer one is cut off between two runes and ends with ClipMark.
// Where there is no room for the mark it is the mark alone.
func ClipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(ClipMark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ClipMark
}
