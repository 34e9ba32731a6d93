package fakeslack

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/slack-go/slack"
)

func TestACommandOverHTTPIsASignedForm(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	var got slack.SlashCommand
	answer := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := slack.NewSecretsVerifier(r.Header, s.SigningSecret())
		if err == nil {
			r.Body = io.NopCloser(io.TeeReader(r.Body, &v))
			got, err = slack.SlashCommandParse(r)
		}
		if err == nil {
			err = v.Ensure()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	s.SetInteractivityURL(srv.URL)
	command := CommandRequest{User: "U0ALICE", Channel: room, Command: "/vllm-medic", Text: "show <inc>"}
	res, err := s.Command(t.Context(), command)
	if err != nil || len(s.Answers(res.ID)) != 0 {
		t.Fatalf("%+v, %v; answers %+v", res, err, s.Answers(res.ID))
	}
	if got.Command != "/vllm-medic" || got.Text != "show <inc>" || got.UserID != "U0ALICE" || got.ChannelID != room ||
		got.TeamID != TeamID || got.APIAppID != AppID || got.ResponseURL != res.ResponseURL ||
		got.TriggerID != res.TriggerID {
		t.Errorf("command = %+v", got)
	}
	for body, want := range map[string]string{
		"just text": "just text", `{"response_type":"ephemeral","text":"a message"}`: "a message",
	} {
		answer = body
		res, err := s.Command(t.Context(), command)
		if all := s.Answers(res.ID); err != nil || len(all) != 1 || all[0].Text != want || all[0].User != "U0ALICE" {
			t.Errorf("%s: answers %+v, %v", body, all, err)
		}
	}
	answer = `{"response_type":"in_channel","text":"a message for all"}`
	if _, err := s.Command(t.Context(), command); !errors.Is(err, ErrRefused) {
		t.Errorf("an answer that everybody sees: %v", err)
	}
	for name, c := range map[string]CommandRequest{
		"bad signature": {User: "U0ALICE", Channel: room, Command: "/x", BadSignature: true},
		"unsigned":      {User: "U0ALICE", Channel: room, Command: "/x", Unsigned: true},
	} {
		if res, err := s.Command(t.Context(), c); !errors.Is(err, ErrRefused) || res.Status != http.StatusUnauthorized {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	for name, c := range map[string]CommandRequest{
		"nobody":   {User: "U0NOBODY", Channel: room, Command: "/x"},
		"nowhere":  {User: "U0ALICE", Channel: "C9", Command: "/x"},
		"no slash": {User: "U0ALICE", Channel: room, Command: "x"},
	} {
		if _, err := s.Command(t.Context(), c); !errors.Is(err, ErrNotVisible) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
