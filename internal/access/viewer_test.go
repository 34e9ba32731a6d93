package access_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
)

func TestTheViewerTokenReadsAndNothingElse(t *testing.T) {
	t.Parallel()
	g := gate(t, nil, "viewer-secret")
	who, err := g.Check(t.Context(), access.Shown{Token: "viewer-secret"}, access.Read)
	if err != nil || who.Kind != "viewer" {
		t.Errorf("%s, %v", who, err)
	}
	refused(t, g, "viewer-secret", access.Decide, access.ErrForbidden)
	refused(t, g, "viewer-secret", access.Pause, access.ErrForbidden)
	for _, token := range []string{"", "viewer-secre", "viewer-secrett", "VIEWER-SECRET"} {
		refused(t, g, token, access.Read, access.ErrUnauthenticated)
	}
}

func TestWithoutAnyConfigurationNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	g := gate(t, nil, "")
	for _, token := range []string{"", "some-token"} {
		for _, right := range []access.Right{access.Read, access.Decide, access.Pause} {
			refused(t, g, token, right, access.ErrUnauthenticated)
		}
	}
}

func TestAGateNeedsAnAudience(t *testing.T) {
	t.Parallel()
	if _, err := access.New(&rest.Config{Host: "https://127.0.0.1:1"}, access.Settings{}); err == nil {
		t.Error("without an audience every token of the cluster would open it")
	}
}

// answering is an API server that gives one fixed answer to every review.
func answering(t *testing.T, status int, body string) *rest.Config {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := fmt.Fprint(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}
}

func review(status string) string {
	return `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":` + status + `}`
}

// Answers that a real API server gives only when something is wrong with it.
func TestOddAnswersAreNeverAYes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		want       error
	}{
		{
			"no audience in the answer", review(`{"authenticated":true,"user":{"username":"sre"}}`), 201,
			access.ErrUnauthenticated,
		},
		{
			"another audience", review(`{"authenticated":true,"user":{"username":"sre"},"audiences":["grafana"]}`), 201,
			access.ErrUnauthenticated,
		},
		{"no name", review(`{"authenticated":true,"user":{},"audiences":["vllm-medic"]}`), 201, access.ErrUnauthenticated},
		{"an error beside", review(`{"error":"the webhook timed out"}`), 201, access.ErrUnauthenticated},
		{"no status", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview"}`, 201, access.ErrUnauthenticated},
		{
			"allowed and denied",
			review(`{"authenticated":true,"user":{"username":"sre"},"audiences":["vllm-medic"],"allowed":true,"denied":true}`),
			201, access.ErrForbidden,
		},
		{"a server error", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`, 500, errUnanswered},
		{"no JSON", `<html>`, 200, errUnanswered},
		{"nothing", ``, 200, errUnanswered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, gate(t, answering(t, tt.status, tt.body), ""), jwt("somebody"), access.Read, tt.want)
		})
	}
}

// An API server that takes the connection and never answers ends with the caller's deadline, and is no yes.
func TestAnAPIServerThatHangsIsNeverAYes(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	g := gate(t, &rest.Config{Host: "http://" + l.Addr().String()}, "")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = g.Check(ctx, access.Shown{Token: jwt("somebody")}, access.Read)
	if err == nil || errors.Is(err, access.ErrForbidden) || errors.Is(err, access.ErrUnauthenticated) ||
		strings.Contains(err.Error(), jwt("somebody")) {
		t.Errorf("got %v", err)
	}
}
