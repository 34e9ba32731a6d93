package fakeslack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
)

func TestFaultsAnswerAsSlackDoesWhenItFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fault  Fault
		kind   string // of the error that slack-go returns
		text   string
		posted int
	}{
		{
			"429 with Retry-After",
			Fault{HTTPStatus: 429, RetryAfter: 1500 * time.Millisecond},
			"*slack.RateLimitedError",
			"retry after 2s", 0,
		},
		{"429 without", Fault{HTTPStatus: 429}, "slack.StatusCodeError", "429", 0},
		{"503", Fault{HTTPStatus: 503}, "slack.StatusCodeError", "503", 0},
		{"ok:false", Fault{Error: "internal_error"}, "slack.SlackErrorResponse", "internal_error", 0},
		{
			"ok:false although posted",
			Fault{Error: "fatal_error", Performed: true},
			"slack.SlackErrorResponse",
			"fatal_error", 1,
		},
		{"503 although posted", Fault{HTTPStatus: 503, Performed: true}, "slack.StatusCodeError", "503", 1},
		{"HTML with 200", Fault{Body: "<html>"}, "*json.SyntaxError", "invalid character", 0},
		{"cut before", Fault{DropBefore: true}, "*url.Error", "EOF", 0},
		{"cut after: posted, and nobody knows", Fault{DropAfter: true}, "*url.Error", "EOF", 1},
	}
	for _, tt := range tests {
		s, client := start(t, Options{})
		s.Fail("chat.postMessage", 1, tt.fault)
		_, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false))
		if err == nil || !strings.Contains(err.Error(), tt.text) || fmt.Sprintf("%T", err) != tt.kind {
			t.Errorf("%s: error = %#v (%v), want %s with %q", tt.name, err, err, tt.kind, tt.text)
		}
		if n := len(s.Messages(room)); n != tt.posted {
			t.Errorf("%s: %d messages, want %d", tt.name, n, tt.posted)
		}
		if c := s.Calls()[0]; c.Fault == "" || c.OK != (tt.posted == 1) {
			t.Errorf("%s: record = %+v", tt.name, c)
		}
		if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false)); err != nil {
			t.Errorf("%s: the next call failed too: %v", tt.name, err)
		}
	}
}

func TestFaultsHitTheCallsTheyAreMeantFor(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	s.Fail("users.info", 1, Fault{Error: "missing_scope", Needed: "users:read", Skip: 1})
	if _, err := client.AuthTestContext(t.Context()); err != nil {
		t.Errorf("another method: %v", err)
	}
	if _, err := client.GetUserInfoContext(t.Context(), "U0BOB"); err != nil {
		t.Errorf("the call that is skipped: %v", err)
	}
	_, err := client.GetUserInfoContext(t.Context(), "U0BOB")
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) || e.Err != "missing_scope" || e.Needed != "users:read" {
		t.Errorf("error = %#v", err)
	}
	if _, err = client.GetUserInfoContext(t.Context(), "U0BOB"); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	if n := len(s.CallsTo("users.info")); n != 3 || len(s.Unused()) != 0 {
		t.Errorf("%d calls recorded, want 3; unused = %q", n, s.Unused())
	}
}

func TestADelayedAnswerComesAfterTheCallWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, client := inBubble(Options{})
		s.Fail("chat.postMessage", 1, Fault{DelayAnswer: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := client.PostMessageContext(ctx, room, slack.MsgOptionText("x", false))
		if err == nil || ctx.Err() == nil || len(s.Messages(room)) != 1 {
			t.Errorf("error = %v, %d messages, want a call that was done and not answered", err, len(s.Messages(room)))
		}
	})
}

func TestOutageHitsEverythingUntilItEnds(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	s.Outage(503)
	for range 3 {
		if _, err := client.AuthTestContext(t.Context()); err == nil {
			t.Error("the call went through")
		}
	}
	s.Outage(0)
	if _, err := client.AuthTestContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// recorder stands for a testing.T whose end is called by hand.
type recorder struct {
	ends   []func()
	errors []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.ends = append(r.ends, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, f := range r.ends {
		f()
	}
}

func TestStartFailsTheTestOnUnusedAndUnexpected(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		r := &recorder{}
		s := Start(r, Options{AllowUnexpected: allowed})
		client := slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()))
		// A correct bot can run into these.
		_, _ = client.AuthTestContext(t.Context())
		_, _ = client.GetUserInfoContext(t.Context(), "U9")
		want := []string{"unused: fault drop-after on views.open: 2 left", "unused: expected error msg_too_long"}
		s.Fail("views.open", 2, Fault{DropAfter: true})
		s.ExpectError("chat.update", "msg_too_long", 1)
		if unexpected := provoke(t, s, client); !allowed {
			want = append(want, unexpected...)
		}
		r.end()
		if len(r.errors) != len(want) {
			t.Fatalf("test errors = %q, want %d", r.errors, len(want))
		}
		for i, want := range want {
			if !strings.Contains(r.errors[i], want) {
				t.Errorf("test error %q, want %q in it", r.errors[i], want)
			}
		}
	}
}

// provoke does what a correct bot never does, and returns what is said about it.
func provoke(t *testing.T, s *Server, client *slack.Client) []string {
	t.Helper()
	_ = client.RemoveReactionContext(t.Context(), "x", slack.NewRefToMessage(room, "1"))
	_, _ = slack.New("xoxb-other", slack.OptionAPIURL(s.APIURL())).AuthTestContext(t.Context())
	call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "client_msg_id": "1"})
	call(t, s, "chat.postMessage", map[string]string{"channel": room, "blocks": oneButton})
	ts := s.Messages(room)[0].TS
	call(t, s, "chat.update", map[string]string{"channel": room, "ts": ts, "blocks": oneButton})
	call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "blocks": `[{"type":"alert"}]`})
	for _, body := range [][2]string{
		{"", ""},
		{"text/plain", "x"},
		{"", "x"},
		{"application/json", "[]"},
		{"application/json", "{"},
		{"application/x-www-form-urlencoded", "%zz"},
	} {
		send(t, s.APIURL()+"auth.test", body[0], body[1])
	}
	fetch(t, s, "/nowhere")
	return []string{
		"unexpected: reactions.remove: unknown_method", "unexpected: auth.test: invalid_auth",
		`unexpected: chat.postMessage: argument "client_msg_id"`, "chat.postMessage: blocks without text",
		"chat.update: blocks without text",
		"chat.postMessage: invalid_blocks: unsupported type: alert [json-pointer:/blocks/0]",
		"auth.test: not_authed", "invalid_post_type", "missing_post_type", "json_not_object", "invalid_json",
		"invalid_form_data", "unknown path GET /nowhere",
	}
}

// inProcess calls a handler without a socket, so that synctest can move time. A cut connection is an error.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if cut := recover(); cut != nil {
			err = fmt.Errorf("cut: %v", cut)
		}
	}()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

func inBubble(o Options) (*Server, *slack.Client) {
	s := New(o)
	s.SetBaseURL("http://slack.test")
	return s, slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()),
		slack.OptionHTTPClient(&http.Client{Transport: inProcess{s}}))
}
