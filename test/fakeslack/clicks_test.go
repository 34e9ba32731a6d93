package fakeslack

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

// press clicks where nothing is in the way.
func press(t *testing.T, s *Server, click ClickRequest) ClickResult {
	t.Helper()
	res, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// postButton posts a button without a socket and returns a click on it.
func postButton(t *testing.T, client *slack.Client) ClickRequest {
	t.Helper()
	_, ts, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false),
		slack.MsgOptionBlocks(slack.NewActionBlock("b", slack.NewButtonBlockElement("go", "v", label("Go")))))
	if err != nil {
		t.Fatal(err)
	}
	return ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: "go"}
}

// clicked returns a workspace with one message that has one button, and its bot.
func clicked(t *testing.T, o Options) (*Server, *bot, ClickRequest) {
	t.Helper()
	s, _ := start(t, o)
	b := startBot(t, s, nil)
	ts := call(t, s, "chat.postMessage", map[string]string{
		"channel": room, "text": "x", "blocks": oneButton,
		"metadata": `{"event_type":"incident","event_payload":{"incident_id":"inc1"}}`,
	})["ts"]
	return s, b, ClickRequest{User: "U0ALICE", Channel: room, MessageTS: fmt.Sprint(ts), ActionID: "approve"}
}

func TestClickIsSignedAndFaithful(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{EnterpriseID: "E0ORG"})
	res := press(t, s, click)
	if res.Status != http.StatusOK || res.Confirmed || res.ID == "" {
		t.Errorf("result = %+v", res)
	}
	in := b.last(t) // verified by slack-go's SecretsVerifier and decoded by slack-go
	if in.Type != slack.InteractionTypeBlockActions || in.APIAppID != AppID || in.Team.ID != TeamID ||
		in.Enterprise.ID != "E0ORG" ||
		in.User.ID != "U0ALICE" || in.User.TeamID != TeamID || in.Channel.ID != room || in.TriggerID != res.TriggerID ||
		in.ResponseURL != res.ResponseURL {
		t.Errorf("payload = %+v", in)
	}
	if c := in.Container; c.Type != "message" || c.MessageTs != click.MessageTS || c.ChannelID != room || c.IsEphemeral {
		t.Errorf("container = %+v", c)
	}
	if in.Message.Timestamp != click.MessageTS || in.Message.Metadata.EventPayload["incident_id"] != "inc1" ||
		len(in.Message.Blocks.BlockSet) != 1 {
		t.Errorf("message = %+v", in.Message)
	}
	if len(in.ActionCallback.BlockActions) != 1 {
		t.Fatalf("actions = %+v, want one", in.ActionCallback)
	}
	action := in.ActionCallback.BlockActions[0]
	if action.ActionID != "approve" || action.BlockID != "plan-1" || action.Value != "inc|step|digest" ||
		action.Type != "button" || action.ActionTs == "" {
		t.Errorf("action = %+v", action)
	}
	if got := b.header[0].Get("Content-Type"); got != "application/x-www-form-urlencoded" {
		t.Errorf("content type = %q", got)
	}
}

func TestTamperedClicksSayWhatTheyWereToldTo(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	value := "other|value"
	for name, tamper := range map[string]func(*ClickRequest){
		"bad signature":           func(c *ClickRequest) { c.BadSignature = true },
		"no signature":            func(c *ClickRequest) { c.Unsigned = true },
		"old timestamp":           func(c *ClickRequest) { c.Age = 6 * time.Minute },
		"timestamp in the future": func(c *ClickRequest) { c.Age = -6 * time.Minute },
	} {
		c := click
		tamper(&c)
		res, err := s.Click(t.Context(), c)
		if !errors.Is(err, ErrRefused) || res.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), "401") {
			t.Errorf("%s: %+v, %v, want a refusal", name, res, err)
		}
	}
	click.Age, click.AppID, click.TeamID, click.EnterpriseID, click.UserTeamID = 4*time.Minute, "A9", "T9", "E9", "T8"
	click.PayloadChannel, click.PayloadMessageTS, click.Value = "C9", "1.000001", &value
	press(t, s, click)
	in := b.last(t)
	got := []string{
		in.User.ID, in.APIAppID, in.Team.ID, in.Enterprise.ID, in.User.TeamID, in.Channel.ID, in.Container.ChannelID,
		in.Container.MessageTs, in.Message.Timestamp, in.ActionCallback.BlockActions[0].Value,
	}
	want := []string{"U0ALICE", "A9", "T9", "E9", "T8", "C9", "C9", "1.000001", "1.000001", value}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payload (-want +got): %s", diff)
	}
}

