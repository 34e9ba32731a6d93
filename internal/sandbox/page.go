package sandbox

import (
	"embed"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

//go:embed page
var pageFiles embed.FS

// page is the one page of the sandbox: the Slack channel, the fleet, the guide and the levers.
type page struct {
	mu     sync.Mutex
	world  *world
	guide  *guide
	teller *teller
}

func newPage() *page { return &page{} }

// ready says that everything is there.
func (p *page) ready(g *guide, t *teller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.world, p.guide, p.teller = g.world, g, t
}

// parts are those of ready; nil before.
func (p *page) parts() (*world, *guide, *teller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.world, p.guide, p.teller
}

// contentPolicy lets the page load nothing but what the sandbox serves.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' " +
	"data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler serves the page, and behind it the stand-in for Slack with its API.
func (p *page) handler(w *world) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.file("page/page.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /sandbox/page.css", p.file("page/page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /sandbox/page.js", p.file("page/page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /sandbox/state", p.state)
	mux.HandleFunc("POST /sandbox/lever", p.lever)
	mux.HandleFunc("POST /sandbox/next", p.next)
	// A link to a message: all of them are on the page.
	mux.Handle("GET /archives/", http.RedirectHandler("/", http.StatusFound))
	mux.Handle("/", w.slack)
	return local(mux, &w.exposed)
}

// local refuses requests for another host: a page of the web whose name points to this machine must not pull the
// levers. exposed says that somebody chose an address beyond loopback: addresses, to which no name can be pointed, are
// answered then, too.
func local(next http.Handler, exposed *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback() && !exposed.Load()) {
			http.Error(w, "the sandbox answers only to localhost and to addresses that it listens on, not to names",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *page) file(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		http.ServeFileFS(w, r, pageFiles, name)
	}
}

// pageState is what the page shows, each second anew.
type pageState struct {
	Scene   scene        `json:"scene"`
	Doing   string       `json:"doing"`
	Target  float64      `json:"target"`
	Alerts  string       `json:"alerts"`
	Levers  []leverState `json:"levers"`
	Samples []sample     `json:"samples"`
	Marks   []mark       `json:"marks"`
	Log     []line       `json:"log"`
}

type leverState struct {
	lever
	On bool `json:"on"`
}

// How much the page shows.
const (
	shownSamples = 180
	shownLines   = 60
)

func (p *page) state(w http.ResponseWriter, _ *http.Request) {
	world, guide, teller := p.parts()
	if world == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	s := pageState{
		Scene: guide.at(), Doing: guide.watcher.doing(), Target: target, Alerts: world.monitor.alerts(),
		Levers: world.levers(), Samples: world.meter.last(shownSamples), Marks: world.meter.marked(),
		Log: teller.last(shownLines),
	}
	writeJSON(w, http.StatusOK, s)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the browser may be gone
}

// maxBody bounds what the page sends.
const maxBody = 1 << 10

// read decodes the body of a POST. Its content type has to be JSON: no page of another origin can send that without
// being asked first.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "send Content-Type: application/json", http.StatusUnsupportedMediaType)
		return false
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func (p *page) lever(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string `json:"name"`
		On   bool   `json:"on"`
	}
	world, _, _ := p.parts()
	if !read(w, r, &body) {
		return
	}
	if world == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	if err := world.pull(body.Name, body.On); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

func (p *page) next(w http.ResponseWriter, r *http.Request) {
	var body struct{}
	_, guide, _ := p.parts()
	if !read(w, r, &body) {
		return
	}
	if guide == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	guide.goOn()
	writeJSON(w, http.StatusOK, struct{}{})
}
