package fakeslack

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// The numbers of Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode).
const (
	// maxSockets is how many connections an app may have.
	maxSockets = 10
	// connectionLife is what hello says about how long a connection lasts.
	connectionLife = time.Hour
	// ticketLife is how long the address of a connection can be used, once.
	ticketLife = 30 * time.Second
	// missedPings is how many pings may go without a pong before the connection is closed.
	missedPings = 3
	// writeTimeout bounds one write to a connection.
	writeTimeout = 5 * time.Second
)

// sockets is the Socket Mode side of the app: its connections and what was sent through them.
type sockets struct {
	on       bool
	tickets  map[string]time.Time // address of a connection, until when
	open     []*socket            // oldest first
	next     int                  // whose turn it is
	accepted int                  // connections so far
	revoked  bool                 // the app-level token is not valid any more
}

// socket is one connection. Its fields but for the connection are under the server's lock.
type socket struct {
	conn *websocket.Conn
	// mu orders writes.
	mu sync.Mutex
	// dead is a connection that looks open and carries nothing: what is sent in either direction is lost.
	dead bool
	// waiting are envelopes that were not acknowledged; past are those that were, or that were too late.
	waiting map[string]chan ack
	past    map[string]string
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// SetSocketMode turns Socket Mode on or off. On, nothing is sent to the interactivity URL any more. Off, every
// connection is told so and closed.
func (s *Server) SetSocketMode(on bool) {
	s.mu.Lock()
	s.sockets.on = on
	s.changed()
	s.mu.Unlock()
	if !on {
		s.Disconnect("link_disabled", 0)
	}
}

// RevokeAppToken makes apps.connections.open answer token_revoked from now on. Open connections stay open.
func (s *Server) RevokeAppToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets.revoked = true
	s.changed()
}

// AppToken returns the app-level token that opens connections.
func (s *Server) AppToken() string { return s.opts.AppToken }

// Sockets returns how many connections are open, those that carry nothing included.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets.open)
}

// SocketsAccepted returns how many connections were accepted so far.
func (s *Server) SocketsAccepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sockets.accepted
}

// Disconnect tells every connection that it will end, as Slack does about once an hour ("warning", then
// "refresh_requested"), and closes them after a while. Until then they carry what people do.
func (s *Server) Disconnect(reason string, after time.Duration) {
	s.mu.Lock()
	all := slices.Clone(s.sockets.open)
	s.mu.Unlock()
	for _, c := range all {
		s.sendJSON(c, answer{
			"type": "disconnect", "reason": reason,
			"debug_info": answer{"host": "wss-fake-1"},
		})
		time.AfterFunc(after, func() { s.dropSocket(c) })
	}
}

// HalfOpen makes every open connection carry nothing from now on, in either direction, without closing it.
func (s *Server) HalfOpen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets.open {
		c.dead = true
		_ = c.conn.SetReadDeadline(time.Time{}) // nor does Slack notice; it fails only on a closed connection
	}
	s.changed()
}

// CutSockets closes every connection without a word.
func (s *Server) CutSockets() {
	s.mu.Lock()
	all := slices.Clone(s.sockets.open)
	s.mu.Unlock()
	for _, c := range all {
		s.dropSocket(c)
	}
}

// openConnection is apps.connections.open. It answers also when Socket Mode is off: the connection says so then.
func (s *Server) openConnection(request) (answer, *slackError) {
	if s.sockets.tickets == nil {
		s.sockets.tickets = map[string]time.Time{}
	}
	ticket := randomHex(16)
	s.sockets.tickets[ticket] = time.Now().Add(ticketLife)
	base := "ws" + strings.TrimPrefix(s.baseURL, "http")
	return answer{"url": fmt.Sprintf("%s/link/?ticket=%s&app_id=%s", base, ticket, AppID)}, nil
}

