package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// The buttons that the keyboard presses, by the beginning of their action ids.
const (
	buttonApprove = "approve"
	buttonDeny    = "deny"
	buttonUndo    = "undo"
)

// errNoButton says that nothing of this kind is asked now.
var errNoButton = errors.New("nothing to press")

// shown finds the newest message that has a button.
func (w *world) shown(action string) (fakeslack.Message, fakeslack.Button, bool) {
	for _, m := range slices.Backward(w.slack.Messages(channel)) {
		for _, one := range append([]fakeslack.Message{m}, w.slack.Thread(channel, m.TS)...) {
			if b, ok := one.Button(action); ok {
				return one, b, true
			}
		}
	}
	return fakeslack.Message{}, fakeslack.Button{}, false
}

// press clicks the first button of this kind, as a person on the page would. What the bot answers in private is
// returned.
func (w *world) press(ctx context.Context, action string) (string, error) {
	m, b, ok := w.shown(action)
	if !ok {
		return "", errNoButton
	}
	got, err := w.slack.Click(ctx, fakeslack.ClickRequest{
		User: approver, Channel: channel, MessageTS: m.TS, BlockID: b.BlockID, ActionID: b.ActionID,
	})
	if err != nil {
		return "", fmt.Errorf("press %q: %w", b.Text, err)
	}
	w.say("Pressed %q in Slack, as %s.", b.Text, "Alice Abara")
	var said []string
	for _, answer := range w.slack.Answers(got.ID) {
		said = append(said, answer.Text)
	}
	return strings.Join(said, " "), nil
}
