package scenarios

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// hooks is a program that takes what the bot posts: below /slow/ it never answers, elsewhere at once.
type hooks struct {
	mu  sync.Mutex
	got strings.Builder
}

// receiver starts it. Its addresses are secrets of the bot, in the environment.
func (j *journey) receiver(env *testscript.Env) string {
	srv := httptest.NewServer(&j.hooks)
	env.Defer(srv.Close)
	env.Setenv("EVENTS_URL", srv.URL+"/events/"+secret)
	env.Setenv("SLOW_URL", srv.URL+"/slow/"+secret)
	// The bytes 0 to 23, and nothing that anybody uses.
	env.Setenv("EVENTS_SECRET", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX")
	return srv.URL
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h.mu.Lock()
	h.got.WriteString(kind + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Webhook-Id") + " " +
		r.Header.Get("Webhook-Signature") + " " + string(body) + "\n")
	h.mu.Unlock()
	if kind == "slow" {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// all is what was posted, a line each.
func (h *hooks) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got.String()
}

// showHooks makes what was posted the output, a line each: hooks.
func showHooks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hooks")
	}
	show(ts, of(ts).hooks.all())
}
