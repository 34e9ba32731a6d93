package crash

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// The ways in which a child deals with its points.
const (
	// listing writes every point down and lives.
	listing = "list"
	// once dies at one point and at no other.
	once = "once"
	// everywhere dies at every point at which no child before it has died.
	everywhere = "everywhere"
)

// failpoint is where the child may end: it knows every point that the process passes.
type failpoint struct {
	mode string
	// at is the point of mode once.
	at string

	mu   sync.Mutex
	log  *os.File
	seen map[string]int
	// died holds the points of mode everywhere at which a child has died.
	died map[string]bool
	// state is the last state of the incident that the process knew: a read in another state is another point.
	state string
}

func newFailpoint(mode, at, path string) (*failpoint, error) {
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	f := &failpoint{mode: mode, at: at, seen: map[string]int{}, died: map[string]bool{}}
	for line := range strings.Lines(string(before)) {
		f.died[strings.TrimSpace(line)] = true
	}
	f.log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return f, err
}

// reach is called at each point. It does not return when the process is to end here.
func (f *failpoint) reach(when, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	point := when + " " + what
	f.seen[point]++
	numbered := fmt.Sprintf("%s #%d", point, f.seen[point])
	switch f.mode {
	case listing:
		f.write(numbered)
	case once:
		if numbered == f.at {
			f.write(numbered)
			die()
		}
	case everywhere:
		if inState := f.state + ": " + point; !f.died[inState] {
			f.write(inState)
			die()
		}
	}
}

func (f *failpoint) in(state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = state
}

// write keeps a line across the end of the process: the page cache survives it.
func (f *failpoint) write(line string) {
	if _, err := f.log.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// die ends the process as the kernel's out-of-memory killer would. The point's lock is still held, so nothing else
// passes a point meanwhile.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// calls has a point before and after each call of one service.
type calls struct {
	service string
	next    http.RoundTripper
	f       *failpoint
}

// identifiers are the parts of paths that differ from run to run.
var identifiers = regexp.MustCompile(`[a-z0-9-]*\d[a-z0-9-]*|[A-Z0-9]{8,}`)

func (c calls) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(r.URL.Path, "/")
	for n, p := range parts {
		if !strings.HasPrefix(p, "v1") {
			parts[n] = identifiers.ReplaceAllString(p, "x")
		}
	}
	what := c.service + " " + r.Method + " " + strings.Join(parts, "/")
	if strings.HasPrefix(r.URL.Path, "/actions/") {
		what = c.service + " answer to a click" // a response_url is random
	}
	if r.URL.Query().Get("dryRun") != "" {
		what += " dry-run"
	}
	c.f.reach("before", what)
	resp, err := c.next.RoundTrip(r)
	c.f.reach("after", what)
	return resp, err
}
