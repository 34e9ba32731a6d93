package app_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever may GET may HEAD, and nobody else: a route that takes only POST does nothing.
func TestHeadAnswersAsGetWithoutTheBody(t *testing.T) {
	t.Parallel()
	a := start(t)
	api, ops := "http://"+a.Addr("api"), "http://"+a.Addr("ops")
	for _, tc := range []struct {
		url, token string
		code       int
	}{
		{ops + "/healthz", "", 200},
		{ops + "/readyz", "", 200},
		{ops + "/metrics", "", 200},
		{ops + "/nope", "", 404},
		{api + "/", "view-secret", 200},
		{api + "/", "", 401},
		{api + "/api/v1/incidents", "view-secret", 200},
		{api + "/api/v1/incidents/inc-none", "view-secret", 404},
		{api + "/api/v1/pause", "view-secret", 405},
		{api + "/api/v1/alertmanager", "hook-secret-of-tests", 405},
	} {
		code, body, _ := answer(t, http.MethodHead, tc.url, tc.token, "")
		if code != tc.code || body != "" {
			t.Errorf("HEAD %s: %d, want %d, with the body %q", tc.url, code, tc.code, body)
		}
	}
}

// Nothing that the bot answers may be kept, be taken for another type, or tell the next site where its reader came
// from: pages, JSON, probes and errors.
func TestEveryAnswerForbidsToKeepAndToGuess(t *testing.T) {
	t.Parallel()
	a := start(t)
	api, ops := "http://"+a.Addr("api"), "http://"+a.Addr("ops")
	want := []string{"no-store", "no-referrer", "nosniff"}
	for _, tc := range []struct{ method, url, token string }{
		{"GET", ops + "/healthz", ""},
		{"GET", ops + "/readyz", ""},
		{"GET", ops + "/metrics", ""},
		{"GET", api + "/", "view-secret"},
		{"GET", api + "/", ""},
		{"GET", api + "/api/v1/incidents", "view-secret"},
		{"GET", api + "/api/v1/incidents/inc-none", "view-secret"},
		{"GET", api + "/nope", "view-secret"},
		{"POST", api + "/api/v1/alertmanager", ""},
		{"DELETE", api + "/api/v1/alertmanager", "hook-secret-of-tests"},
	} {
		code, _, h := answer(t, tc.method, tc.url, tc.token, "")
		if d := cmp.Diff(want,
			[]string{h.Get("Cache-Control"), h.Get("Referrer-Policy"), h.Get("X-Content-Type-Options")}); d != "" {
			t.Errorf("%s %s: %d (-want +got):\n%s", tc.method, tc.url, code, d)
		}
	}
}
