package efficacy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// wire is a network of one listener, in memory: in a bubble of testing/synctest time passes while somebody waits for
// it, which it would not for a socket.
type wire struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWire() *wire { return &wire{dialed: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.dialed:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr implements net.Listener.
func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// dial connects to the listener, whatever address is asked for.
func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// answered lets a handler answer a client in the same goroutine.
type answered struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
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
