package slack

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// always is a secret that never changes.
func always(value string) func() string { return func() string { return value } }

// rotating is a secret that is replaced.
type rotating struct {
	mu    sync.Mutex
	value string
}

func (r *rotating) now() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

func (r *rotating) put(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value = value
}

// A token that is replaced counts from the next call on, and neither the old one nor the new one is ever in an error,
// also when a call with the old one ends after it.
func TestAReplacedTokenCountsAtOnceAndBothStayHidden(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var with []string
	slow := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization") + r.FormValue("token")
		mu.Lock()
		with = append(with, token)
		first := len(with) == 1
		mu.Unlock()
		if first {
			<-slow
		}
		// A proxy that repeats what it got.
		_, _ = fmt.Fprintf(w, `{"ok": false, "error": "no xoxb-old-secret xoxb-new-secret xapp-old-secret xapp-new-secret"}`)
	}))
	defer srv.Close()
	bot, app := &rotating{value: "xoxb-old-secret"}, &rotating{value: "xapp-old-secret"}
	c, err := NewClient(Config{Token: bot.now, AppToken: app.now, APIURL: srv.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	late := make(chan error, 1)
	go func() {
		_, err := c.Check(context.WithoutCancel(t.Context()))
		late <- err
	}()
	for begun := false; !begun; runtime.Gosched() {
		mu.Lock()
		begun = len(with) > 0
		mu.Unlock()
	}
	bot.put("xoxb-new-secret")
	app.put("xapp-new-secret")
	_, err = c.Check(t.Context())
	_, socket := c.openSocket(t.Context())
	close(slow)
	for name, err := range map[string]error{"bot": err, "app": socket, "late": <-late} {
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "[redacted]") {
			t.Errorf("%s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"xoxb-old-secret", "xoxb-new-secret", "xapp-new-secret"}
	if len(with) != len(want) {
		t.Fatalf("Slack was called with %q", with)
	}
	for n, token := range want {
		if !strings.Contains(with[n], token) {
			t.Errorf("call %d is with %q, want %s", n, with[n], token)
		}
	}
}
