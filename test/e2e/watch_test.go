package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// message waits until the incident's message says all the words, and returns it.
func (w *world) message(words ...string) fakeslack.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	m, err := w.slack.WaitMessage(ctx, channel, func(m fakeslack.Message) bool {
		text := m.VisibleText()
		return !slices.ContainsFunc(words, func(s string) bool { return !strings.Contains(text, s) })
	})
	if err != nil {
		w.t.Fatalf("no message says %q: %v", words, err)
	}
	return m
}

// planChanged is what the bot answers to a click on a plan that it has replaced meanwhile, because another alert
// joined.
const planChanged = "The plan changed since you saw this."

// click clicks the first button that begins with the text, and returns what the person is told. A person who is told
// that the plan has changed, or whose button went away under the finger, looks again and clicks on the new one.
func (w *world) click(user, text string) []fakeslack.Ephemeral {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	seen := ""
	for {
		m, b := w.newButton(ctx, text, seen)
		answers, ok := w.press(ctx, user, m, b)
		if !ok {
			continue
		}
		if !strings.HasPrefix(answers[0].Text, planChanged) {
			return answers
		}
		seen = b.Value
	}
}

// press clicks one button and returns what the person is told; ok is false when the button was gone.
func (w *world) press(ctx context.Context, user string, m fakeslack.Message,
	b fakeslack.Button,
) (_ []fakeslack.Ephemeral, ok bool) {
	w.t.Helper()
	res, err := w.slack.Click(ctx,
		fakeslack.ClickRequest{User: user, Channel: channel, MessageTS: m.TS, BlockID: b.BlockID, ActionID: b.ActionID})
	if errors.Is(err, fakeslack.ErrNotVisible) {
		return nil, false
	}
	if err != nil {
		w.t.Fatalf("click %q: %v", b.Text, err)
	}
	answers, err := w.slack.Answered(ctx, user, res.ID, nil)
	if err != nil {
		w.t.Fatalf("no private answer to the click on %q: %v", b.Text, err)
	}
	return answers, true
}

// approved clicks the button that begins with the text, if there is one at the moment, and says whether the approval
// counts.
func (w *world) approved(user, text string) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	m, b, ok := w.shown(text)
	if !ok {
		return false
	}
	answers, ok := w.press(ctx, user, m, b)
	return ok && strings.HasPrefix(answers[0].Text, "Approved")
}

// clickUntil clicks each new button that begins with the text until the thread says the words: what was approved may be
// asked for anew, because the diagnosis has changed before the write.
func (w *world) clickUntil(user, text, words string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	for seen := ""; ; {
		var m fakeslack.Message
		var b fakeslack.Button
		said := false
		err := w.slack.Wait(ctx, func(s *fakeslack.Server) (ok bool) {
			said = inThread(s, words)
			m, b, ok = w.shown(text)
			return said || ok && b.Value != seen
		})
		switch {
		case err != nil:
			w.t.Fatalf("the thread does not say %q, and no new button begins with %q: %v", words, text, err)
		case said:
			return
		}
		w.press(ctx, user, m, b)
		seen = b.Value
	}
}

// button waits for the first one that begins with the text: the plan is shown a moment before anybody is asked.
func (w *world) button(text string) fakeslack.Button {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	_, b := w.newButton(ctx, text, "")
	return b
}

// newButton waits for one whose value is not the one that was seen.
func (w *world) newButton(ctx context.Context, text, seen string) (m fakeslack.Message, b fakeslack.Button) {
	w.t.Helper()
	err := w.slack.Wait(ctx, func(*fakeslack.Server) (ok bool) {
		m, b, ok = w.shown(text)
		return ok && b.Value != seen
	})
	if err != nil {
		w.t.Fatalf("no button begins with %q, or only one of an old plan: %v", text, err)
	}
	return m, b
}

func (w *world) shown(text string) (fakeslack.Message, fakeslack.Button, bool) {
	for _, m := range w.slack.Messages(channel) {
		for _, b := range m.Buttons() {
			if b.URL == "" && strings.HasPrefix(b.Text, text) {
				return m, b, true
			}
		}
	}
	return fakeslack.Message{}, fakeslack.Button{}, false
}

// says waits until the incident's thread says the words.
func (w *world) says(words string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	if err := w.slack.Wait(ctx, func(s *fakeslack.Server) bool { return inThread(s, words) }); err != nil {
		w.t.Fatalf("the thread does not say %q: %v", words, err)
	}
}

func inThread(s *fakeslack.Server, words string) bool {
	return slices.ContainsFunc(s.Messages(channel), func(m fakeslack.Message) bool {
		return slices.ContainsFunc(s.Thread(channel, m.TS), func(r fakeslack.Message) bool {
			return strings.Contains(r.Text, words)
		})
	})
}

// until waits for a condition outside Slack.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), programs.Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("in vain: %s", what)
		case <-tick.C:
		}
	}
}

// nothingTwice demands one message, and each line of its thread once.
func (w *world) nothingTwice() {
	w.t.Helper()
	messages := w.slack.Messages(channel)
	if len(messages) != 1 {
		w.t.Errorf("%d messages, want 1", len(messages))
	}
	seen := map[string]bool{}
	for _, m := range messages {
		for _, r := range w.slack.Thread(channel, m.TS) {
			if seen[r.Text] {
				w.t.Errorf("twice in the thread: %s", r.Text)
			}
			seen[r.Text] = true
		}
	}
}

// story is shown when a scenario fails: every message with its thread.
func (w *world) story() string {
	var b strings.Builder
	for _, m := range w.slack.Messages(channel) {
		fmt.Fprintf(&b, "message:\n%s\nthread:\n", m.VisibleText())
		for _, r := range w.slack.Thread(channel, m.TS) {
			fmt.Fprintf(&b, "  %s\n", r.Text)
		}
	}
	return b.String()
}
