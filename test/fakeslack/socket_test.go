package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/vllm-medic/vllm-medic/test/process"
)

// socketBot is slack-go's own client: it acknowledges what it gets, and keeps it.
type socketBot struct {
	mu   sync.Mutex
	got  []socketmode.Event
	done chan error
	stop func()
}

func startSocketBot(t *testing.T, s *Server, answer func(*socketmode.Client, socketmode.Event)) *socketBot {
	t.Helper()
	api := slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()), slack.OptionAppLevelToken(s.AppToken()))
	c := socketmode.New(api)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	b := &socketBot{done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		b.done <- c.RunContext(ctx)
		close(ended)
	}()
	go func() {
		for {
			select {
			case <-ended:
				return
			case e := <-c.Events:
				b.mu.Lock()
				b.got = append(b.got, e)
				b.mu.Unlock()
				if e.Request != nil && e.Request.EnvelopeID != "" {
					answer(c, e)
				}
			}
		}
	}()
	b.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(b.stop)
	return b
}

func acknowledge(t *testing.T, payload any) func(*socketmode.Client, socketmode.Event) {
	return func(c *socketmode.Client, e socketmode.Event) {
		if err := c.Ack(*e.Request, payload); err != nil {
			t.Error(err)
		}
	}
}

func (b *socketBot) events(kind socketmode.EventType) []socketmode.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []socketmode.Event
	for _, e := range b.got {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

func waitFor(t *testing.T, s *Server, what string, met func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	if err := s.Wait(ctx, func(*Server) bool { return met() }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func connected(s *Server, n int) func() bool {
	return func() bool { return s.Sockets() == n }
}

func TestSlackGoGetsClicksAndCommandsOverASocket(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true, PingEvery: 50 * time.Millisecond})
	s.SetInteractivityURL("http://127.0.0.1:1/") // nothing may be sent there
	b := startSocketBot(t, s, acknowledge(t, nil))
	waitFor(t, s, "a connection", connected(s, 1))
	ts := postBlocks(t, s, oneButton)
	res, err := s.Click(t.Context(), ClickRequest{User: "U0ALICE", Channel: room, MessageTS: ts, ActionID: "approve"})
	if err != nil || res.Status != 200 || res.Body != "" {
		t.Fatalf("click = %+v, %v", res, err)
	}
	if _, err := s.Command(t.Context(), CommandRequest{
		User: "U0BOB", Channel: room, Command: "/vllm-medic", Text: "pause llama-70b too hot",
	}); err != nil {
		t.Fatal(err)
	}
	hello, clicks := b.events(socketmode.EventTypeHello), b.events(socketmode.EventTypeInteractive)
	if len(hello) != 1 || hello[0].Request.NumConnections != 1 || hello[0].Request.ConnectionInfo.AppID != AppID ||
		hello[0].Request.DebugInfo.ApproximateConnectionTime != 3600 {
		t.Errorf("hello = %+v", hello)
	}
	in, ok := clicks[0].Data.(slack.InteractionCallback)
	if !ok || in.User.ID != "U0ALICE" || in.ActionCallback.BlockActions[0].Value != "inc|step|digest" ||
		clicks[0].Request.AcceptsResponsePayload {
		t.Errorf("click = %+v", clicks[0])
	}
	commands := b.events(socketmode.EventTypeSlashCommand)
	cmd, ok := commands[0].Data.(slack.SlashCommand)
	if !ok || cmd.Command != "/vllm-medic" || cmd.Text != "pause llama-70b too hot" || cmd.UserID != "U0BOB" ||
		cmd.TeamID != TeamID || cmd.APIAppID != AppID || cmd.ResponseURL == "" || cmd.TriggerID == "" ||
		!commands[0].Request.AcceptsResponsePayload {
		t.Errorf("command = %+v", commands[0])
	}
}

func TestAnAnswerInTheAcknowledgementOfACommandIsPrivate(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true})
	startSocketBot(t, s, acknowledge(t, map[string]any{"response_type": "ephemeral", "text": "all quiet"}))
	waitFor(t, s, "a connection", connected(s, 1))
	res, err := s.Command(t.Context(), CommandRequest{User: "U0BOB", Channel: room, Command: "/vllm-medic"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Answers(res.ID); len(got) != 1 || got[0].Text != "all quiet" || got[0].User != "U0BOB" {
		t.Errorf("answers = %+v", got)
	}
}

// A disconnect that was announced: slack-go connects anew, and the next click arrives.
func TestSlackGoConnectsAnewAfterADisconnect(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true})
	startSocketBot(t, s, acknowledge(t, nil))
	waitFor(t, s, "a connection", connected(s, 1))
	s.Disconnect("refresh_requested", time.Millisecond)
	waitFor(t, s, "a second connection", func() bool { return s.SocketsAccepted() == 2 && s.Sockets() == 1 })
	if _, err := s.Command(t.Context(), CommandRequest{User: "U0BOB", Channel: room, Command: "/x"}); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutAnAcknowledgementTheClickFails(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true, PingEvery: time.Minute})
	command := CommandRequest{User: "U0BOB", Channel: room, Command: "/x"}
	if _, err := s.Command(t.Context(), command); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("without a connection: %v", err)
	}
	silent := startSocketBot(t, s, func(*socketmode.Client, socketmode.Event) {})
	waitFor(t, s, "a connection", connected(s, 1))
	res, err := s.Command(t.Context(), command)
	if !errors.Is(err, ErrNoAnswer) || res.Took < clickTimeout {
		t.Errorf("after %s: %v", res.Took, err)
	}
	if n := len(silent.events(socketmode.EventTypeSlashCommand)); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
	s.HalfOpen()
	if _, err := s.Command(t.Context(), command); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("on a half-open connection: %v", err)
	}
	if n := len(silent.events(socketmode.EventTypeSlashCommand)); n != 1 {
		t.Errorf("a half-open connection carried something: %d", n)
	}
}

