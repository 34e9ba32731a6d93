package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// inSlack adds a slack section for this workspace.
func inSlack(o app.Options, s *fakeslack.Server, socket bool) app.Options {
	o.Config.Slack = &config.Slack{
		Socket: socket, Channel: "C0INCIDENTS", Team: fakeslack.TeamID, AppID: fakeslack.AppID, APIURL: s.APIURL(),
		Token: config.Fixed(s.Token()), AppToken: config.Fixed(s.AppToken()),
		SigningSecret: config.Fixed(s.SigningSecret()),
	}
	return o
}

// command sends a slash command to a bot in Socket Mode, when it is connected, and returns the private answer.
func command(t *testing.T, s *fakeslack.Server, user, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	if err := s.Wait(ctx, func(s *fakeslack.Server) bool { return s.Sockets() > 0 }); err != nil {
		t.Fatal(err)
	}
	res, err := s.Command(ctx, fakeslack.CommandRequest{
		User: user, Channel: "C0INCIDENTS", Command: "/vllm-medic", Text: text,
	})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := s.WaitAnswers(ctx, res.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	return answers[0].Text
}

// A bot in Socket Mode opens no port for Slack. Without its connection it stays in service and says what to do, to
// whoever looks at it.
func TestALostConnectionIsShownAndTakesTheBotOutOfNoService(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{SocketMode: true})
	a := run(t, inSlack(options(t), s, true))
	if a.Addr("slack") != "" {
		t.Error("there is a listener for Slack")
	}
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	if err := s.Wait(ctx, func(s *fakeslack.Server) bool { return s.Sockets() == 1 }); err != nil {
		t.Fatal(err)
	}
	ops, api := "http://"+a.Addr("ops"), "http://"+a.Addr("api")
	metric := func(name string) string {
		_, body := ask(t, "GET", ops+"/metrics", "", "")
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, "vllm_medic_"+name+" "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return "missing"
	}
	until(t, "up", func() bool { return metric("slack_up") == "1" && metric("slack_connections") == "1" })
	if code, body := ask(t, "GET", ops+"/readyz", "", ""); code != 200 || body != "ready\n" {
		t.Errorf("connected: %d %q", code, body)
	}
	if got := metric("slack_last_envelope_timestamp_seconds"); got != "missing" {
		t.Errorf("an envelope came: %s", got)
	}
	command(t, s, "U0ALICE", "status")
	if got := metric("slack_last_envelope_timestamp_seconds"); got == "missing" {
		t.Error("the envelope is not counted")
	}

	s.RevokeAppToken()
	s.CutSockets()
	until(t, "down", func() bool { return metric("slack_up") == "0" && metric("slack_connections") == "0" })
	code, body := ask(t, "GET", ops+"/readyz", "", "")
	if code != 200 || !strings.HasPrefix(body, "ready\nSlack doesn't work since ") ||
		!strings.Contains(body, "token_revoked. Create an app-level token with the scope connections:write") {
		t.Errorf("without a connection: %d %q", code, body)
	}
	if _, page := ask(t, "GET", api+"/", "view-secret", ""); !strings.Contains(page, "token_revoked") {
		t.Errorf("the status page says nothing of it: %s", page)
	}
	if code, _ := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", payload); code != 200 {
		t.Errorf("alerts are not taken: %d", code)
	}
	for _, secret := range []string{s.Token(), s.AppToken()} {
		if strings.Contains(body, secret) {
			t.Errorf("a secret shows: %s", body)
		}
	}
}

// Over HTTP there is nothing that could be connected, and no metric that says so.
func TestOverHTTPThereIsNoConnectionToCount(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{})
	o := inSlack(options(t), s, false)
	o.Config.Listen.Slack = "127.0.0.1:0"
	a := run(t, o)
	if a.Addr("slack") == "" {
		t.Error("there is no listener for Slack")
	}
	_, body := ask(t, "GET", "http://"+a.Addr("ops")+"/metrics", "", "")
	if strings.Contains(body, "vllm_medic_slack_connections") || !strings.Contains(body, "vllm_medic_slack_up 1") {
		t.Errorf("metrics:\n%s", body)
	}
	if n := s.SocketsAccepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// A command reaches the store and the pools of the configuration, with the approvers that the configuration names.
func TestACommandPausesThisBot(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{SocketMode: true})
	o := inSlack(options(t), s, true)
	o.Config.Pools[0].Approvers = map[incident.StepKind]incident.Approvers{"replicas": {Users: []string{"U0ALICE"}}}
	a := run(t, o)
	pauses := func(want string) bool {
		_, body := ask(t, "GET", "http://"+a.Addr("ops")+"/metrics", "", "")
		return strings.Contains(body, "\nvllm_medic_pauses "+want+"\n")
	}
	for _, step := range []struct{ user, text, want, pauses string }{
		{"U0BOB", "status", "No open incidents.", "0"},
		{"U0BOB", "pause llama x", "othing was changed", "0"},
		{"U0ALICE", "pause llama freeze", "paused for pool *llama*", "1"},
		{"U0BOB", "status", "freeze", "1"},
		{"U0BOB", "resume llama", "othing was changed", "1"},
		{"U0ALICE", "resume llama", "allowed again", "0"},
		{"U0ALICE", "show inc-none", "Unknown incident", "0"},
		{"U0ALICE", "ask inc-none", "Unknown incident", "0"},
	} {
		if got := command(t, s, step.user, step.text); !strings.Contains(got, step.want) || !pauses(step.pauses) {
			t.Errorf("%s by %s: %q, and not %s pauses", step.text, step.user, got, step.pauses)
		}
	}
}