// checkAppToken is checkToken for the one method that takes an app-level token, in the header only.
func (s *Server) checkAppToken(r request) *slackError {
	switch {
	case r.token == "":
		return refuse("not_authed")
	case r.token == s.opts.Token:
		return refuse("not_allowed_token_type")
	case r.token != s.opts.AppToken || !r.inHeader:
		return refuse("invalid_auth")
	case s.sockets.revoked:
		return refuse("token_revoked")
	case !slices.Contains(s.opts.AppScopes, "connections:write"):
		return &slackError{
			code: "missing_scope", needed: "connections:write", provided: strings.Join(s.opts.AppScopes, ","),
		}
	}
	return nil
}

// serveSocket accepts a connection with a ticket, once.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	until, known := s.sockets.tickets[ticket]
	delete(s.sockets.tickets, ticket)
	s.mu.Unlock()
	if !known || time.Now().After(until) {
		s.noteUnexpected("a connection without a valid ticket")
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.noteUnexpected("a connection that is no websocket: " + err.Error())
		return
	}
	c := &socket{conn: conn, waiting: map[string]chan ack{}, past: map[string]string{}}
	if !s.greet(c) {
		_ = conn.Close() // it was never used
		return
	}
	defer s.dropSocket(c)
	done := make(chan struct{})
	defer close(done)
	patience := missedPings * s.opts.PingEvery
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // it fails only on a closed connection
	conn.SetPongHandler(func(string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.dead {
			return nil
		}
		return conn.SetReadDeadline(time.Now().Add(patience))
	})
	go s.ping(c, done)
	s.readSocket(c)
}

// greet takes a connection and says hello, or sends it away. Nothing comes before the greeting, as at Slack: the
// connection can be found from when it is taken, and cannot be written to before.
func (s *Server) greet(c *socket) (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, why := s.addSocket(c)
	if why != "" {
		s.write(c, answer{"type": "disconnect", "reason": why, "debug_info": answer{"host": "wss-fake-1"}})
		return false
	}
	s.write(c, answer{
		"type": "hello", "num_connections": n, "connection_info": answer{"app_id": AppID},
		"debug_info": answer{
			"host": "wss-fake-1", "build_number": 1, "approximate_connection_time": int(connectionLife.Seconds()),
		},
	})
	return true
}

// addSocket returns how many connections there are with this one, or says why it is not taken.
func (s *Server) addSocket(c *socket) (n int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.sockets.on:
		return 0, "link_disabled"
	case len(s.sockets.open) >= maxSockets:
		return 0, "too_many_websockets"
	}
	s.sockets.open = append(s.sockets.open, c)
	s.sockets.accepted++
	s.changed()
	return len(s.sockets.open), ""
}

// dropSocket closes a connection and forgets it. It may be called twice.
func (s *Server) dropSocket(c *socket) {
	s.mu.Lock()
	s.sockets.open = slices.DeleteFunc(s.sockets.open, func(o *socket) bool { return o == c })
	for id, answered := range c.waiting {
		close(answered)
		delete(c.waiting, id)
	}
	s.changed()
	s.mu.Unlock()
	_ = c.conn.Close() // it may be closed already
}

// ping sends pings until the connection ends, and ends it when nobody answers.
func (s *Server) ping(c *socket, done <-chan struct{}) {
	tick := time.NewTicker(s.opts.PingEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		dead := c.dead
		s.mu.Unlock()
		if dead {
			continue
		}
		if err := c.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(writeTimeout)); err != nil {
			s.dropSocket(c)
			return
		}
	}
}

// sendJSON writes to a connection, unless it carries nothing.
func (s *Server) sendJSON(c *socket, v answer) {
	s.mu.Lock()
	dead := c.dead
	s.mu.Unlock()
	if dead {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.write(c, v)
}

// write writes to a connection, whose lock the caller holds, and closes one that cannot be written to.
func (s *Server) write(c *socket, v answer) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // a closed connection fails in the write as well
	if err := c.conn.WriteMessage(websocket.TextMessage, encode(v)); err != nil {
		s.dropSocket(c)
	}
}
