package sandbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// A page of the web must neither see the sandbox nor pull its levers, whatever name it has for loopback.
func TestOnlyThisMachineAndThisPageAreAnswered(t *testing.T) {
	t.Parallel()
	h := newPage().handler(&world{slack: fakeslack.New(fakeslack.Options{})})
	for _, c := range []struct {
		method, host, path, kind, body string
		want                           int
	}{
		{http.MethodGet, "127.0.0.1:8088", "/", "", "", http.StatusOK},
		{http.MethodGet, "localhost:8088", "/", "", "", http.StatusOK},
		{http.MethodGet, "[::1]:8088", "/", "", "", http.StatusOK},
		{http.MethodGet, "evil.example.com", "/", "", "", http.StatusForbidden},
		{http.MethodGet, "evil.example.com:8088", "/_page/feed", "", "", http.StatusForbidden},
		{http.MethodPost, "127.0.0.1", "/sandbox/lever", "text/plain", `{"name":"traffic"}`, http.StatusUnsupportedMediaType},
		{http.MethodPost, "127.0.0.1", "/sandbox/lever", "application/json", `{"lever":"traffic"}`, http.StatusBadRequest},
		{http.MethodPost, "127.0.0.1", "/sandbox/lever", "application/json", `{"name":"x"}`, http.StatusServiceUnavailable},
		{http.MethodPost, "127.0.0.1", "/sandbox/next", "text/plain", `{}`, http.StatusUnsupportedMediaType},
		{http.MethodGet, "127.0.0.1", "/sandbox/state", "", "", http.StatusServiceUnavailable},
		{http.MethodGet, "127.0.0.1", "/archives/C0INCIDENTS/p1795452219651864", "", "", http.StatusFound},
		{http.MethodGet, "127.0.0.1", "/sandbox/nothing", "", "", http.StatusNotFound},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://"+c.host+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			body, _ := io.ReadAll(w.Body) // it is in memory
			t.Errorf("%s %s%s: %d, want %d: %s", c.method, c.host, c.path, w.Code, c.want, body)
		}
	}
}

// Whoever chose an address beyond loopback is answered there, by address. A name could be anybody's.
func TestWhatListensBeyondLoopbackAnswersAddresses(t *testing.T) {
	t.Parallel()
	w := &world{slack: fakeslack.New(fakeslack.Options{})}
	w.exposed.Store(true)
	h := newPage().handler(w)
	for host, want := range map[string]int{
		"192.0.2.7:8088": http.StatusOK, "[2001:db8::7]:8088": http.StatusOK, "[2001:db8::7]": http.StatusOK,
		"127.0.0.1:8088": http.StatusOK, "localhost": http.StatusOK,
		"evil.example.com": http.StatusForbidden, "192.0.2.7.example.com:8088": http.StatusForbidden,
		"": http.StatusForbidden,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = host
		got := httptest.NewRecorder()
		if h.ServeHTTP(got, r); got.Code != want {
			t.Errorf("%q: %d, want %d", host, got.Code, want)
		}
	}
}

func TestTheAddressThatIsPrintedCanBeOpened(t *testing.T) {
	t.Parallel()
	for bound, want := range map[string]struct {
		address string
		exposed bool
	}{
		"127.0.0.1:8088":   {"127.0.0.1:8088", false},
		"127.0.0.2:8088":   {"127.0.0.2:8088", false},
		"[::1]:8088":       {"[::1]:8088", false},
		"[::]:8088":        {"127.0.0.1:8088", true},
		"0.0.0.0:8088":     {"127.0.0.1:8088", true},
		"192.0.2.7:8088":   {"192.0.2.7:8088", true},
		"[2001:db8::7]:80": {"[2001:db8::7]:80", true},
	} {
		if address, exposed := reachable(bound); address != want.address || exposed != want.exposed {
			t.Errorf("%s: %s %v, want %s %v", bound, address, exposed, want.address, want.exposed)
		}
	}
}

// The page loads nothing from elsewhere.
func TestThePageLoadsOnlyWhatIsServedHere(t *testing.T) {
	t.Parallel()
	h := newPage().handler(&world{slack: fakeslack.New(fakeslack.Options{})})
	for _, path := range []string{"/", "/sandbox/page.css", "/sandbox/page.js"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		body := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "")
		if strings.Contains(body, "http://") || strings.Contains(body, "https://") {
			t.Errorf("%s names another host", path)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy", path)
		}
	}
}

func TestALeverThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	w := &world{pulled: pulled{on: map[string]bool{}}}
	if err := w.pull("gravity", true); err == nil || !strings.Contains(err.Error(), "gravity") {
		t.Errorf("%v", err)
	}
}
