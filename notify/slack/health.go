package slack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/notify"
)

// How a call to Slack ended, as the metrics count it.
const (
	callDone        = "done"
	callLimited     = "rate_limited"
	callUnavailable = "unavailable"
	callRefused     = "refused"
)

// CallResults lists how a call can end: done, rate_limited, refused by Slack, or unavailable, which is no answer or an
// internal error of Slack.
func CallResults() []string { return []string{callDone, callLimited, callRefused, callUnavailable} }

// health knows how calls went.
type health struct {
	mu     sync.Mutex
	counts map[string]int64
	// broken are the methods whose latest call failed in a way that concerns the whole app; what passes without help only
	// until any call works.
	broken map[string]Trouble
	// channels and limiting have locks of their own.
	channels channels
	limiting limiting
}

// Trouble is a failure that concerns more than one message.
type Trouble struct {
	// Text says what is wrong, without names and secrets; Next is what to do, empty when it passes without help.
	Text, Next string
	Since      time.Time
}

// passes says that it ends without help, so that any call that works shows that it has ended.
func (t Trouble) passes() bool { return t.Next == "" }

// note keeps how a call ended. Answers to single clicks say nothing about the app, and neither does a call that was
// given up here.
func (h *health) note(method string, err error) {
	if method == methodAnswer || errors.Is(err, context.Canceled) {
		return
	}
	result, trouble := judge(method, err)
	if method == methodOpen {
		trouble = Trouble{} // Socket tells about the connection
	}
	h.limiting.note(time.Now(), err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.counts == nil {
		h.counts, h.broken = map[string]int64{}, map[string]Trouble{}
	}
	h.counts[result]++
	switch {
	case trouble.Text != "":
		trouble.Since = time.Now()
		if before, ok := h.broken[method]; ok {
			trouble.Since = before.Since
		}
		h.broken[method] = trouble
	case result != callLimited:
		delete(h.broken, method)
		maps.DeleteFunc(h.broken, func(_ string, t Trouble) bool { return t.passes() })
	}
}

// judge tells what a call's end says about the app. A refusal for the sake of a channel or a message says nothing bad
// about it: Slack answers.
func judge(method string, err error) (result string, t Trouble) {
	var limited *notify.RateLimitedError
	var gone *notify.GoneError
	var permanent *notify.PermanentError
	var refused *answerError
	switch {
	case err == nil:
		return callDone, t
	case errors.As(err, &limited):
		return callLimited, t
	case errors.As(err, &gone):
		return callRefused, t
	case errors.As(err, &permanent):
		if !errors.As(err, &refused) || ofTheApp(refused.code) && !doesWithout(method, refused.code) {
			return callRefused, Trouble{Text: method + ": " + permanent.Error(), Next: permanent.Next}
		}
		return callRefused, t
	case errors.As(err, &refused):
		return callUnavailable, Trouble{Text: method + ": " + refused.Error()}
	}
	return callUnavailable, Trouble{Text: method + ": no answer from Slack"}
}

// ofTheApp says that a refusal concerns the app as a whole: its tokens, its scopes, its installation.
func ofTheApp(code string) bool {
	switch code {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope",
		"no_permission", "not_allowed_token_type", "app_missing", "team_access_not_granted", "org_login_required":
		return true
	}
	return false
}

// doesWithout says that a method lacks a scope that the bot does without; see usefulScopes.
func doesWithout(method, code string) bool {
	return code == "missing_scope" && (method == "conversations.history" || method == "conversations.replies")
}

// Troubles returns what is wrong with the app's calls, by method, with channels that take no messages, and with a rate
// limit that lasts; empty when Slack answers and nothing is left that somebody has to act on. It holds no secret and no
// name.
func (c *Client) Troubles() []Trouble {
	var out []Trouble
	if t, is := c.health.channels.trouble(); is {
		out = append(out, t)
	}
	if t, is := c.health.limiting.trouble(time.Now()); is {
		out = append(out, t)
	}
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	for _, method := range slices.Sorted(maps.Keys(c.health.broken)) {
		out = append(out, c.health.broken[method])
	}
	return out
}

// Calls counts the calls so far by how they ended; see CallResults.
func (c *Client) Calls() map[string]int64 {
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	return maps.Clone(c.health.counts)
}
