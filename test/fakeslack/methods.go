package fakeslack

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// method is one entry of the Web API.
type method struct {
	// scopes: one of them is needed; none means any token.
	scopes []string
	// appToken says that it takes the app-level token, in the header, and not the bot token.
	appToken bool
	// args are the documented arguments that this double understands. Slack ignores others silently; here they are
	// unexpected, because a bot that sends them relies on something that does not exist.
	args []string
	run  func(s *Server, r request) (answer, *slackError)
}

func methodTable() map[string]method {
	post := []string{
		"channel", "text", "blocks", "metadata", "thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn",
		"parse", "link_names",
	}
	history := []string{"channel", "cursor", "inclusive", "oldest", "limit", "include_all_metadata"}
	readers := []string{"channels:history", "groups:history"}
	return map[string]method{
		"apps.connections.open": {appToken: true, run: (*Server).openConnection},
		"auth.test":             {run: (*Server).authTest},
		"chat.postMessage":      {scopes: []string{"chat:write"}, args: post, run: (*Server).postMessage},
		"chat.update": {
			scopes: []string{"chat:write"}, run: (*Server).updateMessage,
			args: []string{"channel", "ts", "text", "blocks", "metadata", "parse", "link_names", "reply_broadcast"},
		},
		"chat.postEphemeral": {
			scopes: []string{"chat:write"}, run: (*Server).postEphemeral,
			args: []string{"channel", "user", "text", "blocks", "thread_ts", "parse", "link_names"},
		},
		"conversations.history": {scopes: readers, args: history, run: (*Server).history},
		"conversations.replies": {scopes: readers, args: append(slices.Clone(history), "ts"), run: (*Server).replies},
		"views.open":            {args: []string{"view", "trigger_id"}, run: (*Server).openView},
		"views.update":          {args: []string{"view", "view_id", "hash"}, run: (*Server).updateView},
		"users.info": {
			scopes: []string{"users:read"}, args: []string{"user", "include_locale"}, run: (*Server).userInfo,
		},
		"usergroups.users.list": {
			scopes: []string{"usergroups:read"}, run: (*Server).usergroupUsers,
			args: []string{"usergroup", "include_disabled"},
		},
	}
}

// serveAPI answers one call of the Web API.
func (s *Server) serveAPI(w http.ResponseWriter, hr *http.Request) {
	r, bad := decodeRequest(w, hr)
	if r.token == s.opts.Token {
		w.Header().Set("X-OAuth-Scopes", strings.Join(s.opts.Scopes, ",")) // each answer has it
	}
	s.carry(w, hr, r, func() (int, answer, *slackError) {
		out, e := s.answerCall(r, bad)
		return http.StatusOK, out, e
	})
}

// carry records a call, applies an injected fault to it, and sends the reply.
func (s *Server) carry(w http.ResponseWriter, hr *http.Request, r request, run func() (int, answer, *slackError)) {
	n, f, faulty := s.recordCall(r)
	var rep reply
	if !faulty || f.performs() {
		rep = s.perform(n, r, run)
	}
	if faulty && !f.onlyDelays() {
		rep = f.reply()
	}
	if pause(hr.Context(), f.DelayAnswer) {
		rep.send(w)
	}
}

// recordCall returns where in the record the call is, and what is to go wrong with it.
func (s *Server) recordCall(r request) (int, Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Call{Method: r.method, Args: r.args}
	f, faulty := s.takeFault(r.method)
	if faulty {
		c.Fault = f.String()
	}
	s.calls = append(s.calls, c)
	s.changed()
	return len(s.calls) - 1, f, faulty
}

// perform runs the method and records the outcome.
func (s *Server) perform(n int, r request, run func() (int, answer, *slackError)) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed()
	status, out, e := run()
	if e != nil {
		s.calls[n].Error = e.code
		s.judgeRefusal(r.method, e)
		return jsonReply(status, e.body())
	}
	s.calls[n].OK = true
	out["ok"] = true
	return jsonReply(status, out)
}

func (s *Server) answerCall(r request, bad *slackError) (answer, *slackError) {
	if bad != nil {
		return nil, bad
	}
	m, known := methodTable()[r.method]
	if !known {
		return nil, refuse("unknown_method")
	}
	if e := s.checkToken(r, m); e != nil {
		return nil, e
	}
	for name := range r.args {
		// Slack's own SDKs send the workspace with every call.
		if name != "team_id" && !slices.Contains(m.args, name) {
			s.unexpected = append(s.unexpected,
				fmt.Sprintf("%s: argument %q is not one that Slack documents or this double knows", r.method, name))
		}
	}
	return m.run(s, r)
}

func (s *Server) checkToken(r request, m method) *slackError {
	switch {
	case m.appToken:
		return s.checkAppToken(r)
	case r.token == "":
		return refuse("not_authed")
	case r.token == s.opts.AppToken:
		return refuse("not_allowed_token_type")
	case r.token != s.opts.Token:
		return refuse("invalid_auth")
	}
	if len(m.scopes) == 0 ||
		slices.ContainsFunc(m.scopes, func(sc string) bool { return slices.Contains(s.opts.Scopes, sc) }) {
		return nil
	}
	return &slackError{
		code: "missing_scope", needed: strings.Join(m.scopes, ","),
		provided: strings.Join(s.opts.Scopes, ","),
	}
}

func (s *Server) authTest(request) (answer, *slackError) {
	address := "https://" + teamDomain + ".slack.com"
	if s.opts.LocalLinks {
		address = s.baseURL
	}
	out := answer{
		"url":  address + "/",
		"team": teamDomain, "team_id": TeamID,
		"user": botName, "user_id": BotUserID, "bot_id": botID,
		"is_enterprise_install": false,
	}
	if s.opts.EnterpriseID != "" {
		out["enterprise_id"] = s.opts.EnterpriseID
	}
	return out, nil
}
