package scenarios

import (
	"context"
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// slackChannel is where the journeys' messages are.
const slackChannel = "C0INCIDENTS"

// workspace is the journey's Slack, in Socket Mode; the tokens are in the environment then.
func (j *journey) workspace(env *testscript.Env) string {
	if j.slack == nil {
		j.slack = fakeslack.Start(j.t, fakeslack.Options{
			SocketMode: true, Token: "xoxb-" + secret, AppToken: "xapp-" + secret, PingEvery: time.Second,
			ClickWithin: programs.Patience,
		})
		env.Setenv("SLACK_BOT_TOKEN", j.slack.Token())
		env.Setenv("SLACK_APP_TOKEN", j.slack.AppToken())
	}
	return j.slack.APIURL()
}

// slack is what people and Slack itself do: slack VERB [ARGS].
//
//	connections N        waits for so many connections of the bot
//	until TEXT           waits until a message or a thread shows TEXT
//	linked LABEL PATTERN waits until a message links the label to an address that matches
//	messages N           waits until the channel has so many messages
//	button BUTTON        waits until a message has a button whose action begins so
//	click USER BUTTON [AS]
//	                     clicks the button whose action begins so, fills in a form that opens, and prints the private
//	                     answer; AS is KEY=VALUE: an input of the form, or what the payload says wrongly (wrong)
//	command USER TEXT... sends /vllm-medic TEXT, and prints the private answer
//	renew                announces the end of each connection, waits for the next, and ends the old ones
//	cut                  ends each connection without a word
//	revoke               revokes the app token and ends each connection
//	down, up             the Web API fails, and works again
//	fail METHOD ERROR    the next call of the method fails so
//	group ID [USER...]   makes a usergroup
func slack(ts *testscript.TestScript, neg bool, args []string) {
	j := of(ts)
	if neg || len(args) == 0 || j.slack == nil {
		ts.Fatalf("usage: slack VERB [ARGS], with ${SLACK} in the configuration")
	}
	s, rest := j.slack, args[1:]
	switch {
	case args[0] == "connections" && len(rest) == 1:
		n, err := strconv.Atoi(rest[0])
		ts.Check(err)
		poll(ts, rest[0]+" connections", func() bool { return s.Sockets() == n })
	case args[0] == "until" && len(rest) == 1:
		poll(ts, "a message with "+rest[0], func() bool { return strings.Contains(j.shown(), rest[0]) })
	case args[0] == "linked" && len(rest) == 2:
		re, err := regexp.Compile(rest[1])
		ts.Check(err)
		poll(ts, "a link "+rest[0]+" to "+rest[1], func() bool { return re.MatchString(j.linked(rest[0])) })
	case args[0] == "messages" && len(rest) == 1:
		n, err := strconv.Atoi(rest[0])
		ts.Check(err)
		poll(ts, rest[0]+" messages", func() bool { return len(s.Messages(slackChannel)) == n })
	case args[0] == "button" && len(rest) == 1:
		poll(ts, "a button "+rest[0], func() bool { return j.button(rest[0]) != "" })
	case args[0] == "click" && len(rest) >= 2:
		j.click(ts, rest[0], rest[1], rest[2:])
	case args[0] == "fail" && len(rest) == 2:
		s.Fail(rest[0], 1, fakeslack.Fault{Error: rest[1]})
	case args[0] == "group" && len(rest) > 0:
		s.PutUsergroup(fakeslack.Usergroup{ID: rest[0], Handle: strings.ToLower(rest[0]), Users: rest[1:]})
	case args[0] == "command" && len(rest) > 0:
		ctx, cancel := context.WithTimeout(j.t.Context(), programs.Patience)
		defer cancel()
		res, err := s.Command(ctx, fakeslack.CommandRequest{
			User: rest[0], Channel: slackChannel, Command: "/vllm-medic", Text: strings.Join(rest[1:], " "),
		})
		ts.Check(err)
		j.print(ctx, ts, res.ID)
	case args[0] == "renew" && len(rest) == 0:
		open, before := s.Sockets(), s.SocketsAccepted()
		s.Disconnect("warning", 3*time.Second)
		poll(ts, "the next connections", func() bool { return s.SocketsAccepted() == before+open })
		if n := s.Sockets(); n != 2*open {
			ts.Fatalf("%d connections while %d are about to end", n, open)
		}
	case args[0] == "cut" && len(rest) == 0:
		s.CutSockets()
	case args[0] == "revoke" && len(rest) == 0:
		s.RevokeAppToken()
		s.CutSockets()
	case args[0] == "down" && len(rest) == 0:
		s.Outage(503)
	case args[0] == "up" && len(rest) == 0:
		s.Outage(0)
	default:
		ts.Fatalf("slack: unknown %q", args)
	}
}

// linked are the addresses that a label leads to in the channel's messages, one a line.
func (j *journey) linked(label string) string {
	links := regexp.MustCompile(`<(https?://[^|>]+)\|` + regexp.QuoteMeta(label) + `>`)
	var out strings.Builder
	var in func(v any)
	in = func(v any) {
		switch v := v.(type) {
		case string:
			for _, m := range links.FindAllStringSubmatch(v, -1) {
				out.WriteString(html.UnescapeString(m[1]) + "\n")
			}
		case []any:
			for _, item := range v {
				in(item)
			}
		case map[string]any:
			for _, item := range v {
				in(item)
			}
		}
	}
	for _, m := range j.slack.Messages(slackChannel) {
		var blocks any
		if err := json.Unmarshal(m.Blocks, &blocks); err == nil {
			in(blocks)
		}
	}
	return out.String()
}

// shown is all that the channel and its threads show.
func (j *journey) shown() string {
	var b strings.Builder
	for _, m := range j.slack.Messages(slackChannel) {
		b.WriteString(m.VisibleText() + "\n")
		for _, r := range j.slack.Thread(slackChannel, m.TS) {
			b.WriteString(r.VisibleText() + "\n")
		}
	}
	return b.String()
}
