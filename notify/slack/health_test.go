package slack

import (
	"context"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// A call of a rarely used method that fails in passing must not leave Slack down until that method is called again.
func TestTroubleThatPassesIsOverWhenAnyCallWorks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	w.Fail("users.info", retries+1, fakeslack.Fault{HTTPStatus: 503})
	if _, err := w.client.CheckUser(t.Context(), "U0ALICE"); err == nil {
		t.Fatal("no failure")
	}
	if got := w.client.Troubles(); len(got) != 1 || !strings.Contains(got[0].Text, "users.info: no answer from Slack") {
		t.Fatalf("troubles = %+v", got)
	}
	w.post(t, inc)
	if got := w.client.Troubles(); len(got) != 0 {
		t.Errorf("after a call that worked: %+v", got)
	}
}

// What somebody has to act on does not pass because something else works.
func TestTroubleThatNeedsSomebodyStaysUntilThatMethodWorks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("users.info", 1, fakeslack.Fault{Error: "missing_scope"})
	if _, err := w.client.CheckUser(t.Context(), "U0ALICE"); err == nil {
		t.Fatal("no failure")
	}
	w.post(t, asked(t, incident.ModeApprove).inc)
	if got := w.client.Troubles(); len(got) != 1 || got[0].Next == "" {
		t.Errorf("troubles = %+v", got)
	}
	if _, err := w.client.CheckUser(t.Context(), "U0ALICE"); err != nil {
		t.Fatal(err)
	}
	if got := w.client.Troubles(); len(got) != 0 {
		t.Errorf("after it worked: %+v", got)
	}
}

// The bot does without the history of a channel, and a call that was given up here says nothing about Slack.
func TestWhatIsNoTrouble(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("conversations.history", 1, fakeslack.Fault{Error: "missing_scope"})
	if _, _, err := w.notifier.FindPosted(t.Context(), channel, "", "none", 0, start); err == nil {
		t.Fatal("no failure")
	}
	if got := w.client.Troubles(); len(got) != 0 {
		t.Errorf("an optional scope: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := w.client.Calls()[callUnavailable]
	if _, err := w.client.CheckUser(ctx, "U0ALICE"); err == nil {
		t.Fatal("no failure")
	}
	if _, err := w.notifier.Post(ctx, channel, asked(t, incident.ModeApprove).inc); err == nil {
		t.Fatal("no failure")
	}
	if got := w.client.Troubles(); len(got) != 0 || w.client.Calls()[callUnavailable] != before {
		t.Errorf("given up here: %+v, %v", got, w.client.Calls())
	}
	w.Fail("conversations.history", 1, fakeslack.Fault{Error: "token_revoked"})
	if _, _, err := w.notifier.FindPosted(t.Context(), channel, "", "none", 0, start); err == nil {
		t.Fatal("no failure")
	}
	if got := w.client.Troubles(); len(got) != 1 {
		t.Errorf("a revoked token: %+v", got)
	}
}
