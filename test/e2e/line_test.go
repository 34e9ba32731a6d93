package e2e

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// line is the bot's way to a real Prometheus; a scenario can cut it.
type line struct {
	url string

	mu    sync.Mutex
	down  bool
	tries int
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		// The bot gives up queries when it ends; its own log and the answer 502 say the rest.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.isDown() {
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

func (l *line) isDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.tries++
	}
	return l.down
}

// cut breaks every request from now on, until mend.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// tried is how many requests found the line cut.
func (l *line) tried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}
