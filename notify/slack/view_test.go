package slack

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"
)

var links = ViewOptions{
	BaseURL: "https://medic.example.com", DocsURL: "https://docs.example.com/vllm-medic",
	PrometheusURL: "https://prometheus.example.com",
}

// sent is a view as it is sent, readable.
func sent(t *testing.T, v View) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"text": v.Text, "blocks": v.Blocks}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

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

// shownText is all that a view shows, a block each.
func shownText(v View) string { return strings.Join(texts(v)[1:], "\n") }
