package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

type inbox struct {
	err  error
	seen []incident.Delivery
}

func (i *inbox) AddDelivery(_ context.Context, d incident.Delivery) (int64, error) {
	if i.err != nil {
		return 0, i.err
	}
	i.seen = append(i.seen, d)
	return int64(len(i.seen)), nil
}

func serve(t *testing.T, auth credential.Credential, in *inbox, log io.Writer) http.Handler {
	t.Helper()
	return routed(newHandler(t, auth, in, log))
}

func newHandler(t *testing.T, auth credential.Credential, in *inbox, log io.Writer) *Handler {
	t.Helper()
	h, err := New(auth, in, slog.New(slog.NewTextHandler(log, nil)), func() time.Time { return now },
		prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func routed(h *Handler) http.Handler {
	e := echo.New()
	e.POST(Path, h.Handle)
	return e
}

func post(h http.Handler, payload []byte, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, Path, bytes.NewReader(payload))
	r.Header.Set("Content-Type", "application/json")
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const secret = "s3cr3t-value-of-tests"

func TestHandleAnswers(t *testing.T) {
	t.Parallel()
	bearer := credential.Credential{BearerToken: secret}
	basic := credential.Credential{User: "am", Password: secret}
	token := func(v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set("Authorization", v) } }
	login := func(u, p string) func(*http.Request) { return func(r *http.Request) { r.SetBasicAuth(u, p) } }
	for _, tc := range []struct {
		name   string
		auth   credential.Credential
		body   func(map[string]any)
		raw    string
		edit   func(*http.Request)
		fail   error
		code   int
		stored int
	}{
		{name: "stored", code: 200, stored: 1},
		{name: "right token", auth: bearer, edit: token("Bearer " + secret), code: 200, stored: 1},
		{name: "right token, other case of the scheme", auth: bearer, edit: token("bearer " + secret), code: 200, stored: 1},
		{name: "wrong token", auth: bearer, edit: token("Bearer nope"), code: 401},
		{name: "prefix of the token", auth: bearer, edit: token("Bearer " + secret[:5]), code: 401},
		{name: "no token", auth: bearer, code: 401},
		{name: "token without scheme", auth: bearer, edit: token(secret), code: 401},
		{name: "basic where bearer is wanted", auth: bearer, edit: login("am", secret), code: 401},
		{name: "right password", auth: basic, edit: login("am", secret), code: 200, stored: 1},
		{name: "wrong password", auth: basic, edit: login("am", "x"), code: 401},
		{name: "wrong user", auth: basic, edit: login("x", secret), code: 401},
		{name: "store down", fail: errors.New("disk full"), code: 503},
		{name: "bad body", raw: "{", code: 400},
		{name: "too large", raw: strings.Repeat(" ", BodyLimit+1), code: 413},
		{
			name: "form", edit: func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
			code: 415,
		},
		{
			name: "charset", edit: func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
			code: 200, stored: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := &inbox{err: tc.fail}
			var log bytes.Buffer
			raw := []byte(tc.raw)
			if tc.raw == "" {
				raw = body(t, tc.body)
			}
			w := post(serve(t, tc.auth, in, &log), raw, tc.edit)
			if w.Code != tc.code || len(in.seen) != tc.stored {
				t.Errorf("answered %d and stored %d, want %d and %d: %s", w.Code, len(in.seen), tc.code, tc.stored, w.Body)
			}
			if w.Code == http.StatusTooManyRequests {
				t.Error("429 loses alerts: Alertmanager does not retry it")
			}
			if out := log.String() + w.Body.String(); strings.Contains(out, secret) ||
				strings.Contains(out, "disk full") && w.Code == 200 {
				t.Errorf("a secret shows: %s", out)
			}
			if strings.Contains(w.Body.String(), "disk full") {
				t.Error("an internal error shows in the answer")
			}
		})
	}
}

func TestHandleSaysARepeatedMistakeOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := serve(t, credential.Credential{}, &inbox{}, &log)
	for range 5 {
		post(h, []byte("{"), nil)
	}
	if n := strings.Count(log.String(), "delivery refused"); n != 1 {
		t.Errorf("logged %d times, want 1", n)
	}
}

func TestNewRefusesHalfAConfiguration(t *testing.T) {
	t.Parallel()
	for _, a := range []credential.Credential{
		{BearerToken: secret, User: "y", Password: secret},
		{User: "y"},
		{Password: secret},
		{BearerToken: "short"},
		{User: "y", Password: secret[:credential.MinLength-1]},
	} {
		if _, err := New(a, &inbox{}, slog.New(slog.DiscardHandler), time.Now, prometheus.NewRegistry()); err == nil {
			t.Errorf("%v was accepted", a)
		}
	}
	if _, err := New(credential.Credential{}, nil, slog.New(slog.DiscardHandler), time.Now,
		prometheus.NewRegistry()); err == nil {
		t.Error("a missing inbox was accepted")
	}
}

func BenchmarkDecode(b *testing.B) {
	raw := body(b, nil)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := Decode(raw, now); err != nil {
			b.Fatal(err)
		}
	}
}
