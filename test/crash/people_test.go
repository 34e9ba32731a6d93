package crash

import (
	"context"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// approve plays the person: it clicks until the thread says that the click was taken.
func (r *run) approve(button string) {
	r.t.Helper()
	r.press(button, "approved: "+button)
}

// undo plays the person who takes back the step that is in effect.
func (r *run) undo() {
	r.t.Helper()
	r.press("Roll back", "Rolling back to ")
}

// press clicks the first button that begins with a text, until the thread has the words that the click brings.
func (r *run) press(button, words string) {
	r.t.Helper()
	r.until("the click on "+button, func(ctx context.Context) bool {
		if r.says(words) {
			return true
		}
		for _, m := range r.slack.Messages(channel) {
			for _, b := range m.Buttons() {
				if b.URL == "" && strings.HasPrefix(b.Text, button) {
					r.click(ctx, m, b, words)
					return false
				}
			}
		}
		return false
	})
}

// click sends one click and waits for what comes of it: an answer, or the end of patience with this one.
func (r *run) click(ctx context.Context, m fakeslack.Message, b fakeslack.Button, words string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	res, err := r.slack.Click(ctx,
		fakeslack.ClickRequest{User: alice, Channel: channel, MessageTS: m.TS, BlockID: b.BlockID, ActionID: b.ActionID})
	if err != nil {
		return // the bot is dead, or the message has just changed: the person looks again
	}
	if _, err := r.slack.WaitAnswers(ctx, res.ID, 1); err != nil {
		return // killed between the click and its answer: the person clicks again
	}
	if err := r.slack.Wait(ctx, func(*fakeslack.Server) bool { return r.says(words) }); err != nil {
		return // killed between the answer and the thread: the person looks again
	}
}

func (r *run) says(words string) bool {
	for _, m := range r.slack.Messages(channel) {
		for _, reply := range r.slack.Thread(channel, m.TS) {
			if strings.Contains(reply.Text, words) {
				return true
			}
		}
	}
	return false
}
