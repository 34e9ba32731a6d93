package storetest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a store and PostgreSQL. Use Through.
type Proxy struct {
	server string

	mu sync.Mutex
	// open is closed while bytes get through.
	open  chan struct{}
	conns map[net.Conn]*passage
	asked atomic.Int64
}

// passage is one connection; forgotten says that nothing of it gets through any more.
type passage struct{ forgotten chan struct{} }

// Through returns a proxy in front of the server of a postgres:// URL, and the URL that leads through it. It ends with
// the test.
func Through(t testing.TB, rawURL string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: u.Host, open: make(chan struct{}), conns: map[net.Conn]*passage{}}
	close(p.open)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.pass(ctx, c) })
		}
	})
	t.Cleanup(func() {
		end()
		if err := l.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
		wg.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

// Hang lets nothing through any more. Connections stay open and new ones are taken, as behind a firewall that drops
// what it gets.
func (p *Proxy) Hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// Resume lets bytes through again, those first that were held.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open)
}

// Forget lets nothing through any more on the connections that are open now; new ones work. It returns how many that
// were.
func (p *Proxy) Forget() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.conns)
	for c, way := range p.conns {
		close(way.forgotten)
		delete(p.conns, c)
	}
	return n
}

// Asked is how often something came from a client so far: at least once for each answer that it waited for.
func (p *Proxy) Asked() int64 { return p.asked.Load() }

// counted is a client whose words are counted.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	c.n.Add(1)
	return c.Reader.Read(b)
}

func (p *Proxy) pass(ctx context.Context, client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.server)
	if err != nil {
		client.Close() //nolint:errcheck // the client notices
		return
	}
	way := &passage{forgotten: make(chan struct{})}
	p.mu.Lock()
	p.conns[client] = way
	p.mu.Unlock()
	ended := context.AfterFunc(ctx, func() { client.Close(); server.Close() }) //nolint:errcheck // the test is over
	defer ended()
	var wg sync.WaitGroup
	wg.Go(func() { p.copy(ctx, way, server, counted{client, &p.asked}) })
	wg.Go(func() { p.copy(ctx, way, client, server) })
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	p.mu.Unlock()
}

// copy passes bytes on until one side closes, which it tells the other.
func (p *Proxy) copy(ctx context.Context, way *passage, to io.WriteCloser, from io.Reader) {
	defer to.Close() //nolint:errcheck // both sides are given up
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		select {
		case <-way.forgotten:
			<-ctx.Done()
			return
		default:
		}
		select {
		case <-open:
		case <-ctx.Done():
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
