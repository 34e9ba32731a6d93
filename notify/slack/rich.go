package slack

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/present"
)

// In the elements of this file nothing that somebody else wrote can format, call or link: Slack parses nothing in a
// plain_text and in a text of a rich_text, so each character stays what it is, and is what people copy. People and
// times are elements of their own.

// richLine is one line of a rich text, in reading order.
type richLine []slackgo.RichTextSectionElement

var (
	asBold = &slackgo.RichTextSectionTextStyle{Bold: true}
	asCode = &slackgo.RichTextSectionTextStyle{Code: true}
)

// exact is foreign text on one line, at most most characters, with the characters that it has.
func exact(s string, most int) string { return present.Clip(present.Line(s), most) }

// with adds text to a line; Slack refuses an element without any.
func (l richLine) with(text string, style *slackgo.RichTextSectionTextStyle) richLine {
	if text == "" {
		return l
	}
	return append(l, slackgo.NewRichTextSectionTextElement(text, style))
}

// richBullets are lines as a list, at most most of them, with a count of the others below it.
func richBullets(lines []richLine, most int) []slackgo.RichTextElement {
	lines = withText(lines)
	n := min(len(lines), most)
	if n == 0 {
		return nil
	}
	list := slackgo.NewRichTextList(slackgo.RTEListBullet, 0, sections(lines[:n])...)
	return append([]slackgo.RichTextElement{list}, sections(capped(lines, most)[n:])...)
}

// capped are the first most lines, with a count of the others as one more.
func capped(lines []richLine, most int) []richLine {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), richLine{}.with(present.More(len(lines)-most), nil))
}

// sections are lines without a bullet.
func sections(lines []richLine) []slackgo.RichTextElement {
	var out []slackgo.RichTextElement
	for _, l := range withText(lines) {
		out = append(out, slackgo.NewRichTextSection(l...))
	}
	return out
}

func withText(lines []richLine) []richLine {
	var out []richLine
	for _, l := range lines {
		if len(l) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// preformatted shows foreign text of several lines as code, at most lines lines and most characters.
func preformatted(s string, lines, most int) []slackgo.RichTextElement {
	s = strings.Trim(present.Clean(s), "\n ")
	if s == "" || lines == 0 {
		return nil
	}
	all := strings.Split(s, "\n")
	shown := present.Clip(strings.Join(all[:min(lines, len(all))], "\n"), most)
	out := []slackgo.RichTextElement{&slackgo.RichTextPreformatted{
		Type:     slackgo.RTEPreformatted,
		Elements: richLine{}.with(shown, nil),
	}}
	if more := len(all) - lines; more > 0 {
		out = append(out, sections([]richLine{richLine{}.with(present.More(more)+" lines", nil)})...)
	}
	return out
}

// rich adds a block of rich text.
func (c *composer) rich(elements ...slackgo.RichTextElement) {
	if len(elements) > 0 {
		c.add(slackgo.NewRichTextBlock("", elements...))
	}
}

// prose shows lines in which no part is markup of ours.
func (c *composer) prose(lines ...string) {
	if text := fitPlain(lines, maxSection); text != "" {
		b := slackgo.NewSectionBlock(plain(text), nil, nil)
		b.Expand = true
		c.add(b)
	}
}

// smallProse is small print in which no part is markup of ours.
func (c *composer) smallProse(parts ...string) {
	if text := fitPlain([]string{strings.Join(nonEmpty(parts), "  ·  ")}, maxSection); text != "" {
		c.add(slackgo.NewContextBlock("", plain(text)))
	}
}

// richSentence is what sentence is for mrkdwn: its people and times are elements, all else is text.
func richSentence(spans []present.Span, most int) richLine {
	var line richLine
	room := most
	for _, s := range spans {
		var element slackgo.RichTextSectionElement
		text := oneLine(s.Text)
		switch {
		case s.Text != "":
		case !s.At.IsZero():
			element, text = richClock(s.At)
		case mentionable(s.Person):
			element, text = slackgo.NewRichTextSectionUserElement(s.Person.ID, nil), s.Person.ID
		default:
			text = exact(present.Person(s.Person), 80)
		}
		var style *slackgo.RichTextSectionTextStyle
		if s.Strong {
			style = asBold
		}
		switch fits := utf8.RuneCountInString(text) <= room; {
		case !fits && element != nil:
			return line.with("…", nil)
		case !fits:
			return line.with(present.Clip(text, room), style)
		case element != nil:
			line = append(line, element)
		default:
			line = line.with(text, style)
		}
		room -= utf8.RuneCountInString(text)
	}
	return line
}

// richClock shows a time in the reader's own zone, and what it says where Slack cannot.
func richClock(t time.Time) (element slackgo.RichTextSectionElement, text string) {
	text = t.UTC().Format("15:04 UTC")
	if t.Unix() <= 0 {
		return nil, text
	}
	return slackgo.NewRichTextSectionDateElement(t.Unix(), "{time}", nil, &text), text
}
