package slack

import (
	"maps"
	"slices"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/test/voice"
)

// texts are all that a person reads of a view.
func texts(v View) []string {
	out := []string{v.Text}
	for _, b := range v.Blocks {
		switch b := b.(type) {
		case *slackgo.ContainerBlock:
			out = append(out, b.Title.Text)
			out = append(out, texts(View{Blocks: b.ChildBlocks.BlockSet})[1:]...)
		case *slackgo.HeaderBlock:
			out = append(out, b.Text.Text)
		case *slackgo.SectionBlock:
			out = append(out, b.Text.Text)
		case *slackgo.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if t, ok := e.(*slackgo.TextBlockObject); ok {
					out = append(out, t.Text)
				}
			}
		case *slackgo.ActionBlock:
			for _, e := range b.Elements.ElementSet {
				if button, ok := e.(*slackgo.ButtonBlockElement); ok {
					out = append(out, button.Text.Text)
				}
			}
		}
	}
	return out
}

func TestEveryMessageKeepsToTheVoice(t *testing.T) {
	t.Parallel()
	all := stories(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, text := range texts(Render(all[name], links)) {
			voice.Check(t, name, voice.Message(text, "abort_spike", "kv_usage", "ttft_p95", "queue_time_p95"))
		}
		for _, e := range all[name].Journal {
			blocks, text := renderEntry(all[name], e)
			for _, said := range append(texts(View{Blocks: blocks}), text) {
				voice.Check(t, name+", the thread", voice.Message(said))
			}
		}
	}
}

// shownText is all that a view shows, a block each.
func shownText(v View) string { return strings.Join(texts(v)[1:], "\n") }
