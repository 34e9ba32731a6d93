package fakeslack

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
)

func TestAnswersBelongToTheirClick(t *testing.T) {
	t.Parallel()
	s, _, click := clicked(t, Options{})
	first, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	click.User = "U0BOB"
	second, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, second.ResponseURL, `{"text":"to Bob"}`)
	tell(t, first.ResponseURL, `{"text":"to Alice"}`)
	for id, want := range map[string]string{first.ID: "U0ALICE to Alice", second.ID: "U0BOB to Bob"} {
		if got := s.Answers(id); len(got) != 1 || got[0].User+" "+got[0].Text != want {
			t.Errorf("answers to %s = %+v, want %s", id, got, want)
		}
	}
	if got := s.Answers("click9"); got != nil {
		t.Errorf("answers to no click = %+v", got)
	}
}

func TestResponseURLTellsThePersonWhoClickedFiveTimes(t *testing.T) {
	t.Parallel()
	s, _, click := clicked(t, Options{AllowUnexpected: true})
	res, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	for range responseURLUses {
		if got := tell(t, res.ResponseURL,
			`{"text":"you may not","response_type":"ephemeral","replace_original":false}`); got["ok"] != true {
			t.Fatal(got)
		}
	}
	if len(s.Unexpected()) != 0 {
		t.Errorf("unexpected = %q", s.Unexpected())
	}
	answers := s.Answers(res.ID)
	if len(answers) != 5 || answers[0].Text != "you may not" || answers[0].User != "U0ALICE" ||
		answers[0].MessageTS != click.MessageTS {
		t.Fatalf("answers = %+v", answers)
	}
	if got := tell(t, res.ResponseURL, `{"text":"sixth"}`); got["error"] != "used_url" ||
		got["http_status"] != http.StatusNotFound {
		t.Errorf("the sixth use: %v", got)
	}
}

func TestResponseURLThatWouldChangeTheChannelIsUnexpected(t *testing.T) {
	t.Parallel()
	for _, field := range []string{`"replace_original":true`, `"response_type":"in_channel"`, `"delete_original":true`} {
		s, _, click := clicked(t, Options{AllowUnexpected: true})
		res, err := s.Click(t.Context(), click)
		if err != nil {
			t.Fatal(err)
		}
		tell(t, res.ResponseURL, `{"text":"x",`+field+`}`)
		if got := s.Unexpected(); len(got) != 1 || !strings.Contains(got[0], "not one that this double knows") {
			t.Errorf("%s: unexpected = %q", field, got)
		}
	}
}

func TestResponseURLRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, code string }{
		{"not JSON", "text=x", "invalid_payload"},
		{"bad blocks", `{"blocks":[{"type":"alert"}]}`, "invalid_blocks"},
		{"nothing", `{}`, "no_text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _, click := clicked(t, Options{})
			res, err := s.Click(t.Context(), click)
			if err != nil {
				t.Fatal(err)
			}
			s.ExpectError("response_url", tt.code, 1)
			if got := tell(t, res.ResponseURL, tt.body); got["error"] != tt.code || len(s.Answers(res.ID)) != 0 {
				t.Errorf("answer = %v, want %s", got, tt.code)
			}
		})
	}
	s, _, click := clicked(t, Options{})
	if got := tell(t, s.URL()+"/actions/T0FAKE/R9", `{"text":"x"}`); got["error"] != "invalid_url" {
		t.Errorf("a made-up one: %v", got)
	}
	s.Fail("response_url", 1, Fault{HTTPStatus: 500})
	fresh, err := s.Click(t.Context(), click)
	if err != nil {
		t.Fatal(err)
	}
	if err := slack.PostWebhookContext(t.Context(), fresh.ResponseURL, &slack.WebhookMessage{Text: "x"}); err == nil ||
		len(s.Answers(fresh.ID)) != 0 {
		t.Errorf("with a fault: %v, %v", err, s.Answers(fresh.ID))
	}
}

func TestResponseURLLivesThirtyMinutesAndATriggerThreeSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		accept := inProcess{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		s, client := inBubble(Options{HTTPClient: &http.Client{Transport: accept}, InteractivityURL: "http://bot.test/"})
		_, ts, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false), slack.MsgOptionBlocks(
			slack.NewActionBlock("b",
				slack.NewButtonBlockElement("go", "v", slack.NewTextBlockObject("plain_text", "Go", false, false)))))
		if err != nil {
			t.Fatal(err)
		}
		view := slack.ModalViewRequest{
			Type: slack.VTModal, Title: slack.NewTextBlockObject("plain_text", "T", false, false),
			Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
		}
		click := func() ClickResult {
			res, err := s.Click(t.Context(), ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: "go"})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		answer := func(res ClickResult) error {
			return slack.PostWebhookCustomHTTPContext(t.Context(), res.ResponseURL, &http.Client{Transport: inProcess{s}},
				&slack.WebhookMessage{Text: "x"})
		}
		res := click()
		time.Sleep(triggerLife)
		if _, err := client.OpenViewContext(t.Context(), res.TriggerID, view); err != nil {
			t.Errorf("after 3 s: %v", err)
		}
		_, err = client.OpenViewContext(t.Context(), res.TriggerID, view)
		wantSlackError(t, err, "exchanged_trigger_id")
		time.Sleep(responseURLLife - triggerLife)
		if err := answer(res); err != nil {
			t.Errorf("after 30 minutes: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := answer(res); err == nil {
			t.Error("a response_url lived longer than 30 minutes")
		}
		late := click()
		time.Sleep(triggerLife + time.Nanosecond)
		_, err = client.OpenViewContext(t.Context(), late.TriggerID, view)
		wantSlackError(t, err, "expired_trigger_id")
	})
}
