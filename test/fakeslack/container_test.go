package fakeslack

import (
	"errors"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

// checksFolded is a folded container with a button in it, as slack-go sends it.
func checksFolded(t *testing.T) slack.Block {
	t.Helper()
	box := slack.NewContainerBlock(
		slack.NewContextBlock("", slack.NewTextBlockObject(mrkdwn, "quota left", false, false)),
		slack.NewActionBlock("inner", slack.NewButtonBlockElement("details", "inc1", label("Details"))),
	).WithTitle(label("11 checks passed")).WithCollapsible(true, true)
	if err := box.Validate(); err != nil {
		t.Fatal(err)
	}
	return box
}

func TestWhatAContainerHasFoldedCanBeReadAndClicked(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	b := startBot(t, s, nil)
	_, ts, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false),
		slack.MsgOptionBlocks(checksFolded(t)))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(room, ts)
	if text := m.VisibleText(); !strings.Contains(text, "11 checks passed\nquota left\nDetails") {
		t.Errorf("visible text = %q", text)
	}
	_, page := fetch(t, s, "/")
	_, folded, found := strings.Cut(page, `<details class="container standard">`)
	if folded, _, _ = strings.Cut(folded, "</details>"); !found || !strings.Contains(folded, `data-element="details"`) ||
		!strings.Contains(folded, ">11 checks passed</span>") {
		t.Errorf("the page has no folded container with its button: %s", folded)
	}
	press(t, s, ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: "details"})
	in := b.last(t)
	if action := in.ActionCallback.BlockActions[0]; action.BlockID != "inner" || action.Value != "inc1" {
		t.Errorf("action = %+v, want that of the inner block", action)
	}
	box, ok := in.Message.Blocks.BlockSet[0].(*slack.ContainerBlock)
	if !ok || box.BlockID == "" || len(box.ChildBlocks.BlockSet) != 2 || box.ChildBlocks.BlockSet[0].ID() == "" {
		t.Errorf("the message in the payload = %+v, want the container with its blocks and their ids", in.Message.Blocks)
	}
}

func TestAWorkspaceThatDoesNotHaveABlockYet(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	post := func() error {
		_, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false),
			slack.MsgOptionBlocks(slack.NewDividerBlock(), checksFolded(t)))
		return err
	}
	s.RefuseBlocks("container", "data_visualization")
	err := post()
	wantSlackError(t, err, "invalid_blocks")
	refused, ok := errors.AsType[slack.SlackErrorResponse](err)
	if !ok || !strings.Contains(strings.Join(refused.ResponseMetadata.Messages, ""),
		"unsupported type: container [json-pointer:/blocks/1]") {
		t.Errorf("error = %#v, want the place", err)
	}
	if got := s.Unexpected(); len(got) != 0 || len(s.Messages(room)) != 0 {
		t.Errorf("unexpected = %q, messages = %d, want none", got, len(s.Messages(room)))
	}
	if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false),
		slack.MsgOptionBlocks(slack.NewDividerBlock())); err != nil {
		t.Errorf("a message without such a block: %v", err)
	}
	s.RefuseBlocks()
	if err := post(); err != nil {
		t.Errorf("after the workspace has it: %v", err)
	}
}
