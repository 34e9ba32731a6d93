// Package fakeslack is a strict double of Slack's Web API and of the people in
// a workspace: it takes what a bot posts, refuses what Slack would refuse, sends
// signed clicks back, fails on request, and shows the channel on a page.
//
// It promises that a bot which passes here keeps Slack's documented limits, errors and signatures (docs.slack.dev, as
// collected in the project's notes). Where Slack's own behaviour is not documented the double takes the stricter
// reading and the comment beside it says so. It keeps everything in memory.
package fakeslack

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is one workspace with one installed app. It is an http.Handler and is
// safe for use by several goroutines at once.
type Server struct {
	opts Options
	mux  *http.ServeMux

	mu            sync.Mutex
	baseURL       string
	channels      map[string]Channel
	channelOrder  []string
	users         map[string]User
	userOrder     []string
	usergroups    map[string]Usergroup
	messages      map[string][]*message // by channel, oldest first, replies included
	ephemerals    []Ephemeral
	views         []*view
	triggers      map[string]*trigger
	responseURLs  map[string]*responseURL
	clicks        map[string]*sentClick
	sockets       sockets
	calls         []Call
	faults        []*fault
	wanted        []*wantedError
	unexpected    []string
	outage        int
	unknownBlocks []string
	lastMicros    int64
	lastID        int
	changeSignal  chan struct{}
	changeVersion int64
}

// New returns a workspace as o describes it. It does not listen; see Start.
func New(o Options) *Server {
	s := &Server{
		opts:         o.withDefaults(),
		channels:     map[string]Channel{},
		users:        map[string]User{},
		usergroups:   map[string]Usergroup{},
		messages:     map[string][]*message{},
		triggers:     map[string]*trigger{},
		responseURLs: map[string]*responseURL{},
		clicks:       map[string]*sentClick{},
		changeSignal: make(chan struct{}),
	}
	s.sockets.on = s.opts.SocketMode
	for _, c := range s.opts.Channels {
		s.putChannel(c)
	}
	s.putUser(User{ID: BotUserID, Name: botName, IsBot: true})
	for _, u := range defaultUsers() {
		s.putUser(u)
	}
	s.usergroups["S0ONCALL"] = Usergroup{ID: "S0ONCALL", Handle: "oncall", Users: []string{"U0ALICE", "U0BOB"}}
	s.mux = s.routes()
	return s
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("POST /actions/{team}/{id}", s.serveResponseURL)
	mux.HandleFunc("GET /link/", s.serveSocket)
	s.controlRoutes(mux)
	s.pageRoutes(mux)
	mux.HandleFunc("/", s.serveUnknownPath)
	return mux
}

// ServeHTTP answers the Web API under /api/, response_urls under /actions/, the page
// at / and what it sends under /_fake/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mux.ServeHTTP(w, r)
}

func (s *Server) serveUnknownPath(w http.ResponseWriter, r *http.Request) {
	// A browser asks for icons on its own; that says nothing about the bot.
	if r.URL.Path != "/favicon.ico" {
		s.noteUnexpected("request to unknown path " + r.Method + " " + r.URL.Path)
	}
	http.NotFound(w, r)
}

// Token returns the bot token that calls must carry.
func (s *Server) Token() string { return s.opts.Token }

// SigningSecret returns the secret that signs clicks.
func (s *Server) SigningSecret() string { return s.opts.SigningSecret }

// URL returns the double's address without a trailing slash.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.baseURL
}

// APIURL returns the address for slack.OptionAPIURL, with its trailing slash.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// SetBaseURL says under which address the bot reaches this double.
func (s *Server) SetBaseURL(u string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.baseURL = strings.TrimSuffix(u, "/")
}

// SetInteractivityURL says where clicks and submissions are sent from now on.
func (s *Server) SetInteractivityURL(u string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.InteractivityURL = u
}

// changed wakes everybody who waits. The caller holds the lock.
func (s *Server) changed() {
	s.changeVersion++
	close(s.changeSignal)
	s.changeSignal = make(chan struct{})
}

// now is the workspace's clock, in UTC.
func (s *Server) now() time.Time {
	return time.Now().UTC()
}
