package connlimit

import (
	"context"
	"net"
	"net/http"
	"time"
)

// gone is the place of a connection that is not among the open ones.
const gone = -1

// conn is one connection. What is below of is guarded by the listener's mutex.
type conn struct {
	net.Conn
	of   *Listener
	peer *peer

	place int
	// since is when it was accepted, or when its last request began or ended.
	since time.Time
	// active says that a request has been read and not yet been answered.
	active bool
	// good says that the last request showed good credentials; proven that the present one did.
	good, proven bool
	evicted      bool
	cancel       context.CancelCauseFunc
}

// kept says that nothing closes it for another: it is in the middle of a request with good credentials.
func (c *conn) kept() bool { return c.active && c.proven }

// idle says that it does nothing: it has sent no request, or not all of its headers, for some time.
func (c *conn) idle(now time.Time) bool { return !c.active && now.Sub(c.since) >= young }

// becomes follows the server's word of what the connection does.
func (c *conn) becomes(state http.ConnState) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive:
		c.active, c.proven, c.since = true, false, time.Now()
	case http.StateIdle:
		c.trust(c.proven)
		c.active, c.proven, c.since = false, false, time.Now()
	case http.StateNew, http.StateHijacked, http.StateClosed: // at its beginning, or at its end
	}
}

// trust sets whether its credentials are good.
func (c *conn) trust(good bool) {
	if c.good == good {
		return
	}
	c.good = good
	switch {
	case c.place == gone:
	case good:
		c.peer.strangers--
	default:
		c.peer.strangers++
	}
}

// within is the context of the connection's requests. It ends when the connection is closed for another: a handler that
// waits is not told otherwise.
func (c *conn) within(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, key{}, c))
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.cancel = cancel
	if c.evicted {
		cancel(errEvicted)
	}
	return ctx
}

// end closes it for another one.
func (c *conn) end() {
	c.of.mu.Lock()
	cancel := c.cancel
	c.of.mu.Unlock()
	if cancel != nil {
		cancel(errEvicted)
	}
	_ = c.Conn.Close()
}

// CloseWrite sends the end of what was written, so that whoever sent too much still reads the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close is the server's word that the connection has ended.
func (c *conn) Close() error {
	c.of.left(c)
	return c.Conn.Close()
}

// left forgets a connection that has ended.
func (l *Listener) left(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.place != gone {
		l.drop(c)
	}
	if c.cancel != nil {
		c.cancel(net.ErrClosed)
		c.cancel = nil
	}
	if c.evicted {
		c.evicted = false
		l.closing--
		select {
		case l.freed <- struct{}{}:
		default:
		}
	}
}

type key struct{}

// Proved notes that the request of this context showed good credentials. Without a connection in it there is nothing to
// note.
func Proved(ctx context.Context) {
	c, ok := ctx.Value(key{}).(*conn)
	if !ok {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.active {
		c.proven = true
		c.trust(true)
	}
}

// unwrap finds the connection below TLS; nil: it is none of a Listener.
func unwrap(c net.Conn) *conn {
	for {
		if own, ok := c.(*conn); ok {
			return own
		}
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = inner.NetConn()
	}
}
