package connlimit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bench is a server behind a Listener. Requests with the header Good show good credentials; those to /wait are answered
// when the test lets them go, or when their context ends.
type bench struct {
	*Listener
	t *testing.T
	// arrived gets a word for each request to /wait, ended the cause of each context that ended.
	arrived chan struct{}
	ended   chan error
	let     chan struct{}

	mu     sync.Mutex
	closed map[string]int
}

func start(t *testing.T, most int) *bench {
	t.Helper()
	raw, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, arrived: make(chan struct{}, 100), ended: make(chan error, 100), let: make(chan struct{}),
		closed: map[string]int{},
	}
	b.Listener = New(raw, Options{Most: most, Closed: func(reason, _ string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.closed[reason]++
	}})
	srv := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	b.Attach(srv)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(b.Listener) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(), <-done); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Good") != "" {
		Proved(r.Context())
	}
	if r.URL.Path == "/wait" {
		b.arrived <- struct{}{}
		select {
		case <-b.let:
		case <-r.Context().Done():
			b.ended <- context.Cause(r.Context())
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// dial connects from an address of this machine.
func (b *bench) dial(from string) net.Conn {
	b.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(b.t.Context(), "tcp", b.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			b.t.Error(err)
		}
	})
	return c
}

func (b *bench) send(c net.Conn, text string) {
	b.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) answer(c net.Conn) {
	b.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		b.t.Fatalf("no answer: %v", err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusNoContent {
		b.t.Fatalf("answered %s, %v", resp.Status, err)
	}
}

// waits says whether the first connection waits for its next request, and is as good as that.
func (b *bench) waits(good bool) bool {
	b.Listener.mu.Lock()
	defer b.Listener.mu.Unlock()
	return !b.open[0].active && b.open[0].good == good
}

func request(path, header string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n"
}

// Whatever is opened and does nothing, sends slowly or sends garbage: a new connection is taken and answered, and their
// number stays bounded. A request with good credentials that is under way is not touched, nor is a connection that
// showed some.
func TestANewConnectionIsAlwaysTakenAndAGoodOneKept(t *testing.T) {
	t.Parallel()
	const most = 8
	b := start(t, most)
	inMiddle, keptOpen := b.dial("127.0.0.1"), b.dial("127.0.0.1")
	b.send(inMiddle, request("/wait", "Good: yes\r\n"))
	<-b.arrived
	b.send(keptOpen, request("/", "Good: yes\r\n"))
	b.answer(keptOpen)
	for n := range 20 * most {
		c := b.dial(fmt.Sprintf("127.0.0.%d", 1+n%3))
		switch n % 3 {
		case 1:
			b.send(c, "GET / HTTP/1.1\r\nHost: slo")
		case 2:
			b.send(c, request("/", "Authorization: garbage\r\n"))
		}
		if n%most == 0 {
			mine := b.dial("127.0.0.4")
			b.send(mine, request("/", ""))
			b.answer(mine)
		}
		if open := b.Open(); open > most {
			t.Fatalf("%d connections are open", open)
		}
	}
	b.send(keptOpen, request("/", "Good: yes\r\n"))
	b.answer(keptOpen)
	close(b.let)
	b.answer(inMiddle)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed[ReasonFull] == 0 || b.closed[ReasonBusy] != 0 {
		t.Errorf("closed: %v", b.closed)
	}
}

// A handler that waits on behalf of a connection that was closed for another waits no longer.
func TestAClosedConnectionEndsItsRequest(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	for range 2 {
		b.send(b.dial("127.0.0.1"), request("/wait", ""))
		<-b.arrived
	}
	mine := b.dial("127.0.0.2")
	if err := <-b.ended; !errors.Is(err, errEvicted) {
		t.Errorf("its context ended with %v", err)
	}
	b.send(mine, request("/", ""))
	b.answer(mine)
}

// Where each connection is in the middle of a request with good credentials a new one is closed, and none of them.
func TestOnlyGoodRequestsTurnANewConnectionAway(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	good := []net.Conn{b.dial("127.0.0.1"), b.dial("127.0.0.1")}
	for _, c := range good {
		b.send(c, request("/wait", "Good: yes\r\n"))
		<-b.arrived
	}
	if _, err := b.dial("127.0.0.2").Read(make([]byte, 1)); err == nil {
		t.Error("the new one was answered")
	}
	close(b.let)
	for _, c := range good {
		b.answer(c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed[ReasonBusy] != 1 || b.closed[ReasonFull] != 0 {
		t.Errorf("closed: %v", b.closed)
	}
}

// What was good once is good as long as the last request was.
func TestAConnectionIsAsGoodAsItsLastRequest(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	was := b.dial("127.0.0.1")
	for _, header := range []string{"Good: yes\r\n", ""} {
		b.send(was, request("/", header))
		b.answer(was)
		for !b.waits(header != "") { // the server says so after its answer
			runtime.Gosched()
		}
	}
	is := b.dial("127.0.0.1")
	b.send(is, request("/", "Good: yes\r\n"))
	b.answer(is)
	b.send(b.dial("127.0.0.2"), request("/wait", ""))
	<-b.arrived
	if _, err := was.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the one that was good: %v", err)
	}
	close(b.let)
	b.send(is, request("/", "Good: yes\r\n"))
	b.answer(is)
}

// Without file descriptors one that does nothing is closed, rather than all wait.
func TestWithoutDescriptorsOneIsClosed(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	l := New(&scarce{next: []net.Conn{ours, nil, ours}}, Options{})
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() { // as the server does when a connection has ended
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			t.Error("something was read")
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := l.Accept(); err != nil || l.Open() != 1 {
		t.Errorf("%v, %d open", err, l.Open())
	}
	if _, err := New(&scarce{next: []net.Conn{nil}}, Options{}).Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("with nothing to close: %v", err)
	}
}

// scarce is a listener that has no descriptor left where nil comes next.
type scarce struct {
	net.Listener
	next []net.Conn
}

func (s *scarce) Accept() (net.Conn, error) {
	c := s.next[0]
	s.next = s.next[1:]
	if c == nil {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return c, nil
}

func TestWhichConnectionIsClosedFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	many, few := &peer{strangers: 100}, &peer{strangers: 1}
	want := []struct {
		name string
		conn *conn
	}{
		{"idle for a minute, of many", &conn{peer: many, since: ago(time.Minute)}},
		{"idle for two seconds, of many", &conn{peer: many, since: ago(2 * time.Second)}},
		{"active for a minute, of many", &conn{peer: many, active: true, since: ago(time.Minute)}},
		{"new, of many", &conn{peer: many, since: ago(time.Millisecond)}},
		{"idle for a minute, of few", &conn{peer: few, since: ago(time.Minute)}},
		{"active for a second, of few", &conn{peer: few, active: true, since: ago(time.Second)}},
		{"new, of few", &conn{peer: few, since: ago(time.Millisecond)}},
		{"good, idle for a minute", &conn{peer: many, good: true, since: ago(time.Minute)}},
		{"good, idle for a second", &conn{peer: many, good: true, since: ago(time.Second)}},
	}
	for n, a := range want {
		for m, b := range want {
			if n != m && before(a.conn, b.conn, now) != (n < m) {
				t.Errorf("%q before %q: %v", a.name, b.name, n > m)
			}
		}
	}
	var all []*conn
	for _, w := range slices.Backward(want) {
		all = append(all, w.conn)
	}
	busy := &conn{peer: many, active: true, proven: true, since: ago(time.Hour)}
	l := &Listener{open: append(all, busy)}
	if got := l.leastMissed(now); got != want[0].conn {
		t.Errorf("%+v is closed", got)
	}
	if got := (&Listener{open: []*conn{busy}}).leastMissed(now); got != nil {
		t.Error("a request with good credentials is closed")
	}
}

func TestWhoIsOneSender(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":             "192.0.2.1",
		"192.0.2.1:5000":        "192.0.2.1",
		"::ffff:192.0.2.1":      "192.0.2.1",
		"[::ffff:192.0.2.1]:80": "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":  "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:80":  "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":     "fe80::/64",
		"pipe":                  "pipe",
		"":                      "",
	} {
		if got := Sender(address); got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
	}
}
