package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// kind names the class of an error of a notifier.
func kind(err error) string {
	var lost *notify.AmbiguousError
	var limited *notify.RateLimitedError
	var permanent *notify.PermanentError
	var gone *notify.GoneError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &lost):
		return "ambiguous"
	case errors.As(err, &limited):
		return "limited"
	case errors.As(err, &permanent):
		if permanent.Next == "" {
			return "permanent without a next step"
		}
		return "permanent"
	case errors.As(err, &gone):
		return "gone"
	default:
		return "transient"
	}
}

func TestErrorsOfAPostAreTakenForWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault fakeslack.Fault
		want  string
	}{
		{"connection cut after", fakeslack.Fault{DropAfter: true}, "ambiguous"},
		{"connection cut before", fakeslack.Fault{DropBefore: true}, "ambiguous"},
		{"answer too late", fakeslack.Fault{DelayAnswer: 2 * answerTimeout, Performed: true}, "ambiguous"},
		{"503", fakeslack.Fault{HTTPStatus: 503}, "ambiguous"},
		{"500 and done", fakeslack.Fault{HTTPStatus: 500, Performed: true}, "ambiguous"},
		{"HTML with 200", fakeslack.Fault{Body: "<html>proxy</html>"}, "ambiguous"},
		{"half of JSON", fakeslack.Fault{Body: `{"ok":tr`}, "ambiguous"},
		{"internal_error", fakeslack.Fault{Error: "internal_error"}, "ambiguous"},
		{"fatal_error", fakeslack.Fault{Error: "fatal_error"}, "ambiguous"},
		{"service_unavailable", fakeslack.Fault{Error: "service_unavailable"}, "ambiguous"},
		{"request_timeout", fakeslack.Fault{Error: "request_timeout"}, "ambiguous"},
		{"429", fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Second}, "limited"},
		{"429 without a time", fakeslack.Fault{HTTPStatus: 429}, "limited"},
		{"ratelimited", fakeslack.Fault{Error: "ratelimited"}, "limited"},
		{"403 of a proxy", fakeslack.Fault{HTTPStatus: 403}, "permanent"},
		{"channel_not_found", fakeslack.Fault{Error: "channel_not_found"}, "permanent"},
		{"not_in_channel", fakeslack.Fault{Error: "not_in_channel"}, "permanent"},
		{"is_archived", fakeslack.Fault{Error: "is_archived"}, "permanent"},
		{"invalid_auth", fakeslack.Fault{Error: "invalid_auth"}, "permanent"},
		{"account_inactive", fakeslack.Fault{Error: "account_inactive"}, "permanent"},
		{"token_revoked", fakeslack.Fault{Error: "token_revoked"}, "permanent"},
		{"missing_scope", fakeslack.Fault{Error: "missing_scope", Needed: "chat:write"}, "permanent"},
		{"restricted_action", fakeslack.Fault{Error: "restricted_action"}, "permanent"},
		{"never heard of", fakeslack.Fault{Error: "brand_new_error"}, "permanent"},
		{"thread is gone", fakeslack.Fault{Error: "thread_not_found"}, "gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, fakeslack.Options{})
			w.Fail("chat.postMessage", 1, tt.fault)
			_, err := w.notifier.Post(t.Context(), channel, tell(t, incident.ModeApprove, "llama").inc)
			if got := kind(err); got != tt.want {
				t.Errorf("%v is %s, want %s", err, got, tt.want)
			}
			if n := len(w.CallsTo("chat.postMessage")); n != 1 {
				t.Errorf("posted %d times", n)
			}
			mustHide(t, err.Error(), w.Token())
		})
	}
}

func TestPostToAClosedPortIsKnownNotToBeSent(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := NewClient(Config{Token: always("xoxb-secret"), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, log := newLogs(t, "xoxb-secret")
	s, err := NewNotifier(c, ViewOptions{}, false, log)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Post(t.Context(), channel, tell(t, incident.ModeApprove, "llama").inc)
	if got := kind(err); got != "transient" {
		t.Errorf("%v is %s", err, got)
	}
	mustHide(t, err.Error(), "xoxb-secret")
}

func TestPostCutOffByItsContextIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{DelayAnswer: 2 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := w.notifier.Post(ctx, channel, tell(t, incident.ModeApprove, "llama").inc)
	if got := kind(err); got != "ambiguous" {
		t.Errorf("%v is %s", err, got)
	}
}

func TestRateLimitedMethodIsNotCalledBeforeItsTime(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Minute})
	inc := tell(t, incident.ModeApprove, "llama").inc
	for range 3 {
		_, err := w.notifier.Post(t.Context(), channel, inc)
		var limited *notify.RateLimitedError
		if !errors.As(err, &limited) || limited.After < 50*time.Second {
			t.Errorf("err = %v", err)
		}
	}
	if n := len(w.CallsTo("chat.postMessage")); n != 1 {
		t.Errorf("called %d times", n)
	}
	if _, err := w.client.Check(t.Context()); err != nil {
		t.Errorf("another method is blocked too: %v", err)
	}
}

