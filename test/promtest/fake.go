package promtest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Paths of the query API.
const (
	InstantPath = "/api/v1/query"
	RangePath   = "/api/v1/query_range"
)

// Fake is a strict double of Prometheus's query API: a request that was not announced fails the test, and so does an
// announced answer that nobody asked for.
type Fake struct {
	t  testing.TB
	mu sync.Mutex
	// once are answers by path and query, given in order; next are those to whatever is asked.
	once map[key][]Reply
	next []Reply
	// always are answers that are given any number of times.
	always   map[key]Reply
	used     map[key]bool
	requests []Request
}

type key struct{ path, query string }

// Request is one request that the double received.
type Request struct {
	Method, Path string
	Form         url.Values
	Header       http.Header
}

// Reply is one answer. Status 0 is 200.
type Reply struct {
	Status int
	Body   string
	Header map[string]string
	// Before answers in place of Status and Body.
	Before func(http.ResponseWriter, *http.Request)
	// Optional is for an answer that need not be asked for.
	Optional bool
}

// NewFake returns a double that answers with next, in order, whatever is asked.
func NewFake(t testing.TB, next ...Reply) *Fake {
	t.Helper()
	f := &Fake{t: t, next: next, once: map[key][]Reply{}, always: map[key]Reply{}, used: map[key]bool{}}
	t.Cleanup(f.checkUsed)
	return f
}

func (f *Fake) checkUsed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	unasked := func(left []Reply, at key) {
		if slices.ContainsFunc(left, func(r Reply) bool { return !r.Optional }) {
			f.t.Errorf("fake Prometheus: %d announced answers were never asked for: %s %s", len(left), at.path, at.query)
		}
	}
	unasked(f.next, key{})
	for at, left := range f.once {
		unasked(left, at)
	}
	for at, r := range f.always {
		if !f.used[at] {
			unasked([]Reply{r}, at)
		}
	}
}

// Once announces answers to an instant query, given in order, each once.
func (f *Fake) Once(query string, rs ...Reply) {
	at := key{InstantPath, query}
	f.once[at] = append(f.once[at], rs...)
}

// Always announces an answer to an instant query that is given any number of times.
func (f *Fake) Always(query string, r Reply) { f.always[key{InstantPath, query}] = r }

// AlwaysRange announces an answer to a range query that is given any number of times.
func (f *Fake) AlwaysRange(query string, r Reply) { f.always[key{RangePath, query}] = r }

// Requests returns the requests so far.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Count is how often a query was asked.
func (f *Fake) Count(query string) int {
	n := 0
	for _, r := range f.Requests() {
		if r.Form.Get("query") == query {
			n++
		}
	}
	return n
}

// Serve starts the double and returns its address.
func (f *Fake) Serve() string {
	f.t.Helper()
	srv := httptest.NewServer(f)
	f.t.Cleanup(srv.Close)
	return srv.URL
}

// ServeHTTP answers what was announced.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		f.t.Errorf("fake Prometheus: %v", err)
	}
	answer, ok := f.take(r)
	if !ok {
		f.t.Errorf("fake Prometheus: not announced: %s %s %s", r.Method, r.URL.Path, r.Form.Get("query"))
		w.WriteHeader(http.StatusTeapot)
		return
	}
	for k, v := range answer.Header {
		w.Header().Set(k, v)
	}
	if answer.Before != nil {
		answer.Before(w, r)
		return
	}
	if answer.Status != 0 {
		w.WriteHeader(answer.Status)
	}
	Write(w, answer.Body)
}

// take records a request and takes its answer. The last of the answers to whatever is asked stays when it is optional.
func (f *Fake) take(r *http.Request) (Reply, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests,
		Request{Method: r.Method, Path: r.URL.Path, Form: maps.Clone(r.Form), Header: r.Header.Clone()})
	at := key{r.URL.Path, r.Form.Get("query")}
	f.used[at] = true
	if left := f.once[at]; len(left) > 0 {
		f.once[at] = left[1:]
		return left[0], true
	}
	if answer, ok := f.always[at]; ok {
		return answer, true
	}
	if len(f.next) == 0 {
		return Reply{}, false
	}
	answer := f.next[0]
	if len(f.next) > 1 || !answer.Optional {
		f.next = f.next[1:]
	}
	return answer, true
}

// RoundTrip lets the double answer without a socket, for tests in a synctest bubble.
func (f *Fake) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	return resp, nil
}

// Write writes a body. A client that has hung up is what some tests are about.
func Write(w http.ResponseWriter, body string) { _, _ = io.WriteString(w, body) }

// Success is the body of an answer with a result of this kind, such as "vector".
func Success(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

// Vector answers with these series, each written as JSON.
func Vector(series ...string) Reply {
	return Reply{Body: Success("vector", "["+strings.Join(series, ",")+"]")}
}

// Value answers with one series without labels.
func Value(v string) Reply { return Vector(`{"metric":{},"value":[1,"` + v + `"]}`) }
