package sandbox

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// viewer shows the bot's own pages without asking for the token of the sandbox's viewers, which nobody knows: it adds
// it. Who reaches it can read and no more, and only on this machine.
type viewer struct {
	token string
	// bot is where the bot's pages are; nil until it listens.
	bot atomic.Pointer[url.URL]
}

// to says where the bot listens.
func (v *viewer) to(address string) { v.bot.Store(&url.URL{Scheme: "http", Host: address}) }

func (v *viewer) handler(log *slog.Logger) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(v.bot.Load())
			r.Out.SetBasicAuth("viewer", v.token)
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // the terminal is for people
	}
	return local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "these pages can only be read; decide on the page that stands in for Slack",
				http.StatusMethodNotAllowed)
		case v.bot.Load() == nil:
			http.Error(w, "the bot starts", http.StatusServiceUnavailable)
		default:
			proxy.ServeHTTP(w, r)
		}
	}), new(atomic.Bool))
}
