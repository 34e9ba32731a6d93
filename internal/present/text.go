package present

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxRaw is what is looked at of one foreign text at all, in bytes.
const maxRaw = 20000

// Clean shows what a reader can't see, and what turns the direction of text around, as a replacement character, and
// keeps line ends. Foreign text goes through it before anything else.
func Clean(s string) string {
	if len(s) > maxRaw {
		s = s[:maxRaw]
	}
	return strings.ReplaceAll(redact.Visible(strings.ToValidUTF8(s, "�")), "\t", " ")
}

// Line puts foreign text on one line.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clip shortens to most characters and says so with an ellipsis.
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return strings.TrimRightFunc(string(runes[:max(0, most-1)]), unicode.IsSpace) + "…"
}

// Capital begins a sentence with text that was a clause. A name with capitals of its own, such as vLLMHighTTFT, stays
// as it is: it would be another name.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	word, _, _ := strings.Cut(text, " ")
	if first == utf8.RuneError || unicode.IsLower(first) && strings.ContainsFunc(word, unicode.IsUpper) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Lower puts a text of ours in the middle of a sentence.
func Lower(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// Ended makes a sentence of a clause.
func Ended(text string) string {
	text = Capital(text)
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "…") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}

// Capped are the first few of some texts, with a count of the others.
func Capped(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(slices.Clone(texts[:most]), More(len(texts)-most))
}

// More says how many items were left out.
func More(n int) string { return fmt.Sprintf("…and %d more", n) }

// Counted is a number of things: "1 alert", "7 alerts", "1,200 alerts".
func Counted[N int | uint64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return incident.FormatValue(float64(n), incident.UnitCount) + " " + thing
}
