package fleet

import (
	"context"
	"errors"
	"net"
	"net/http"
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
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is a fleet that listens and whose time passes.
type Server struct {
	// Fleet is what is served.
	Fleet *Fleet
	// URL is the address without a trailing slash, Address is its host and port.
	URL, Address string
}

// Start serves a fleet on a free port of 127.0.0.1 and lets its time pass until the test ends. It does without package
// httptest, which gives every program that links it a flag.
func Start(t T, o Options) *Server {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for a fleet: %v", err)
	}
	address := listener.Addr().String()
	s := &Server{Fleet: f, URL: "http://" + address, Address: address}
	if err := f.SetAddress(address); err != nil {
		_ = listener.Close()
		t.Fatalf("%v", err)
	}
	server := &http.Server{Handler: f, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve a fleet: %v", err)
		}
	})
	return s
}
