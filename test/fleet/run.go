package fleet

import (
	"context"
	"net/http/httptest"
	"strings"
	"time"
)

// tick is how often Run lets time pass.
const tick = 200 * time.Millisecond

// Run lets simulated time pass with real time, Options.Speed times as fast, until the context ends. Only one Run at a
// time makes sense.
func (f *Fleet) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			f.Advance(time.Duration(float64(now.Sub(last)) * f.opts.Speed))
			last = now
		}
	}
}

// T is the part of testing.TB that Start needs. It keeps package testing out of the program.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is a fleet that listens and whose time passes.
type Server struct {
	// Fleet is what is served.
	Fleet *Fleet
	// URL is the address without a trailing slash, Address is its host and port.
	URL, Address string
}

// Start serves a fleet on a free port of 127.0.0.1 and lets its time pass until the test ends.
func Start(t T, o Options) *Server {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	listener := httptest.NewServer(f)
	s := &Server{Fleet: f, URL: listener.URL, Address: strings.TrimPrefix(listener.URL, "http://")}
	if err := f.SetAddress(s.Address); err != nil {
		listener.Close()
		t.Fatalf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
		listener.CloseClientConnections()
		listener.Close()
	})
	return s
}
