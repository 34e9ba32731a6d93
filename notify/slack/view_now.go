package slack

import (
	"strings"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxCommands bounds the commands of one message together, in characters.
const maxCommands = 1200

// doNow shows what a person can run now, where there is nothing that the bot could do. Beside a question the commands
// are folded, with the advice that they belong to.
func (c *composer) doNow(inc incident.Incident) {
	now, ok := present.DoNowFor(inc)
	if !ok || !advised(inc) {
		return
	}
	head := richLine{}.with("Do now", asBold)
	of := exact(strings.Join(nonEmpty([]string{now.Of, now.Then}), "; "), 200)
	switch {
	case of != "" && len(now.Commands) > 1:
		head = head.with(", in this order ("+of+"):", nil)
	case of != "":
		head = head.with(" ("+of+"):", nil)
	default:
		head = head.with(":", nil)
	}
	if block := c.commands(now.Commands, c.detail.manual); len(block) > 0 {
		c.rich(append(sections([]richLine{head}), block...)...)
	}
}

// commands shows commands as code to copy: the first most of them, each whole, since a part of a command is another
// one.
func (c *composer) commands(all []string, most int) []slackgo.RichTextElement {
	room, shown := maxCommands, []string{}
	for _, line := range all {
		if room -= utf8.RuneCountInString(line) + 1; room < 0 || len(shown) == most {
			break
		}
		shown = append(shown, line)
	}
	if len(shown) == 0 {
		return nil
	}
	out := []slackgo.RichTextElement{&slackgo.RichTextPreformatted{
		Type: slackgo.RTEPreformatted, Elements: richLine{}.with(strings.Join(shown, "\n"), nil),
	}}
	if n := len(all) - len(shown); n > 0 {
		out = append(out, sections([]richLine{richLine{}.with(present.More(n)+" in Details", nil)})...)
	}
	return out
}

// lastLine is the last line of the container that ended, which says most about why.
func (c *composer) lastLine(inc incident.Incident) {
	if of, line := present.LastLine(inc); line != "" {
		c.rich(sections([]richLine{
			richLine{}.with("Last log line of "+exact(of, 120)+": ", nil).with(line, asCode),
		})...)
	}
}

// whyPods says how the pods of the diagnosis differ from the others; empty where nothing can be compared.
func (c *composer) whyPods(inc incident.Incident) string {
	pods, differ := present.WhyPods(inc)
	if pods == "" {
		return ""
	}
	var parts []string
	for _, q := range differ[:min(len(differ), c.detail.numbers)] {
		parts = append(parts, escape(q.Label, 40)+" "+bold(q.Seen, 40)+" (others "+escape(q.Others, 40)+")")
	}
	if ready := inc.Cluster.ReadyText(); inc.Cluster.Error == "" && ready != "" {
		parts = append(parts, "pods "+ready)
	}
	return "*Why " + escape(pods, 160) + ":* " + strings.Join(parts, "  ·  ")
}