// Slack limits new messages for each channel: a busy one holds up no other, and its own replies wait with its messages.
func TestARateLimitedChannelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.PutChannel(fakeslack.Channel{ID: "C0QUIET", Name: "quiet"})
	inc := tell(t, incident.ModeApprove, "llama").inc
	ts := w.post(t, inc)
	w.Fail("chat.postMessage", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Minute})
	entry := incident.Entry{Seq: 1, Text: "Investigating.", Thread: true}
	for range 2 {
		if err := w.notifier.Reply(t.Context(), channel, ts, inc, entry); kind(err) != "limited" {
			t.Errorf("a reply in the busy channel: %v", err)
		}
		if _, err := w.notifier.Post(t.Context(), channel, inc); kind(err) != "limited" {
			t.Errorf("a message in the busy channel: %v", err)
		}
	}
	if _, err := w.notifier.Post(t.Context(), "C0QUIET", inc); err != nil {
		t.Errorf("a message in another channel: %v", err)
	}
	if n := len(w.CallsTo("chat.postMessage")); n != 3 {
		t.Errorf("called %d times, want once before, once limited and once elsewhere", n)
	}
}

func TestUpdateIsRepeatedBecauseItIsHarmless(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := tell(t, incident.ModeApprove, "llama").inc
	ts := w.post(t, inc)
	w.Fail("chat.update", 1, fakeslack.Fault{DropAfter: true})
	w.Fail("chat.update", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Second})
	if err := w.notifier.Update(t.Context(), channel, ts, inc); err != nil {
		t.Fatal(err)
	}
	if n := len(w.CallsTo("chat.update")); n != 3 {
		t.Errorf("called %d times, want 3", n)
	}
}

func TestUpdateKeepsTheLastRealError(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.update", 3, fakeslack.Fault{HTTPStatus: 502})
	err := w.notifier.Update(t.Context(), channel, "1.000001", tell(t, incident.ModeApprove, "llama").inc)
	if kind(err) != "transient" || !strings.Contains(err.Error(), "502") {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = w.client.repeat(ctx, "chat.update", func(context.Context) error {
		cancel() // while it waits for the next try
		return slackgo.StatusCodeError{Code: http.StatusBadGateway}
	})
	if err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestTokenIsNotCarriedToAnotherHost(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed to %s", r.URL)
	}))
	defer thief.Close()
	srv := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	c, err := NewClient(Config{Token: always("xoxb-secret"), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(t.Context()); kind(err) != "permanent" {
		t.Errorf("%v is %s", err, kind(err))
	}
}

func TestCheckSaysWhoTheBotIs(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{EnterpriseID: "E0FAKE"})
	me, err := w.client.Check(t.Context())
	if err != nil || me.Team != "T0FAKE" || me.Enterprise != "E0FAKE" || me.User != "U0MEDIC" || me.BotID != "B0MEDIC" {
		t.Errorf("Check = %+v, %v", me, err)
	}
}

func TestConfigurationHidesItsSecrets(t *testing.T) {
	t.Parallel()
	c := Config{Token: always("xoxb-secret"), APIURL: "https://slack.com/api/"}
	i := InteractionsConfig{SigningSecret: always("sign-secret"), Team: "T1"}
	l, log := newLogs(t, "xoxb-secret", "sign-secret")
	log.Info("configuration", "slack", c, "interactions", i)
	if !strings.Contains(l.String(), "T1") {
		t.Error("nothing was logged")
	}
	mustHide(t, fmt.Sprintf("%v %+v %#v %s %v %+v %#v", c, c, c, c, i, i, i), "xoxb-secret", "sign-secret")
	for _, bad := range []Config{
		{},
		{Token: always("xoxb-secret"), APIURL: "slack.com"},
		{Token: always("xoxb-secret"), APIURL: "ftp://xoxb-secret/"},
		{Token: always("xoxb-secret"), APIURL: "https://%zz"},
	} {
		_, err := NewClient(bad)
		if err == nil {
			t.Errorf("%v was taken", bad)
			continue
		}
		mustHide(t, err.Error(), "xoxb-secret")
	}
	if _, err := NewNotifier(nil, ViewOptions{}, false, nil); err == nil {
		t.Error("a nil client was taken")
	}
}

func TestAMessageHasAnAddressAndAUserAName(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	for range 2 {
		got, err := w.client.Permalink(t.Context(), channel, "1795230660.000200")
		if want := "https://fake.slack.com/archives/" + channel + "/p1795230660000200"; err != nil || got != want {
			t.Errorf("Permalink = %q, %v, want %q", got, err, want)
		}
	}
	if n := len(w.CallsTo("auth.test")); n != 1 {
		t.Errorf("the workspace was asked for %d times", n)
	}
	if got, err := w.client.Permalink(t.Context(), channel, ""); err == nil {
		t.Errorf("a message that was not posted has the address %q", got)
	}
	if got, err := w.client.Name(t.Context(), "U0BOB"); err != nil || got == "" || got == "U0BOB" {
		t.Errorf("Name = %q, %v", got, err)
	}
	if got, err := w.client.Name(t.Context(), "U0NOBODY"); err == nil {
		t.Errorf("nobody is called %q", got)
	}
}
