package fakeslack

import (
	"net/http"
	"strings"
	"testing"
)

func TestControlTakesWhatThePageSends(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	where := `{"user":"U0ALICE","channel":"` + room + `","message_ts":"` + click.MessageTS + `","action_id":`
	tests := []struct {
		path, contentType, body string
		status                  int
		text                    string // part of the error
	}{
		{"click", "application/json", where + `"approve"}`, http.StatusOK, ""},
		{"click", "application/json", where + `"deny"}`, http.StatusConflict, "there are [approve]"},
		{"submit", "application/json", `{"user":"U0BOB","view_id":"V9"}`, http.StatusConflict, "no open view"},
		{"close", "application/json", `{"user":"U0BOB","view_id":"V9"}`, http.StatusConflict, "no open view"},
		{"close", "text/plain", `{"user":"U0BOB"}`, http.StatusUnsupportedMediaType, "application/json"},
		{"close", "", `{"user":"U0BOB"}`, http.StatusUnsupportedMediaType, "application/json"},
		{"close", "application/json", `{"usr":"typo"}`, http.StatusBadRequest, "usr"},
		{"close", "application/json", `{`, http.StatusBadRequest, "EOF"},
	}
	for _, tt := range tests {
		out := send(t, s.URL()+"/_fake/"+tt.path, tt.contentType, tt.body)
		text, _ := out["error"].(string)
		if out["http_status"] != tt.status || out["ok"] != (tt.status == http.StatusOK) || !strings.Contains(text, tt.text) {
			t.Errorf("%s with %q %s = %v, want %d with %q", tt.path, tt.contentType, tt.body, out, tt.status, tt.text)
		}
	}
	if b.count() != 1 {
		t.Errorf("%d clicks arrived, want 1", b.count())
	}
}