func TestReplayIsTheSameByteForByte(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	first := press(t, s, click)
	tell(t, first.ResponseURL, `{"text":"first"}`)
	again := press(t, s, ClickRequest{Replay: first.ID})
	if !bytes.Equal(b.raw[0], b.raw[1]) || !cmp.Equal(b.header[0], b.header[1]) {
		t.Error("the replay is another request than the click")
	}
	tell(t, again.ResponseURL, `{"text":"second"}`)
	answers, err := s.WaitAnswers(soon(t), again.ID, 1)
	if err != nil || len(answers) != 1 || answers[0].Text != "second" {
		t.Errorf("answers to the replay = %+v, %v", answers, err)
	}
	if _, err := s.Click(t.Context(), ClickRequest{Replay: "click9"}); !errors.Is(err, ErrNotVisible) {
		t.Errorf("replay of nothing: %v", err)
	}
}

func tell(t *testing.T, responseURL, body string) map[string]any {
	t.Helper()
	return send(t, responseURL, "application/json", body)
}

func TestOnlyWhatIsOnTheScreenCanBeClicked(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	out := call(t, s, "chat.postEphemeral", map[string]string{
		"channel": room, "user": "U0BOB", "text": "x", "blocks": strings.Replace(oneButton, "approve", "again", 1),
	})
	private := fmt.Sprint(out["message_ts"])
	double := postBlocks(t, s,
		`[`+oneButton[1:len(oneButton)-1]+`,`+strings.Replace(oneButton[1:len(oneButton)-1], "plan-1", "plan-2", 1)+`]`)
	s.PutChannel(Channel{ID: room, Name: "incidents", Members: []string{"U0ALICE", "U0BOB"}})
	change := func(f func(*ClickRequest)) ClickRequest {
		c := click
		f(&c)
		return c
	}
	tests := []struct {
		name string
		c    ClickRequest
		ok   bool
		text string
	}{
		{"as it is", click, true, ""},
		{"another action", change(func(c *ClickRequest) { c.ActionID = "deny" }), false, "there are [approve]"},
		{"another block", change(func(c *ClickRequest) { c.BlockID = "plan-2" }), false, "no element"},
		{"another message", change(func(c *ClickRequest) { c.MessageTS = "1.000001" }), false, "no such message"},
		{"another channel", change(func(c *ClickRequest) { c.Channel = "C9" }), false, "no channel"},
		{"nobody", change(func(c *ClickRequest) { c.User = "U9" }), false, "no user"},
		{"somebody who is not in the channel", change(func(c *ClickRequest) { c.User = "U0CAROL" }), false, "is not in"},
		{"a version that is not older", change(func(c *ClickRequest) { c.StaleVersion = 1 }), false, "not an older one"},
		{"declining where nothing asks", change(func(c *ClickRequest) { c.Decline = true }), false, "no confirmation"},
		{
			"one of two without saying which", change(func(c *ClickRequest) { c.MessageTS = double }), false,
			"say which block_id",
		},
		{"one of two", change(func(c *ClickRequest) { c.MessageTS, c.BlockID = double, "plan-2" }), true, ""},
		{
			"another's private message", change(func(c *ClickRequest) { c.MessageTS, c.ActionID = private, "again" }), false,
			"private to U0BOB",
		},
		{
			"one's own private message",
			ClickRequest{User: "U0BOB", Channel: room, MessageTS: private, ActionID: "again"},
			true, "",
		},
	}
	for _, tt := range tests {
		before := b.count()
		_, err := s.Click(t.Context(), tt.c)
		if tt.ok && (err != nil || b.count() != before+1) {
			t.Errorf("%s: %v, want it sent", tt.name, err)
		}
		if !tt.ok && (!errors.Is(err, ErrNotVisible) || !strings.Contains(err.Error(), tt.text) || b.count() != before) {
			t.Errorf("%s: %v, want ErrNotVisible with %q and nothing sent", tt.name, err, tt.text)
		}
	}
	if c := b.last(t).Container; !c.IsEphemeral || c.MessageTs != private {
		t.Errorf("container of the private click = %+v", c)
	}
}

