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
		case *slackgo.RichTextBlock:
			for _, e := range b.Elements {
				out = append(out, richTexts(e)...)
			}
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

// richTexts are the lines of an element of a rich text; those of a list have their bullets.
func richTexts(e slackgo.RichTextElement) []string {
	var parts []slackgo.RichTextSectionElement
	switch e := e.(type) {
	case *slackgo.RichTextList:
		var out []string
		for _, item := range e.Elements {
			out = append(out, "• "+strings.Join(richTexts(item), ""))
		}
		return out
	case *slackgo.RichTextSection:
		parts = e.Elements
	case *slackgo.RichTextPreformatted:
		parts = e.Elements
	}
	line := ""
	for _, part := range parts {
		switch part := part.(type) {
		case *slackgo.RichTextSectionTextElement:
			line += part.Text
		case *slackgo.RichTextSectionUserElement:
			line += "<@" + part.UserID + ">"
		case *slackgo.RichTextSectionDateElement:
			line += *part.Fallback
		}
	}
	return []string{line}
}

// shownText is all that a view shows, a block each.
func shownText(v View) string { return strings.Join(texts(v)[1:], "\n") }
