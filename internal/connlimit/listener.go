package connlimit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// DefaultMost is how many connections a listener has at the same time. Each takes up to 30 KiB of memory, and those who
// come for something are a few dozen.
const DefaultMost = 1024

// young is for how long a connection that waits for its first request is none that does nothing.
const young = time.Second

// closingMost is how many connections may be about to end, beyond those that are open, before the next one is taken;
// closingWait how long that waits at most. It keeps a flood from opening faster than what was closed is cleaned up.
const (
	closingMost = 256
	closingWait = time.Second
)

// Why a connection was closed.
const (
	// ReasonFull is to make room for another one.
	ReasonFull = "full"
	// ReasonDescriptors is to make room because the process has no file descriptor left.
	ReasonDescriptors = "descriptors"
	// ReasonBusy is a new one for which there is no room: all others are in the middle of requests with good credentials.
	ReasonBusy = "busy"
)

// Reasons are all of them.
func Reasons() []string { return []string{ReasonFull, ReasonDescriptors, ReasonBusy} }

// errEvicted is the cause of the context of requests whose connection was closed for another.
var errEvicted = errors.New("the connection was closed to make room for others")

// Options are how a Listener is made.
type Options struct {
	// Most is how many connections there are at the same time; 0 is DefaultMost.
	Most int
	// Closed is told of each connection that was closed, with the reason and the sender. It must not block.
	Closed func(reason, sender string)
}

// Listener is a net.Listener with a bounded number of connections. Use New, and Attach before the server serves. It is
// safe for concurrent use.
type Listener struct {
	net.Listener
	most   int
	closed func(reason, sender string)
	// freed gets a word when a connection has ended.
	freed chan struct{}

	mu   sync.Mutex
	open []*conn
	// closing counts those that were closed for others and have not ended.
	closing int
	peers   map[string]*peer
}

// peer is a sender with open connections: how many, and how many of them without good credentials.
type peer struct {
	sender          string
	open, strangers int
}

// New wraps a listener. Below TLS it bounds handshakes, too.
func New(l net.Listener, opts Options) *Listener {
	out := &Listener{
		Listener: l, most: opts.Most, closed: opts.Closed, freed: make(chan struct{}, 1), peers: map[string]*peer{},
	}
	if out.most <= 0 {
		out.most = DefaultMost
	}
	if out.closed == nil {
		out.closed = func(string, string) {}
	}
	return out
}

// Open is how many connections there are.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Accept takes the next connection, and closes another one for it when there are too many.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.settle()
		raw, err := l.Listener.Accept()
		if (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && l.evict(ReasonDescriptors) {
			l.await(time.NewTimer(closingWait))
			continue
		}
		if err != nil {
			return nil, err
		}
		sender := Sender(raw.RemoteAddr().String())
		if c := l.add(raw, sender); c != nil {
			return c, nil
		}
		l.closed(ReasonBusy, sender)
		if err := raw.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return nil, err
		}
	}
}

// add puts a connection among the open ones; nil says that there is no room.
func (l *Listener) add(raw net.Conn, sender string) *conn {
	if l.Open() >= l.most && !l.evict(ReasonFull) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.peers[sender]
	if !ok {
		p = &peer{sender: sender}
		l.peers[sender] = p
	}
	p.open++
	p.strangers++
	c := &conn{Conn: raw, of: l, peer: p, since: time.Now(), place: len(l.open)}
	l.open = append(l.open, c)
	return c
}

// settle waits while too much of what was closed has not ended, but not for long: nothing may hold up the listener.
func (l *Listener) settle() {
	if l.settled() {
		return
	}
	timer := time.NewTimer(closingWait)
	for !l.settled() && l.await(timer) {
		continue
	}
}

func (l *Listener) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing <= closingMost
}

// await waits until a connection has ended; false says that the time is over.
func (l *Listener) await(timer *time.Timer) bool {
	select {
	case <-l.freed:
		return true
	case <-timer.C:
		return false
	}
}

// evict closes the connection that is missed least; false says that each is in the middle of a request with good
// credentials.
func (l *Listener) evict(reason string) bool {
	l.mu.Lock()
	victim := l.leastMissed(time.Now())
	if victim != nil {
		l.drop(victim)
		victim.evicted = true
		l.closing++
	}
	l.mu.Unlock()
	if victim == nil {
		return false
	}
	l.closed(reason, victim.peer.sender)
	victim.end()
	return true
}

// leastMissed is the connection to close.
func (l *Listener) leastMissed(now time.Time) *conn {
	var out *conn
	for _, c := range l.open {
		if !c.kept() && (out == nil || before(c, out, now)) {
			out = c
		}
	}
	return out
}

// before says whether a is closed before b: those without good credentials first, of the sender that has most of them
// what has done nothing for some time, the oldest first.
func before(a, b *conn, now time.Time) bool {
	if a.good != b.good {
		return b.good
	}
	if !a.good {
		if many, more := a.peer.strangers, b.peer.strangers; many != more {
			return many > more
		}
		if idle, other := a.idle(now), b.idle(now); idle != other {
			return idle
		}
	}
	return a.since.Before(b.since)
}

// drop takes a connection out of the open ones.
func (l *Listener) drop(c *conn) {
	last := len(l.open) - 1
	l.open[c.place] = l.open[last]
	l.open[c.place].place = c.place
	l.open[last] = nil
	l.open = l.open[:last]
	c.place = gone
	if !c.good {
		c.peer.strangers--
	}
	if c.peer.open--; c.peer.open == 0 {
		delete(l.peers, c.peer.sender)
	}
}

// Attach lets a server tell what its connections do.
func (l *Listener) Attach(s *http.Server) {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if own := unwrap(c); own != nil {
			own.becomes(state)
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		own := unwrap(c)
		if own == nil {
			return ctx
		}
		return own.within(ctx)
	}
}
