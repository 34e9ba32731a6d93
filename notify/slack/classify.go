package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/notify"
)

// defaultWait is how long a rate limit lasts when Slack does not say.
const defaultWait = 30 * time.Second

// answerError is ok:false: Slack understood the call and refused it.
type answerError struct{ code, needed string }

func (e *answerError) Error() string {
	if e.needed != "" {
		return e.code + " (needs " + e.needed + ")"
	}
	return e.code
}

// nextSteps are what the operator can do about a refusal (docs.slack.dev/reference/methods, errors of each method).
var nextSteps = map[string]string{
	"channel_not_found":               "Check the channel id in the configuration, and invite the app: /invite in the channel.",
	"not_in_channel":                  "Invite the app into the channel: /invite in the channel.",
	"is_archived":                     "The channel is archived: configure another one.",
	"is_inactive":                     "The channel is archived: configure another one.",
	"invalid_auth":                    "The bot token is not valid: set a new one.",
	"not_authed":                      "The bot token is missing: set it.",
	"account_inactive":                "The app was removed from the workspace: install it again and set its new token.",
	"token_revoked":                   "The bot token was revoked: install the app again and set its new token.",
	"token_expired":                   "The bot token has expired: turn token rotation off for the app, or set a new token.",
	"missing_scope":                   "Add the scope to the app (deploy/slack/manifest.yaml) and install it again.",
	"restricted_action":               "The workspace does not let the app post here: ask an admin to allow it.",
	"restricted_action_thread_locked": "The thread is locked: ask an admin to unlock it.",
	"cant_update_message":             "The message belongs to somebody else: was the token of another app set?",
	"edit_window_closed":              "The workspace limits how long messages can be edited: ask an admin to lift that.",
	"messages_tab_disabled":           "Configure a channel, not a direct message.",
	"org_login_required":              "The workspace is being moved into an organisation: try again later.",
}

// ambiguousCodes may come after the message was posted.
var ambiguousCodes = map[string]bool{
	"fatal_error": true, "internal_error": true, "service_unavailable": true, "request_timeout": true,
}

// classify turns an error of slack-go into those that notify.Sink documents. posting says that the call would have shown something to
// people, so that a lost answer is ambiguous; otherwise it can simply be made again.
func classify(err error, posting bool) error {
	var limited *slackgo.RateLimitedError
	var status slackgo.StatusCodeError
	var refused slackgo.SlackErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		return &notify.RateLimitedError{After: max(limited.RetryAfter, time.Second)}
	case errors.As(err, &status):
		return ofStatus(status, posting)
	case errors.As(err, &refused):
		return ofAnswer(refused, posting)
	case neverSent(err):
		return cause(err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return lost(fmt.Errorf("no answer in time: %w", cause(err)), posting)
	}
	return lost(cause(err), posting)
}

func lost(err error, posting bool) error {
	if posting {
		return &notify.AmbiguousError{Err: err}
	}
	return err
}

func ofStatus(s slackgo.StatusCodeError, posting bool) error {
	err := fmt.Errorf("HTTP status %d", s.Code)
	switch {
	case s.Code == http.StatusTooManyRequests:
		return &notify.RateLimitedError{After: defaultWait}
	case s.Code >= 500 || s.Code == http.StatusRequestTimeout:
		return lost(err, posting)
	}
	return &notify.PermanentError{Err: err, Next: "Something between the bot and Slack answers: check api_url, proxies and certificates."}
}

func ofAnswer(r slackgo.SlackErrorResponse, posting bool) error {
	err := &answerError{code: r.Err, needed: r.Needed}
	switch {
	case r.Err == "ratelimited" || r.Err == "rate_limited" || r.Err == "accesslimited":
		return &notify.RateLimitedError{After: defaultWait}
	case ambiguousCodes[r.Err]:
		return lost(err, posting)
	case r.Err == "message_not_found" || r.Err == "thread_not_found" || r.Err == "cannot_reply_to_message":
		return &notify.GoneError{Err: err}
	}
	next, known := nextSteps[r.Err]
	if !known {
		next = "Look up " + r.Err + " in Slack's documentation of the method."
	}
	return &notify.PermanentError{Err: err, Next: next}
}

// neverSent says that the connection could not be made, so that Slack saw nothing.
func neverSent(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return (errors.As(err, &op) && op.Op == "dial") || errors.As(err, &name)
}

// cause leaves the address of the call out of an error: it may hold what is not for logs. What stays says what went wrong.
func cause(err error) error {
	var at *url.Error
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &syntax):
		return errors.New("the answer is not JSON")
	}
	return err
}

// refusedContent says that Slack refused what the message holds, so that a simpler one may pass.
func refusedContent(err error) bool {
	var a *answerError
	if !errors.As(err, &a) {
		return false
	}
	switch a.code {
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "block_mismatch", "metadata_too_large", "invalid_metadata_format":
		return true
	}
	return false
}
