package promtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Exporter is a scrape target whose text the test sets. It is safe for concurrent use.
type Exporter struct {
	srv  *httptest.Server
	mu   sync.Mutex
	text string
	down bool
}

// NewExporter starts an exporter that serves text, in Prometheus' text format, at /metrics. It stops with the test.
func NewExporter(t testing.TB, text string) *Exporter {
	t.Helper()
	e := &Exporter{text: text}
	e.srv = httptest.NewServer(e)
	t.Cleanup(e.srv.Close)
	return e
}

// Address is the exporter's host:port, which becomes the instance label.
func (e *Exporter) Address() string { return strings.TrimPrefix(e.srv.URL, "http://") }

// Set replaces the text from the next scrape on.
func (e *Exporter) Set(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text, e.down = text, false
}

// Fail lets scrapes fail until the next Set, so that Prometheus marks the series as stale.
func (e *Exporter) Fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = true
}

// ServeHTTP implements http.Handler.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	text, down := e.text, e.down
	e.mu.Unlock()
	switch {
	case r.URL.Path != "/metrics":
		http.NotFound(w, r)
	case down:
		http.Error(w, "the test lets this scrape fail", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		// A scrape that was given up is the scraper's business.
		_, _ = io.WriteString(w, text)
	}
}
