package fakeslack

import (
	"context"
	"encoding/json"
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
	var (
		limited *slack.RateLimitedError
		status  slack.StatusCodeError
		refused slack.SlackErrorResponse
		syntax  *json.SyntaxError
	)
	tests := []struct {
		name   string
		fault  Fault
		as     any // target of errors.As; nil wants any error
		text   string
		posted int
	}{
		{"429 with Retry-After", Fault{HTTPStatus: 429, RetryAfter: 1500 * time.Millisecond}, &limited, "retry after 2s", 0},
		{"429 without", Fault{HTTPStatus: 429}, &status, "429", 0},
		{"503", Fault{HTTPStatus: 503}, &status, "503", 0},
		{"ok:false", Fault{Error: "internal_error"}, &refused, "internal_error", 0},
		{"ok:false although posted", Fault{Error: "fatal_error", Performed: true}, &refused, "fatal_error", 1},
		{"503 although posted", Fault{HTTPStatus: 503, Performed: true}, &status, "503", 1},
		{"HTML with 200", Fault{Body: "<html>"}, &syntax, "invalid character", 0},
		{"cut before", Fault{DropBefore: true}, nil, "EOF", 0},
		{"cut after: posted, and nobody knows", Fault{DropAfter: true}, nil, "EOF", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, client := start(t, Options{})
			s.Fail("chat.postMessage", 1, tt.fault)
			_, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false))
			if err == nil || !strings.Contains(err.Error(), tt.text) || (tt.as != nil && !errors.As(err, clone(tt.as))) {
				t.Errorf("error = %#v (%v), want %T with %q", err, err, tt.as, tt.text)
			}
			if n := len(s.Messages(room)); n != tt.posted {
				t.Errorf("%d messages, want %d", n, tt.posted)
			}
			if c := s.Calls()[0]; c.Fault == "" || c.OK != (tt.posted == 1) {
				t.Errorf("record = %+v", c)
			}
			if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false)); err != nil {
				t.Errorf("the next call failed too: %v", err)
			}
		})
	}
}

// clone gives each parallel test its own target.
func clone(target any) any {
	switch target.(type) {
	case **slack.RateLimitedError:
		return new(*slack.RateLimitedError)
	case *slack.StatusCodeError:
		return new(slack.StatusCodeError)
	case *slack.SlackErrorResponse:
		return new(slack.SlackErrorResponse)
	default:
		return new(*json.SyntaxError)
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
	_, err = client.GetUserInfoContext(t.Context(), "U0BOB")
	if err != nil {
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
	tests := []struct {
		name string
		o    Options
		do   func(s *Server, client *slack.Client)
		want []string
	}{
		{"nothing wrong", Options{}, func(_ *Server, c *slack.Client) { _, _ = c.AuthTestContext(t.Context()) }, nil},
		{"a fault that never came", Options{}, func(s *Server, _ *slack.Client) {
			s.Fail("chat.update", 2, Fault{DropAfter: true})
		}, []string{"unused: fault drop-after on chat.update: 2 left"}},
		{"an announced error that never came", Options{}, func(s *Server, _ *slack.Client) {
			s.ExpectError("chat.update", "msg_too_long", 1)
		}, []string{"unused: expected error msg_too_long"}},
		{"an unknown method", Options{}, func(_ *Server, c *slack.Client) {
			_ = c.RemoveReactionContext(t.Context(), "x", slack.NewRefToMessage(room, "1"))
		}, []string{"unexpected: reactions.remove: unknown_method"}},
		{"an unknown argument", Options{}, func(s *Server, _ *slack.Client) {
			call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "client_msg_id": "1"})
		}, []string{`unexpected: chat.postMessage: argument "client_msg_id"`}},
		{"blocks without text", Options{}, func(s *Server, _ *slack.Client) {
			call(t, s, "chat.postMessage", map[string]string{"channel": room, "blocks": oneButton})
			ts := s.Messages(room)[0].TS
			call(t, s, "chat.update", map[string]string{"channel": room, "ts": ts, "blocks": oneButton})
		}, []string{"chat.postMessage: blocks without text", "chat.update: blocks without text"}},
		{"a wrong token", Options{}, func(s *Server, _ *slack.Client) {
			_, _ = slack.New("xoxb-other", slack.OptionAPIURL(s.APIURL())).AuthTestContext(t.Context())
		}, []string{"unexpected: auth.test: invalid_auth"}},
		{
			"no token",
			Options{},
			func(s *Server, _ *slack.Client) { send(t, s.APIURL()+"auth.test", "", "") },
			[]string{"auth.test: not_authed"},
		},
		{"blocks over a limit", Options{}, func(s *Server, _ *slack.Client) {
			call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "blocks": `[{"type":"alert"}]`})
		}, []string{"chat.postMessage: invalid_blocks: unsupported type: alert [json-pointer:/blocks/0]"}},
		{"a body that is no form", Options{}, func(s *Server, _ *slack.Client) {
			send(t, s.APIURL()+"auth.test", "text/plain", "x")
			send(t, s.APIURL()+"auth.test", "", "x")
			send(t, s.APIURL()+"auth.test", "application/json", "[]")
			send(t, s.APIURL()+"auth.test", "application/json", "{")
			send(t, s.APIURL()+"auth.test", "application/x-www-form-urlencoded", "%zz")
		}, []string{"invalid_post_type", "missing_post_type", "json_not_object", "invalid_json", "invalid_form_data"}},
		{"a path that is none", Options{}, func(s *Server, _ *slack.Client) {
			_, _ = http.Get(s.URL() + "/nowhere") //nolint:noctx,bodyclose // the record is what counts
		}, []string{"unknown path GET /nowhere"}},
		{"allowed on purpose", Options{AllowUnexpected: true}, func(s *Server, _ *slack.Client) {
			send(t, s.APIURL()+"auth.test", "", "")
		}, nil},
		{"a refusal that is nobody's fault", Options{}, func(_ *Server, c *slack.Client) {
			_, _ = c.GetUserInfoContext(t.Context(), "U9")
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{}
			s := Start(r, tt.o)
			tt.do(s, slack.New(s.Token(), slack.OptionAPIURL(s.APIURL())))
			r.end()
			if len(r.errors) != len(tt.want) {
				t.Fatalf("test errors = %q, want %d", r.errors, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(r.errors[i], want) {
					t.Errorf("test error %q, want %q in it", r.errors[i], want)
				}
			}
		})
	}
}

// inProcess calls a handler without a socket, so that synctest can move time. A
// cut connection is an error.
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
