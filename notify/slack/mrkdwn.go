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

// escape makes foreign text harmless in mrkdwn, on one line and at most most characters after escaping. What stands in
// code goes through code instead, which keeps more of it.
func escape(s string, most int) string {
	return clipEscaped(literal(present.Line(s)), most)
}

// code shows foreign text as code, on one line: there Slack takes nothing but a backtick for the end of it.
func code(s string, most int) string {
	return "`" + clipEscaped(strings.ReplaceAll(present.Line(s), "`", "'"), most) + "`"
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

// bold marks foreign text as bold.
func bold(s string, most int) string {
	s = escape(s, most)
	if s == "" {
		return ""
	}
	return "*" + s + "*"
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

// mentionable says whether an actor becomes a mention: only an id that has the form of a Slack user does.
func mentionable(a incident.Actor) bool {
	return a.Kind == incident.ActorSlack && userID.MatchString(a.ID)
}

// who names an actor.
func who(a incident.Actor) string {
	if mentionable(a) {
		return "<@" + a.ID + ">"
	}
	return escape(present.Person(a), 80)
}

// sentence shows one whose people and times are values: its text is escaped, its people are mentioned. Only they are:
// an alert that says "slack:U0123" must not call anybody.
func sentence(spans []present.Span, most int) string {
	var b strings.Builder
	room, bold := most, false
	mark := func(on bool) {
		if bold != on {
			b.WriteString("*")
		}
		bold = on
	}
	for _, s := range spans {
		if s.Text == "" {
			live := who(s.Person)
			if !s.At.IsZero() {
				live = clock(s.At)
			}
			room -= utf8.RuneCountInString(live)
			if room < 0 {
				mark(false)
				return b.String() + "…"
			}
			mark(s.Strong)
			b.WriteString(live)
			continue
		}
		mark(s.Strong)
		text := clipEscaped(literal(oneLine(s.Text)), room)
		b.WriteString(text)
		if room -= utf8.RuneCountInString(text); room <= 0 {
			break
		}
	}
	mark(false)
	return b.String()
}

// oneLine is line for a piece of a sentence: the space at its ends stays.
func oneLine(s string) string {
	out := present.Line(s)
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
	return clipEscaped(unlink.Replace(literal(present.Line(s))), most)
}

// ourMarkup finds the links and times of our own making, with their labels.
var ourMarkup = regexp.MustCompile(`<[^<>|]*\|([^<>]*)>`)
