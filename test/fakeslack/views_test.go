package fakeslack

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

func label(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject("plain_text", s, false, false)
}

// reasonView asks for a reason of 3 to 20 characters, and for an optional note.
func reasonView() slack.ModalViewRequest {
	reason := slack.NewPlainTextInputBlockElement(label("why"), "text")
	reason.MinLength, reason.MaxLength = 3, 20
	note := slack.NewInputBlock("note", label("Note"), nil, slack.NewPlainTextInputBlockElement(nil, "text"))
	note.Optional = true
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: label("Deny"), Submit: label("Deny"), CallbackID: "deny", PrivateMetadata: "inc1",
		Blocks: slack.Blocks{BlockSet: []slack.Block{
			slack.NewInputBlock("reason", label("Reason"), nil, reason),
			note,
		}},
	}
}

// opened returns a workspace in which Alice's click has opened the view.
func opened(t *testing.T, answer func(http.ResponseWriter, slack.InteractionCallback)) (*Server, *slack.Client, *bot,
	View,
) {
	t.Helper()
	s, _, click := clicked(t, Options{})
	client := slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()))
	res := press(t, s, click)
	got, err := client.OpenViewContext(t.Context(), res.TriggerID, reasonView())
	if err != nil {
		t.Fatal(err)
	}
	v := s.Views()[0]
	if v.ID != got.ID || v.Hash != got.Hash || v.User != "U0ALICE" || v.ClickID != res.ID || !v.Open ||
		v.CallbackID != "deny" || v.PrivateMetadata != "inc1" {
		t.Fatalf("view = %+v, answer = %+v", v, got.View)
	}
	return s, client, startBot(t, s, answer), v
}

func submit(v View, reason string) SubmitRequest {
	return SubmitRequest{User: v.User, ViewID: v.ID, Values: map[string]map[string]string{"reason": {"text": reason}}}
}

func TestSubmitCarriesTheValuesAndClosesTheView(t *testing.T) {
	t.Parallel()
	s, _, b, v := opened(t, nil)
	res, err := s.SubmitView(t.Context(), submit(v, "load test"))
	if err != nil || res.Status != http.StatusOK || res.Action != "" {
		t.Fatalf("result = %+v, %v", res, err)
	}
	in := b.last(t)
	if in.Type != slack.InteractionTypeViewSubmission || in.View.ID != v.ID || in.View.Hash != v.Hash ||
		in.View.CallbackID != "deny" ||
		in.View.PrivateMetadata != "inc1" || in.User.ID != "U0ALICE" || in.Team.ID != TeamID || in.APIAppID != AppID {
		t.Errorf("payload = %+v", in)
	}
	if got := in.View.State.Values["reason"]["text"]; got.Value != "load test" || got.Type != "plain_text_input" {
		t.Errorf("state = %+v", in.View.State)
	}
	if s.Views()[0].Open {
		t.Error("the view is still open")
	}
	if _, err := s.SubmitView(t.Context(), submit(v, "again")); !errors.Is(err, ErrNotVisible) {
		t.Errorf("a second submission: %v", err)
	}
}

func TestWhatTheClientWouldNotSubmit(t *testing.T) {
	t.Parallel()
	s, _, b, v := opened(t, nil)
	other := submit(v, "load test")
	other.User = "U0BOB"
	unknown := submit(v, "load test")
	unknown.Values["nothing"] = map[string]string{"x": "y"}
	for name, r := range map[string]SubmitRequest{
		"required and empty": submit(v, ""), "too short": submit(v, "no"), "too long": submit(v, a(21)),
		"another's view": other, "an input that is not there": unknown,
	} {
		if _, err := s.SubmitView(t.Context(), r); !errors.Is(err, ErrNotVisible) || b.count() != 0 {
			t.Errorf("%s: %v, %d sent, want nothing sent", name, err, b.count())
		}
	}
}

func TestAnswersToASubmission(t *testing.T) {
	t.Parallel()
	next := `{"type":"modal","title":{"type":"plain_text","text":"Next"},"blocks":[{"type":"divider"}]}`
	tests := []struct {
		name, answer string
		refused      bool
		open         string // titles of the open views afterwards
		errors       int
	}{
		{"nothing", "", false, "", 0},
		{"errors", `{"response_action":"errors","errors":{"reason":"say more"}}`, false, "Deny", 1},
		{"errors of no input", `{"response_action":"errors","errors":{"elsewhere":"x"}}`, true, "Deny", 0},
		{"no errors", `{"response_action":"errors"}`, true, "Deny", 0},
		{"update", `{"response_action":"update","view":` + next + `}`, false, "Next", 0},
		{"update to a view with a fault", `{"response_action":"update","view":{"type":"modal"}}`, true, "Deny", 0},
		{"an unknown action", `{"response_action":"explode"}`, true, "Deny", 0},
		{"not JSON", `ok`, true, "Deny", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _, _, v := opened(t, func(w http.ResponseWriter, _ slack.InteractionCallback) {
				_, _ = w.Write([]byte(tt.answer))
			})
			res, err := s.SubmitView(t.Context(), submit(v, "load test"))
			if tt.refused != errors.Is(err, ErrRefused) || (err != nil && !tt.refused) {
				t.Errorf("error = %v, want refused %v", err, tt.refused)
			}
			var titles []string
			for _, v := range s.Views() {
				if v.Open {
					titles = append(titles, v.Title)
				}
			}
			if got := strings.Join(titles, " "); got != tt.open {
				t.Errorf("open views = %q, want %q", got, tt.open)
			}
			if n := len(s.Views()[0].Errors); n != tt.errors || (!tt.refused && len(res.Errors) != tt.errors) {
				t.Errorf("%d errors shown, want %d", n, tt.errors)
			}
		})
	}
}

func TestUpdateNeedsTheHashAndOpenATrigger(t *testing.T) {
	t.Parallel()
	s, client, _, v := opened(t, nil)
	change := reasonView()
	change.Title = label("Changed")
	_, err := client.UpdateViewContext(t.Context(), change, "", "wrong", v.ID)
	wantSlackError(t, err, "hash_conflict")
	got, err := client.UpdateViewContext(t.Context(), change, "", v.Hash, v.ID)
	if err != nil || got.Hash == v.Hash || s.Views()[0].Title != "Changed" {
		t.Errorf("update = %+v, %v", got, err)
	}
	if text := s.Views()[0].VisibleText(); !strings.Contains(text, "Changed") || !strings.Contains(text, "Reason") {
		t.Errorf("visible text = %q", text)
	}
	_, err = client.UpdateViewContext(t.Context(), change, "", "", "V9")
	wantSlackError(t, err, "not_found")
	_, err = client.OpenViewContext(t.Context(), "1.2.abc", reasonView())
	wantSlackError(t, err, "invalid_trigger_id")
}

func TestCloseView(t *testing.T) {
	t.Parallel()
	s, _, b, v := opened(t, nil)
	if err := s.CloseView("U0BOB", v.ID); !errors.Is(err, ErrNotVisible) {
		t.Errorf("another's view: %v", err)
	}
	if err := s.CloseView(v.User, v.ID); err != nil || s.Views()[0].Open || b.count() != 0 {
		t.Errorf("close: %v, view %+v, %d sent, want nothing sent", err, s.Views()[0], b.count())
	}
}
