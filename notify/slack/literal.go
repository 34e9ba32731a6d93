package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookalikes take the place of the characters by which mrkdwn formats, which has no escape for them. A reader sees much
// the same text; whoever copies it gets another character. So this is only for a name or a sentence of others within a
// line of ours that has links, mentions or formatting. What is all theirs is a plain_text or a rich_text (rich.go),
// which keep each character; code keeps all but the backtick.
var lookalikes = map[rune]rune{
	'*': '∗',  // bold
	'_': '＿',  // italics, at the border of a word
	'~': '∼',  // struck through
	'`': '\'', // code
	':': '∶',  // the name of an emoji
	'>': '›',  // a quotation, at the beginning of a line
}

// literal makes foreign text of one line say to Slack what it says to a reader: no part of it is formatting, whatever
// is written before and behind it. It keeps what formats nothing: snake_case, 03:22, host:8000 and a > b.
func literal(s string) string {
	if !strings.ContainsAny(s, "*_~`:>") {
		return s
	}
	names := emojis(s)
	var b strings.Builder
	for at, r := range s {
		active := false
		switch r {
		case '*', '~', '`':
			active = true
		case '_':
			active = !insideWord(s, at)
		case ':':
			active = names[at]
		case '>':
			active = strings.Trim(s[:at], "> ") == ""
		}
		if active {
			r = lookalikes[r]
		}
		b.WriteRune(r)
	}
	return b.String()
}

// insideWord says whether the character of one byte at a place has letters or digits on both sides: there Slack takes
// it for part of the word.
func insideWord(s string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at+1:])
	in := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return in(before) && in(after)
}

// emojiName is what can be the name of an emoji between two colons, the second of which may be ours, right behind the
// text.
var emojiName = regexp.MustCompile(`:([\p{L}\p{M}\d_+'\-]+)(?::|$)`)

// numbered are the names of emoji that are numbers; any other number between colons is a part of a time or a port.
var numbered = map[string]bool{"100": true, "1234": true}

// noEmoji are names that no emoji has: numbers, and those with a capital letter, as ids of Slack have.
var noEmoji = regexp.MustCompile(`^\d+$|[A-Z]`)

// emojis are the places of the colons with which the name of an emoji begins.
func emojis(s string) map[int]bool {
	out := map[int]bool{}
	for at := 0; at < len(s); {
		m := emojiName.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		if name := s[at+m[2] : at+m[3]]; !noEmoji.MatchString(name) || numbered[name] {
			out[at+m[0]] = true
		}
		at += m[3] // the second colon may begin the next name
	}
	return out
}
