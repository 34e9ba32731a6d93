package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// servers are the listeners of the sandbox, all on loopback.
type servers struct {
	all    []*http.Server
	wg     sync.WaitGroup
	failed chan error
}

// serve listens at an address and answers until end; it returns where it listens.
func (s *servers) serve(ctx context.Context, name, address string, h http.Handler) (string, error) {
	return s.serveTLS(ctx, name, address, nil, h)
}

// serveTLS is serve with a certificate; without one when secure is nil.
func (s *servers) serveTLS(
	ctx context.Context, name, address string, secure *tls.Config, h http.Handler,
) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for %s: %w", name, err)
	}
	bound := l.Addr().String()
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.all = append(s.all, server)
	s.wg.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve %s: %w", name, err)
		}
	})
	return bound, nil
}

// reachable is how this machine reaches what is bound to an address, and whether others can: whoever listens on all
// addresses is reached on loopback.
func reachable(bound string) (address string, exposed bool) {
	at, err := netip.ParseAddrPort(bound)
	if err != nil || at.Addr().Unmap().IsLoopback() {
		return bound, false
	}
	if at.Addr().IsUnspecified() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String(), true
	}
	return bound, true
}

// end closes all connections and waits until nothing is served.
func (s *servers) end() error {
	var errs []error
	for _, server := range s.all {
		errs = append(errs, server.Close())
	}
	s.wg.Wait()
	return errors.Join(errs...)
}
