package slack

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// clean drops what a reader cannot see and what turns the direction of text around, and keeps line ends. Foreign text
// goes through it before anything else.
func clean(s string) string {
	if len(s) > maxRaw {
		s = s[:maxRaw]
	}
	s = strings.ToValidUTF8(s, "�")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Noncharacter_Code_Point, r):
			return -1
		}
		return r
	}, s)
}

// line puts foreign text on one line.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// clip shortens to most characters and says so with an ellipsis.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return strings.TrimRightFunc(string(runes[:max(0, most-1)]), unicode.IsSpace) + "…"
}

// escape makes foreign text harmless in mrkdwn, on one line and at most most characters after escaping.
func escape(s string, most int) string {
	return clipEscaped(line(s), most)
}

// clipEscaped escapes and shortens, never in the middle of an escape.
func clipEscaped(s string, most int) string {
	if out := escaper.Replace(s); utf8.RuneCountInString(out) <= most {
		return out
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		e := escaper.Replace(string(r))
		if n += utf8.RuneCountInString(e); n > most-1 {
			break
		}
		b.WriteString(e)
	}
	return strings.TrimRightFunc(b.String(), unicode.IsSpace) + "…"
}

// bold marks foreign text as bold. Asterisks in it would end the bold.
func bold(s string, most int) string {
	s = escape(strings.ReplaceAll(s, "*", "∗"), most)
	if s == "" {
		return ""
	}
	return "*" + s + "*"
}

// fence shows foreign text as code, at most lines lines and most characters.
func fence(s string, lines, most int) string {
	s = strings.Trim(strings.ReplaceAll(clean(s), "```", "'''"), "\n ")
	if s == "" || lines == 0 {
		return ""
	}
	all := strings.Split(s, "\n")
	shown := strings.Join(all[:min(lines, len(all))], "\n")
	out := "```\n" + clipEscaped(shown, most) + "\n```"
	if more := len(all) - lines; more > 0 {
		out += fmt.Sprintf("\n…and %d more lines", more)
	}
	return out
}

// link is a live link of our own making; without a target, or with one that is too long, it is only the label. Label
// must be escaped.
func link(target, label string) string {
	if target == "" || label == "" || len(target) > maxURL || strings.ContainsAny(target, "<>| \n") {
		return label
	}
	return "<" + escaper.Replace(target) + "|" + label + ">"
}

// clock shows a time in the reader's own zone, and in UTC where Slack cannot.
func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return fmt.Sprintf("<!date^%d^{time}|%s>", t.Unix(), t.UTC().Format("15:04 UTC"))
}

var userID = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)

// who names an actor. Only an id that has the form of a Slack user becomes a mention.
func who(a incident.Actor) string {
	switch {
	case a.Kind == "slack" && userID.MatchString(a.ID):
		return "<@" + a.ID + ">"
	default:
		return escape(present.Person(a), 80)
	}
}

// sentence shows one whose people are values: its text is escaped, its people are mentioned. Only they are: an alert
// that says "slack:U0123" must not call anybody.
func sentence(spans []present.Span, most int) string {
	var b strings.Builder
	room := most
	for _, s := range spans {
		if s.Text == "" {
			mention := who(s.Person)
			room -= utf8.RuneCountInString(mention)
			if room < 0 {
				return b.String() + "…"
			}
			b.WriteString(mention)
			continue
		}
		text := clipEscaped(oneLine(s.Text), room)
		b.WriteString(text)
		if room -= utf8.RuneCountInString(text); room <= 0 {
			break
		}
	}
	return b.String()
}

// oneLine is line for a piece of a sentence: the space at its ends stays.
func oneLine(s string) string {
	out := line(s)
	if strings.HasPrefix(s, " ") {
		out = " " + out
	}
	if out != " " && strings.HasSuffix(s, " ") {
		out += " "
	}
	return out
}

// unlink breaks bare URLs and @channel with a zero-width space, where Slack would make them live.
var unlink = strings.NewReplacer("://", ":\u200b//", "@channel", "@\u200bchannel", "@here", "@\u200bhere", "@everyone",
	"@\u200beveryone")

// defuse makes foreign text harmless in text that is not verbatim: the top-level text and private answers.
func defuse(s string, most int) string {
	return clipEscaped(unlink.Replace(line(s)), most)
}

// ourMarkup finds the links and times of our own making, with their labels.
var ourMarkup = regexp.MustCompile(`<[^<>|]*\|([^<>]*)>`)

// more says how many items were left out.
func more(n int) string { return fmt.Sprintf("…and %d more", n) }
