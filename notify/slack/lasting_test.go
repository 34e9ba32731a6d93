package slack

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// Slack answers, but nobody in the channel sees a message: that is said with the next step until a message gets through
// there, and without the channel's name.
func TestAChannelThatTakesNothingIsATroubleUntilItDoes(t *testing.T) {
	t.Parallel()
	for code, next := range map[string]string{
		"is_archived": "configure another one", "not_in_channel": "Invite the app", "channel_not_found": "Check the channel",
	} {
		w := newWorkspace(t, fakeslack.Options{})
		inc := asked(t, incident.ModeApprove).inc
		ts := w.post(t, inc)
		for method, call := range map[string]func() error{
			"chat.postMessage": func() error { _, err := w.notifier.Post(t.Context(), channel, inc); return err },
			"chat.update":      func() error { return w.notifier.Update(t.Context(), channel, ts, inc) },
		} {
			w.Fail(method, 1, fakeslack.Fault{Error: code})
			if call() == nil {
				t.Fatalf("%s: no failure", method)
			}
			// What else works says nothing about the channel.
			if _, err := w.client.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := w.client.Troubles()
			if len(got) != 1 || !strings.Contains(got[0].Text, "a channel takes no messages: "+code) ||
				!strings.Contains(got[0].Next, next) || strings.Contains(got[0].Text+got[0].Next, channel) {
				t.Errorf("%s, %s: %+v", method, code, got)
			}
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if got := w.client.Troubles(); len(got) != 0 {
				t.Errorf("%s, %s: it is over, and still said: %+v", method, code, got)
			}
		}
	}
}

func TestARateLimitIsATroubleOnlyWhileItLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l limiting
		limited := &notify.RateLimitedError{After: time.Second}
		is := func(want bool, when string) {
			t.Helper()
			if got, is := l.trouble(time.Now()); is != want || want && got.Next == "" {
				t.Errorf("%s: %v, %+v", when, is, got)
			}
		}
		for range 30 {
			l.note(time.Now(), limited)
			time.Sleep(time.Second)
		}
		is(false, "after half a minute")
		for n := range 60 { // one of ten gets through
			l.note(time.Now(), limited)
			if n%10 == 9 {
				l.note(time.Now(), nil)
			}
			time.Sleep(time.Second)
		}
		is(true, "after a minute and a half")
		l.note(time.Now(), errors.New("no answer"))
		is(true, "a call that fails otherwise")
		for range limitedMost {
			l.note(time.Now(), nil)
		}
		is(false, "when calls work again")
		for range 90 { // a busy channel: every second call is limited
			l.note(time.Now(), limited)
			l.note(time.Now(), nil)
			time.Sleep(time.Second)
		}
		is(false, "when as many get through")
		for range 90 {
			l.note(time.Now(), limited)
			time.Sleep(time.Second)
		}
		is(true, "again")
		time.Sleep(3 * time.Minute)
		is(false, "when nothing is asked any more")
	})
}
