package slacksdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// event is what reached one of Bolt's listeners.
type event struct {
	Kind, Message     string
	Port              int
	User, Channel, TS string
	Action            struct {
		ActionID string `json:"action_id"`
		BlockID  string `json:"block_id"`
		Value    string
		Type     string
	}
	CallbackID string `json:"callback_id"`
	Values     map[string]map[string]struct {
		Type            string
		Value           string
		SelectedOption  struct{ Value string } `json:"selected_option"`
		SelectedOptions []struct{ Value string }
	}
}

// form asks for a reason and a number.
const form = `{"type":"modal","callback_id":"deny","private_metadata":%q,"title":{"type":"plain_text","text":"Deny"},
	"submit":{"type":"plain_text","text":"Deny"},"blocks":[
	{"type":"input","block_id":"reason","label":{"type":"plain_text","text":"Why"},
		"element":{"type":"plain_text_input","action_id":"text"}},
	{"type":"input","block_id":"quiet","label":{"type":"plain_text","text":"Snooze"},
		"element":{"type":"static_select","action_id":"for","options":[
			{"text":{"type":"plain_text","text":"8 h"},"value":"8h"}]}},
	{"type":"input","block_id":"limit","label":{"type":"plain_text","text":"Limit"},
		"element":{"type":"number_input","action_id":"n","is_decimal_allowed":false,"initial_value":"112"}}]}`

const buttons = `[{"type":"container","title":{"type":"plain_text","text":"more"},"is_collapsible":true,
	"default_collapsed":true,"child_blocks":[{"type":"actions","block_id":"plan","elements":[
		{"type":"button","action_id":"ask","value":"inc|step","text":{"type":"plain_text","text":"Deny"}},
		{"type":"button","action_id":"tell","value":"inc|step","text":{"type":"plain_text","text":"Approve"}}]}]}]`

// startBolt returns a workspace with a message that has two buttons, and the bot that Bolt runs for it.
func startBolt(t *testing.T, metadata string, socketMode bool) (*fakeslack.Server, *node, fakeslack.ClickRequest) {
	t.Helper()
	s := fakeslack.Start(t, fakeslack.Options{ClickWithin: process.Patience})
	env := []string{"SLACK_SIGNING_SECRET=" + s.SigningSecret(), "SLACK_VIEW=" + fmt.Sprintf(form, metadata)}
	if socketMode {
		s.SetSocketMode(true)
		env = append(env, "SLACK_APP_TOKEN="+s.AppToken())
	}
	bolt := run(t, s, "bolt.cjs", env...)
	var up event
	if bolt.next(t, &up); up.Kind != "listening" {
		t.Fatalf("Bolt did not start: %+v", up)
	}
	if !socketMode {
		s.SetInteractivityURL(fmt.Sprintf("http://127.0.0.1:%d/slack/events", up.Port))
	}
	posted := run(t, s, "webapi.cjs").call(t, "chat.postMessage", map[string]any{
		"channel": room, "text": "x", "blocks": json.RawMessage(buttons),
	})
	return s, bolt, fakeslack.ClickRequest{User: "U0ALICE", Channel: room, MessageTS: fmt.Sprint(posted.Data["ts"])}
}

func TestBoltTakesClicksAndForms(t *testing.T) {
	t.Parallel()
	for name, socketMode := range map[string]bool{"over HTTP": false, "over Socket Mode": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, bolt, click := startBolt(t, "take", socketMode)
			click.ActionID = "ask"
			res, err := s.Click(t.Context(), click)
			if err != nil || res.Body != "" {
				t.Fatalf("click = %+v, %v", res, err)
			}
			var got event
			bolt.next(t, &got)
			if got.Kind != "action" || got.User != "U0ALICE" || got.Channel != room || got.TS != click.MessageTS ||
				got.Action.ActionID != "ask" || got.Action.BlockID != "plan" || got.Action.Value != "inc|step" {
				t.Errorf("the action = %+v", got)
			}
			if len(s.Views()) != 1 {
				t.Fatalf("views = %+v, want the one that the click opened", s.Views())
			}
			v := s.Views()[0]
			_, err = s.SubmitView(t.Context(), fakeslack.SubmitRequest{
				User: v.User, ViewID: v.ID,
				Values: map[string]map[string]string{"reason": {"text": "load test"}, "quiet": {"for": "8h"}},
			})
			if err != nil || s.Views()[0].Open {
				t.Errorf("submit: %v, view %+v", err, s.Views()[0])
			}
			got = event{}
			bolt.next(t, &got)
			if got.Kind != "view" || got.CallbackID != "deny" || got.Values["reason"]["text"].Value != "load test" ||
				got.Values["quiet"]["for"].SelectedOption.Value != "8h" || got.Values["limit"]["n"].Value != "112" {
				t.Errorf("the form = %+v", got)
			}
		})
	}
}

func TestBoltAnswersThePersonAndTheForm(t *testing.T) {
	t.Parallel()
	s, bolt, click := startBolt(t, "complain", false)
	click.ActionID = "tell"
	res, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	var got event
	bolt.next(t, &got) // printed after the answer
	answers := s.Answers(res.ID)
	if len(answers) != 1 || answers[0].User != "U0ALICE" || answers[0].VisibleText() != "You can't approve this, alice." {
		t.Errorf("answers = %+v, event %+v", answers, got)
	}
	click.ActionID = "ask"
	if _, err := s.Click(t.Context(), click); err != nil {
		t.Fatal(err)
	}
	bolt.next(t, &got)
	v := s.Views()[0]
	out, err := s.SubmitView(t.Context(), fakeslack.SubmitRequest{
		User: v.User, ViewID: v.ID,
		Values: map[string]map[string]string{"reason": {"text": "no"}, "quiet": {"for": "8h"}},
	})
	if err != nil || out.Action != "errors" || s.Views()[0].Errors["reason"] != "Say more." || !s.Views()[0].Open {
		t.Errorf("submit = %+v, %v, view %+v", out, err, s.Views()[0])
	}
}

// What Slack's own code refuses never reaches a listener: the good click behind them is the first.
func TestBoltRefusesWhatSlackDidNotSign(t *testing.T) {
	t.Parallel()
	s, bolt, click := startBolt(t, "take", false)
	click.ActionID = "tell"
	for name, tamper := range map[string]func(*fakeslack.ClickRequest){
		"another secret": func(c *fakeslack.ClickRequest) { c.BadSignature = true },
		"no signature":   func(c *fakeslack.ClickRequest) { c.Unsigned = true },
		"ten minutes old": func(c *fakeslack.ClickRequest) {
			c.Age = 10 * time.Minute
		},
	} {
		bad := click
		tamper(&bad)
		res, err := s.Click(t.Context(), bad)
		if !errors.Is(err, fakeslack.ErrRefused) || res.Status != http.StatusUnauthorized {
			t.Errorf("%s: %+v, %v, want it refused", name, res, err)
		}
	}
	click.User = "U0BOB"
	if _, err := s.Click(t.Context(), click); err != nil {
		t.Fatal(err)
	}
	var got event
	if bolt.next(t, &got); got.User != "U0BOB" {
		t.Errorf("the first event = %+v, want the good click", got)
	}
}
