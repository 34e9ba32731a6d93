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

// button is one that is shown, and where.
type button struct {
	fakeslack.Button

	message string
}

// shown are the buttons of a kind on the newest message that has any, in their order.
func (w *world) shown(action string) []button {
	for _, m := range slices.Backward(w.slack.Messages(channel)) {
		for _, one := range append([]fakeslack.Message{m}, w.slack.Thread(channel, m.TS)...) {
			var out []button
			for _, b := range one.Buttons() {
				if strings.HasPrefix(b.ActionID, action) {
					out = append(out, button{Button: b, message: one.TS})
				}
			}
			if len(out) > 0 {
				return out
			}
		}
	}
	return nil
}

// press clicks the nth button of this kind, as a person on the page would; the last one where there are fewer. What the
// bot answers in private comes later: see answers.
func (w *world) press(ctx context.Context, action string, nth int) (click string, err error) {
	all := w.shown(action)
	if len(all) == 0 {
		return "", errNoButton
	}
	b := all[min(nth, len(all))-1]
	got, err := w.slack.Click(ctx, fakeslack.ClickRequest{
		User: approver, Channel: channel, MessageTS: b.message, BlockID: b.BlockID, ActionID: b.ActionID,
	})
	if err != nil {
		return "", fmt.Errorf("press %q: %w", b.Text, err)
	}
	w.say("Pressed %q in Slack, as %s.", b.Text, "Alice Abara")
	return got.ID, nil
}

// answers are what the bot has answered to a click so far, in private.
func (w *world) answers(click string) string {
	var said []string
	for _, answer := range w.slack.Answers(click) {
		said = append(said, answer.Text)
	}
	return oneLine(strings.Join(said, " "))
}
