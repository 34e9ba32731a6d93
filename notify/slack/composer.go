package slack

import (
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// composer collects the blocks of one message. Blocks without text are left out, because Slack refuses them.
type composer struct {
	opts   ViewOptions
	detail detail
	blocks []slackgo.Block
	ids    map[string]bool
	// listed says that the alerts are named above, all of them.
	listed bool
}

func (c *composer) add(b slackgo.Block) { c.blocks = append(c.blocks, b) }

func (c *composer) header(text string) {
	if text = present.Clip(present.Line(text), maxHeader); text != "" {
		c.add(slackgo.NewHeaderBlock(plain(text)))
	}
}

// section shows mrkdwn whose foreign parts are escaped. What does not fit is cut at a line end.
func (c *composer) section(lines ...string) {
	if text := fit(lines, maxSection); text != "" {
		b := slackgo.NewSectionBlock(mrkdwn(text), nil, nil)
		b.Expand = true
		c.add(b)
	}
}

// context is small print.
func (c *composer) context(parts ...string) {
	if text := fit([]string{strings.Join(nonEmpty(parts), "  ·  ")}, maxSection); text != "" {
		c.add(slackgo.NewContextBlock("", mrkdwn(text)))
	}
}

// actions adds one row of buttons. Its id changes with the plan and the state, so that Slack takes an edited message's
// buttons for new ones.
func (c *composer) actions(what string, inc incident.Incident, buttons ...slackgo.BlockElement) {
	id := present.Clip(blockID(what, inc), maxID)
	if len(buttons) == 0 || c.ids[id] {
		return
	}
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
	c.add(slackgo.NewActionBlock(id, buttons[:min(len(buttons), maxActions)]...))
}

// plain is text in which nothing is formatting, nor the name of an emoji.
func plain(text string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, text, false, false)
}

// mrkdwn is verbatim: Slack must not make links and mentions of what stands in it.
func mrkdwn(text string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, text, false, true)
}

// fit joins lines of mrkdwn as far as they fit into most characters and says how many are left out. A single line that
// is too long is dropped to its plain beginning, without links.
func fit(lines []string, most int) string {
	return fitLines(lines, most, func(line string) string { return clipEscaped(stripMarkup(line), most) })
}

// fitPlain is fit for lines of text without markup.
func fitPlain(lines []string, most int) string {
	return fitLines(lines, most, func(line string) string { return present.Clip(line, most) })
}

// fitLines cuts the first line if not even that fits.
func fitLines(lines []string, most int, cut func(line string) string) string {
	lines = nonEmpty(lines)
	out, n := "", 0
	for i, l := range lines {
		next := l
		if out != "" {
			next = out + "\n" + l
		}
		if len([]rune(next)) > most-30 {
			n = len(lines) - i
			break
		}
		out = next
	}
	switch {
	case n > 0 && out == "":
		return cut(lines[0])
	case n > 0:
		return out + "\n" + present.More(n)
	}
	return out
}

// stripMarkup undoes our own markup, for text that cannot be shown with it.
func stripMarkup(s string) string {
	s = ourMarkup.ReplaceAllString(s, "$1")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

func nonEmpty(in []string) []string {
	var out []string
	for _, s := range in {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
