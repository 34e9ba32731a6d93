// Package bubble is what takes the place of sockets in a bubble of testing/synctest: time passes there while somebody
// waits for it, which it would not for a socket.
package bubble

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Wire is a network of one listener, in memory.
type Wire struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewWire is one that nobody has dialed.
func NewWire() *Wire { return &Wire{dialed: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (w *Wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.dialed:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *Wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr implements net.Listener.
func (w *Wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// Dial connects to the listener, whatever address is asked for.
func (w *Wire) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.dialed <- far:
		return near, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Answered lets a handler answer a client in the same goroutine.
type Answered struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (a Answered) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, context.Cause(r.Context())
	}
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, served)
	out := w.Result()
	out.Request = r
	return out, nil
}
