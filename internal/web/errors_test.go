package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// asks sends what a browser, or a program, sends.
func (s *site) asks(method, path, token, accept string) *httptest.ResponseRecorder {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader("{}"))
	req.Header.Set("Accept", accept)
	if token != "" {
		req.SetBasicAuth("anybody", token)
	}
	return s.send(req)
}

func TestABrowserGetsAPageInPlaceOfAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		path, token string
		expect      func()
		code        int
		heading     string
	}{
		{"/", "", func() {}, http.StatusUnauthorized, "Sign in"},
		{"/status", "wrong-token", func() {}, http.StatusUnauthorized, "Sign in"},
		{"/", "nobody-can-tell", func() {}, http.StatusServiceUnavailable, "Unavailable"},
		{"/nope", "", func() {}, http.StatusNotFound, "Not found"},
		{"/pools/nobody", "viewer-token", func() {}, http.StatusNotFound, "Not found"},
		{"/?state=x", "viewer-token", func() {}, http.StatusBadRequest, "Invalid address"},
		{
			"/incidents/inc-9", "viewer-token", func() { s.expect("show", "inc-9", nil, incident.ErrNotFound) }, 404,
			"Not found",
		},
		{"/", "viewer-token", func() { s.expect("pauses", nil, nil, errors.New("disk full")) }, 503, "Unavailable"},
	} {
		c.expect()
		rec := s.asks(get, c.path, c.token, browser)
		page := rec.Body.String()
		if rec.Code != c.code || !strings.Contains(page, "<h1>"+c.heading+"</h1>") ||
			!strings.Contains(page, "<title>"+c.heading+" · vllm-medic</title>") {
			t.Errorf("%s: %d %.200s", c.path, rec.Code, page)
			continue
		}
		if c.code == http.StatusUnauthorized && rec.Header().Get("WWW-Authenticate") == "" {
			t.Error("the browser does not ask for a password")
		}
		// A narrow screen ends no line within a word of the command.
		if command := `<span class="whole">--audience</span>`; strings.Contains(page, command) !=
			(c.code == http.StatusUnauthorized) {
			t.Errorf("%s: %d %s", c.path, rec.Code, page)
		}
		mustBeStrict(t, c.path, rec.Header(), page)
		voice.Check(t, c.path, voice.Page(page))
		for _, secret := range []string{"wrong-token", "nobody-can-tell", "disk full"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s shows %q", c.path, secret)
			}
		}
	}
}

// Whoever calls the API reads JSON, also where it accepts everything.
func TestAProgramGetsJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ method, path, accept string }{
		{get, "/", ""},
		{get, "/", "*/*"},
		{get, "/", "application/json"},
		{get, "/api/v1/incidents", browser},
		{http.MethodPost, "/api/v1/pause", browser},
	} {
		s.refused(s.asks(c.method, c.path, "wrong-token", c.accept), http.StatusUnauthorized)
	}
}