// dial opens a connection by hand and reads its first message.
func dial(t *testing.T, s *Server) (*websocket.Conn, map[string]any) {
	t.Helper()
	api := slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()), slack.OptionAppLevelToken(s.AppToken()))
	_, url, err := api.StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, resp, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()               // of a handshake, which has none
	t.Cleanup(func() { _ = c.Close() }) // it may be closed already
	var first map[string]any
	if err := c.ReadJSON(&first); err != nil {
		t.Fatal(err)
	}
	return c, first
}

func TestTheEleventhConnectionIsSentAway(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true})
	for n := range maxSockets {
		if _, first := dial(t, s); first["type"] != "hello" || first["num_connections"] != float64(n+1) {
			t.Errorf("connection %d: %v", n+1, first)
		}
	}
	if _, first := dial(t, s); first["type"] != "disconnect" || first["reason"] != "too_many_websockets" {
		t.Errorf("one too many: %v", first)
	}
	s.SetSocketMode(false)
	waitFor(t, s, "all connections end", connected(s, 0))
	if _, first := dial(t, s); first["reason"] != "link_disabled" {
		t.Errorf("with Socket Mode off: %v", first)
	}
}

// Whoever sees a connection may use it at once: what it carries comes after Slack's greeting.
func TestTheFirstMessageOfAConnectionIsTheGreeting(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true})
	for range 100 {
		sent := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(sent)
			if err := s.Wait(ctx, func(s *Server) bool { return s.Sockets() == 1 }); err == nil {
				// Nobody acknowledges it: it ends with the connection.
				_, _ = s.Command(ctx, CommandRequest{User: "U0BOB", Channel: room, Command: "/x"})
			}
		}()
		_, first := dial(t, s)
		cancel()
		<-sent
		s.CutSockets()
		if first["type"] != "hello" {
			t.Fatalf("the first message: %v", first)
		}
	}
}

// Each payload reaches one connection, and all connections get some.
func TestEachPayloadReachesOneConnection(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true})
	one := startSocketBot(t, s, acknowledge(t, nil))
	waitFor(t, s, "a connection", connected(s, 1))
	two := startSocketBot(t, s, acknowledge(t, nil))
	waitFor(t, s, "two connections", connected(s, 2))
	for range 6 {
		if _, err := s.Command(t.Context(), CommandRequest{User: "U0BOB", Channel: room, Command: "/x"}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := len(one.events(socketmode.EventTypeSlashCommand)), len(two.events(socketmode.EventTypeSlashCommand))
	if a+b != 6 || a == 0 || b == 0 {
		t.Errorf("%d and %d of 6", a, b)
	}
}

func TestWhatNoCorrectBotSendsOverASocketIsUnexpected(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true, AllowUnexpected: true})
	c, _ := dial(t, s)
	go func() { _, _ = s.Command(t.Context(), CommandRequest{User: "U0BOB", Channel: room, Command: "/x"}) }()
	var envelope struct {
		ID string `json:"envelope_id"`
	}
	if err := c.ReadJSON(&envelope); err != nil {
		t.Fatal(err)
	}
	good := `{"envelope_id":"` + envelope.ID + `"}`
	big, err := json.Marshal(map[string]any{"envelope_id": envelope.ID, "payload": strings.Repeat("x", maxAck)})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{good, good, `{"envelope_id":"other"}`, `hello`, `{"id":"x"}`, string(big)} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WriteMessage(websocket.BinaryMessage, []byte(good)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"acknowledged before", "unknown envelope", "is no acknowledgement", "is no acknowledgement", "which Slack drops",
		"that is not text",
	}
	waitFor(t, s, "all is noted", func() bool { return len(s.Unexpected()) >= len(want) })
	for n, line := range s.Unexpected() {
		if n >= len(want) || !strings.Contains(line, want[n]) {
			t.Errorf("unexpected %d: %s", n, line)
		}
	}
}

func TestOnlyTheAppTokenInTheHeaderOpensAConnection(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{SocketMode: true, AllowUnexpected: true})
	open := func(token string) error {
		api := slack.New("none", slack.OptionAPIURL(s.APIURL()), slack.OptionAppLevelToken(token))
		_, _, err := api.StartSocketModeContext(t.Context())
		return err
	}
	inForm := call(t, s, "apps.connections.open", map[string]string{"token": s.AppToken()})
	if inForm["error"] != "invalid_auth" {
		t.Errorf("in the form: %v", inForm)
	}
	for token, want := range map[string]string{
		"xapp-other": "invalid_auth", s.Token(): "not_allowed_token_type",
	} {
		if err := open(token); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", token, err, want)
		}
	}
	api := slack.New(s.AppToken(), slack.OptionAPIURL(s.APIURL()))
	if _, err := api.AuthTestContext(t.Context()); err == nil || err.Error() != "not_allowed_token_type" {
		t.Errorf("another method with the app token: %v", err)
	}
	s.RevokeAppToken()
	if err := open(s.AppToken()); err == nil || err.Error() != "token_revoked" {
		t.Errorf("revoked: %v", err)
	}
	poor, _ := start(t, Options{SocketMode: true, AppScopes: []string{}})
	api = slack.New("none", slack.OptionAPIURL(poor.APIURL()), slack.OptionAppLevelToken(poor.AppToken()))
	if _, _, err := api.StartSocketModeContext(t.Context()); err == nil || err.Error() != "missing_scope" {
		t.Errorf("without its scope: %v", err)
	}
}
