package fakeslack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Call is one request to the Web API, as it came and as it was answered.
type Call struct {
	Method string
	// Args are the arguments without the token; structured ones are JSON text.
	Args map[string]string
	// OK and Error are what the method said; both are empty when it was not carried out.
	OK    bool
	Error string
	// Fault names the injected fault, if one was used.
	Fault string
}

// wantedError is an announced refusal.
type wantedError struct {
	method, code string
	left         int
}

// Calls returns every call so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.calls)
	for i := range out {
		out[i].Args = maps.Clone(out[i].Args)
	}
	return out
}

// CallsTo returns the calls to one method, oldest first.
func (s *Server) CallsTo(method string) []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return c.Method != method })
}

// ExpectError announces that the next n refusals of method with this error code
// are wanted: they are not unexpected, and those that never come are unused.
func (s *Server) ExpectError(method, code string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = append(s.wanted, &wantedError{method: method, code: code, left: n})
}

// Unexpected returns one line for every request that a correct bot does not send.
func (s *Server) Unexpected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unexpected)
}

// Unused returns one line for every injected fault and announced error that never came.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, f := range s.faults {
		if f.left > 0 {
			out = append(out, fmt.Sprintf("fault %s on %s: %d left", f.Fault, f.method, f.left))
		}
	}
	for _, w := range s.wanted {
		if w.left > 0 {
			out = append(out, fmt.Sprintf("expected error %s from %s: %d left", w.code, w.method, w.left))
		}
	}
	return out
}

func (s *Server) noteUnexpected(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unexpected = append(s.unexpected, line)
	s.changed()
}

// judgeRefusal decides whether a refusal is wanted, harmless or unexpected. The caller holds the lock.
func (s *Server) judgeRefusal(method string, e *slackError) {
	for _, w := range s.wanted {
		if w.left > 0 && w.method == method && w.code == e.code {
			w.left--
			return
		}
	}
	if e.foreseen || !slices.Contains(preventable, e.code) {
		return
	}
	line := method + ": " + e.code
	if len(e.details) > 0 {
		line += ": " + strings.Join(e.details, "; ")
	}
	s.unexpected = append(s.unexpected, line)
}

// preventable are the refusals that a bot has to prevent by checking before it sends. The others (a deleted message,
// an archived channel, a missing scope) can happen to a correct bot.
var preventable = []string{
	"unknown_method", "invalid_auth", "not_authed", "not_allowed_token_type", "invalid_arguments",
	"invalid_arg_name", "invalid_form_data",
	"invalid_post_type", "missing_post_type", "invalid_json", "json_not_object", "invalid_blocks", "invalid_blocks_format",
	"invalid_attachments", "msg_blocks_too_long", "msg_too_long", "no_text", "invalid_metadata_format",
	"metadata_too_large", "invalid_cursor", "invalid_limit", "invalid_ts_oldest", "invalid_thread_ts",
	"cannot_reply_to_message", "cant_update_message", "view_too_large", "used_url", "invalid_payload",
}
