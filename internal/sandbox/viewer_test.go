package sandbox

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The bot's pages are shown without a password, so nobody may change anything through them, or come from elsewhere.
func TestTheBotsPagesAreReadOnThisMachineAndNoMore(t *testing.T) {
	t.Parallel()
	asked := 0
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if _, token, _ := r.BasicAuth(); token != "viewers" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(bot.Close)
	v := viewer{token: "viewers"}
	h := v.handler(slog.New(slog.DiscardHandler))
	get := func(method, host string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+"/incidents", http.NoBody)
		r.SetBasicAuth("viewer", "of somebody else")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if got := get(http.MethodGet, "127.0.0.1:80"); got != http.StatusServiceUnavailable {
		t.Errorf("before the bot listens: %d", got)
	}
	v.to(strings.TrimPrefix(bot.URL, "http://"))
	for _, c := range []struct {
		method, host string
		want, asked  int
	}{
		{http.MethodGet, "127.0.0.1:80", http.StatusOK, 1},
		{http.MethodHead, "localhost", http.StatusOK, 1},
		{http.MethodPost, "127.0.0.1:80", http.StatusMethodNotAllowed, 0},
		{http.MethodDelete, "127.0.0.1:80", http.StatusMethodNotAllowed, 0},
		{http.MethodGet, "evil.example.com", http.StatusForbidden, 0},
	} {
		asked = 0
		if got := get(c.method, c.host); got != c.want || asked != c.asked {
			t.Errorf("%s at %s: %d and %d requests to the bot, want %d and %d", c.method, c.host, got, asked, c.want, c.asked)
		}
	}
}