func TestStaleClickCarriesTheOlderMessage(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	call(t, s, "chat.update",
		map[string]string{"channel": room, "ts": click.MessageTS, "text": "replaced", "blocks": `[{"type":"divider"}]`})
	if _, err := s.Click(t.Context(), click); !errors.Is(err, ErrNotVisible) {
		t.Fatalf("a click on a button that is gone: %v", err)
	}
	click.StaleVersion = 1
	press(t, s, click)
	if in := b.last(t); in.ActionCallback.BlockActions[0].BlockID != "plan-1" || in.Message.Text != "x" ||
		in.Message.Edited != nil {
		t.Errorf("payload = %+v, want the first version", in.Message)
	}
}

func TestConfirmationDialog(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	b := startBot(t, s, nil)
	ts := postBlocks(t, s, everyKind)
	m, _ := s.Message(room, ts)
	want := &Confirm{Title: "Sure?", Text: "really", Confirm: "Yes", Deny: "No", Style: "danger"}
	if button, ok := m.Button("as"); !ok || !cmp.Equal(button.Confirm, want) {
		t.Errorf("button = %+v, want its confirmation", button)
	}
	click := ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: "ask", Decline: true}
	if _, err := s.Click(t.Context(), click); !errors.Is(err, ErrDeclined) || b.count() != 0 {
		t.Errorf("declined: %v, %d sent, want nothing sent", err, b.count())
	}
	click.Decline = false
	if res := press(t, s, click); !res.Confirmed {
		t.Errorf("agreed: %+v", res)
	}
}

func TestSelectsSendWhatWasChosen(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	b := startBot(t, s, nil)
	click := ClickRequest{User: "U0BOB", Channel: room, MessageTS: postBlocks(t, s, everyKind)}
	for _, tt := range []struct{ action, option, picked string }{{"pick", "in", "in"}, {"more", "z", "out"}} {
		click.ActionID, click.Option = tt.action, tt.option
		press(t, s, click)
		in := b.last(t)
		if got := in.ActionCallback.BlockActions[0]; got.ActionID != tt.action || got.SelectedOption.Value != tt.option {
			t.Errorf("action = %+v, want %s of %s", got, tt.option, tt.action)
		}
		if got := in.BlockActionState.Values["a"]["pick"].SelectedOption.Value; got != tt.picked {
			t.Errorf("after %s the select says %q, want %q", tt.action, got, tt.picked)
		}
		click.Option = "nonsense"
		if _, err := s.Click(t.Context(), click); !errors.Is(err, ErrNotVisible) {
			t.Errorf("an option that is not there: %v", err)
		}
	}
}

func TestClickThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := inProcess{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})}
		s, client := inBubble(Options{HTTPClient: &http.Client{Transport: hang}})
		click := postButton(t, client)
		if _, err := s.Click(t.Context(), click); !errors.Is(err, ErrNoAnswer) ||
			!strings.Contains(err.Error(), "no interactivity URL") {
			t.Errorf("without a URL: %v", err)
		}
		s.SetInteractivityURL("http://bot.test/")
		res, err := s.Click(t.Context(), click)
		if !errors.Is(err, ErrNoAnswer) || res.Took != 3*time.Second ||
			!strings.Contains(err.Error(), "no answer within 3s") {
			t.Errorf("a bot that hangs: %+v, %v, want ErrNoAnswer after 3s", res, err)
		}
	})
}
