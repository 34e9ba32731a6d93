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
	first := press(t, s, click)
	click.User = "U0BOB"
	second := press(t, s, click)
	tell(t, second.ResponseURL, `{"text":"to Bob"}`)
	tell(t, first.ResponseURL, `{"text":"to Alice"}`)
	for id, want := range map[string]string{first.ID: "U0ALICE to Alice", second.ID: "U0BOB to Bob"} {
		if got := s.Answers(id); len(got) != 1 || got[0].User+" "+got[0].Text != want ||
			got[0].MessageTS != click.MessageTS {
			t.Errorf("answers to %s = %+v, want %s", id, got, want)
		}
	}
	if got := s.Answers("click9"); got != nil {
		t.Errorf("answers to no click = %+v", got)
	}
}

func TestResponseURL(t *testing.T) {
	t.Parallel()
	s, _, click := clicked(t, Options{AllowUnexpected: true})
	res := press(t, s, click)
	for body, code := range map[string]string{
		"text=x": "invalid_payload", `{"blocks":[{"type":"alert"}]}`: "invalid_blocks", `{}`: "no_text",
	} {
		if got := tell(t, press(t, s, click).ResponseURL, body); got["error"] != code {
			t.Errorf("%s: %v, want %s", body, got, code)
		}
	}
	s.Fail("response_url", 1, Fault{HTTPStatus: http.StatusInternalServerError})
	err := slack.PostWebhookContext(t.Context(), res.ResponseURL, &slack.WebhookMessage{Text: "x"})
	if err == nil || len(s.Answers(res.ID)) != 0 {
		t.Errorf("with a fault: %v, answers %+v", err, s.Answers(res.ID))
	}
	before := len(s.Unexpected())
	bodies := []string{
		`{"text":"x","response_type":"ephemeral","replace_original":false}`, `{"text":"x"}`,
		`{"text":"x","replace_original":true}`, `{"text":"x","response_type":"in_channel"}`,
		`{"text":"x","delete_original":true}`,
	}
	for _, body := range bodies {
		if got := tell(t, res.ResponseURL, body); got["ok"] != true {
			t.Errorf("%s: %v", body, got)
		}
	}
	if got := s.Unexpected()[before:]; len(got) != 3 || !strings.Contains(got[0], "not one that this double knows") {
		t.Errorf("unexpected = %q, want the last three, which would change the channel", got)
	}
	if len(bodies) != responseURLUses || len(s.Answers(res.ID)) != responseURLUses {
		t.Errorf("answers = %+v, want %d", s.Answers(res.ID), responseURLUses)
	}
	for where, code := range map[string]string{
		res.ResponseURL: "used_url", s.URL() + "/actions/T0FAKE/R9": "invalid_url",
	} {
		if got := tell(t, where, `{"text":"x"}`); got["error"] != code || got["http_status"] != http.StatusNotFound {
			t.Errorf("%v, want %s", got, code)
		}
	}
}

func TestResponseURLLivesThirtyMinutesAndATriggerThreeSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		accept := inProcess{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		s, client := inBubble(Options{HTTPClient: &http.Client{Transport: accept}, InteractivityURL: "http://bot.test/"})
		click := postButton(t, client)
		answer := func(res ClickResult) error {
			return slack.PostWebhookCustomHTTPContext(t.Context(), res.ResponseURL, &http.Client{Transport: inProcess{s}},
				&slack.WebhookMessage{Text: "x"})
		}
		res := press(t, s, click)
		time.Sleep(triggerLife)
		if _, err := client.OpenViewContext(t.Context(), res.TriggerID, reasonView()); err != nil {
			t.Errorf("after 3 s: %v", err)
		}
		_, err := client.OpenViewContext(t.Context(), res.TriggerID, reasonView())
		wantSlackError(t, err, "exchanged_trigger_id")
		time.Sleep(responseURLLife - triggerLife)
		if err := answer(res); err != nil {
			t.Errorf("after 30 minutes: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := answer(res); err == nil {
			t.Error("a response_url lived longer than 30 minutes")
		}
		late := press(t, s, click)
		time.Sleep(triggerLife + time.Nanosecond)
		_, err = client.OpenViewContext(t.Context(), late.TriggerID, reasonView())
		wantSlackError(t, err, "expired_trigger_id")
	})
}
