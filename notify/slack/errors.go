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

// nextStep is what the operator can do about a refusal (docs.slack.dev/reference/methods, errors of each method).
func nextStep(code string) string {
	switch code {
	case "channel_not_found":
		return "Check the channel id in the configuration, and invite the app: /invite in the channel."
	case "not_in_channel":
		return "Invite the app into the channel: /invite in the channel."
	case "is_archived", "is_inactive":
		return "The channel is archived: configure another one."
	case "invalid_auth", "not_authed":
		return "The bot token is missing or not valid: set a new one."
	case "account_inactive", "token_revoked":
		return "The app was removed from the workspace or its token revoked: install it again and set its new token."
	case "token_expired":
		return "The bot token has expired: turn token rotation off for the app, or set a new token."
	case "missing_scope", "no_permission":
		return "Add the scope to the app (deploy/slack has the manifest) and install it again."
	case "no_such_subteam":
		return "No user group has this ID: in Slack open People & user groups, the group's menu, Copy group ID."
	case "user_not_found", "user_not_visible":
		return "No account that the app can see has this ID: in Slack open the profile, the menu, Copy member ID."
	case "plan_upgrade_required":
		return "User groups need a paid plan of Slack: list approvers as users."
	case "not_allowed_token_type":
		return "The token is of the wrong kind: token is the bot token (xoxb-), app_token the app-level token (xapp-)."
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel":
		return "The workspace does not let the app post here: ask an admin to allow it."
	case "restricted_action_thread_locked":
		return "The thread is locked: ask an admin to unlock it."
	case "cant_update_message":
		return "The message belongs to somebody else: was the token of another app set?"
	case "edit_window_closed":
		return "The workspace limits how long messages can be edited: ask an admin to lift that."
	default:
		return "Look up " + code + " in Slack's documentation of the method."
	}
}

// ambiguous says that an error code may come after the message was posted.
func ambiguous(code string) bool {
	switch code {
	case "fatal_error", "internal_error", "service_unavailable", "request_timeout":
		return true
	}
	return false
}

// notifyError turns an error of slack-go into those that notify.Notifier documents. posting says that the call would
// have shown something to people, so that a lost answer is ambiguous; otherwise it can simply be made again.
func notifyError(err error, posting bool) error {
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
	return &notify.PermanentError{
		Err:  err,
		Next: "Something between the bot and Slack answers: check api_url, proxies and certificates.",
	}
}

func ofAnswer(r slackgo.SlackErrorResponse, posting bool) error {
	err := &answerError{code: r.Err, needed: r.Needed}
	switch {
	case r.Err == "ratelimited" || r.Err == "rate_limited" || r.Err == "accesslimited":
		return &notify.RateLimitedError{After: defaultWait}
	case ambiguous(r.Err):
		return lost(err, posting)
	case r.Err == "message_not_found" || r.Err == "thread_not_found" || r.Err == "cannot_reply_to_message":
		return &notify.GoneError{Err: err}
	}
	return &notify.PermanentError{Err: err, Next: nextStep(r.Err)}
}

// neverSent says that the connection could not be made, so that Slack saw nothing.
func neverSent(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return (errors.As(err, &op) && op.Op == "dial") || errors.As(err, &name)
}

// cause leaves the address of the call out of an error: it may hold what is not for logs. What stays says what went
// wrong.
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
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "block_mismatch",
		"metadata_too_large", "invalid_metadata_format":
		return true
	}
	return false
}

// MissingScope says that a call was refused because the token lacks a scope, and which, as far as Slack named it.
func MissingScope(err error) (string, bool) {
	var a *answerError
	if !errors.As(err, &a) || a.code != "missing_scope" {
		return "", false
	}
	if a.needed == "" {
		return "a scope", true
	}
	return a.needed, true
}

// refusedBlocks says that Slack refused what the blocks are, not how much they hold.
func refusedBlocks(err error) bool {
	var a *answerError
	return errors.As(err, &a) && (a.code == "invalid_blocks" || a.code == "invalid_blocks_format")
}

// refusedPlace says that the channel does not take such a message from the app, so that its thread still may.
func refusedPlace(err error) bool {
	var a *answerError
	if !errors.As(err, &a) {
		return false
	}
	switch a.code {
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel":
		return true
	}
	return false
}
