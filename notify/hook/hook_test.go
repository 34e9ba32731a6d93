package hook_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/hook"
)

const secret = "s3cr3t-path"

func TestAnswersAreSorted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		header http.Header
		check  func(error) bool
	}{
		"taken":             {202, nil, func(err error) bool { return err == nil }},
		"no content":        {204, nil, func(err error) bool { return err == nil }},
		"too many":          {429, http.Header{"Retry-After": {"7"}}, limited(7 * time.Second)},
		"too many, no time": {429, nil, limited(30 * time.Second)},
		"too many, for days": {
			429, http.Header{"Retry-After": {"999999"}}, limited(10 * time.Minute),
		},
		"busy, with a time":    {503, http.Header{"Retry-After": {"3"}}, limited(3 * time.Second)},
		"busy":                 {503, nil, passes},
		"broken":               {500, nil, passes},
		"too slow":             {408, nil, passes},
		"refused":              {401, nil, permanent},
		"gone":                 {410, nil, permanent},
		"too large":            {413, nil, content},
		"malformed":            {400, nil, content},
		"another type":         {415, nil, content},
		"unprocessable":        {422, nil, content},
		"forbidden":            {403, nil, permanent},
		"not found":            {404, nil, permanent},
		"method not allowed":   {405, nil, permanent},
		"elsewhere":            {302, http.Header{"Location": {"/elsewhere"}}, permanent},
		"elsewhere, as it was": {307, http.Header{"Location": {"/elsewhere"}}, permanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
				if err != nil {
					t.Error(err)
				}
				maps.Copy(w.Header(), tt.header)
				w.WriteHeader(tt.status)
			}))
			defer srv.Close()
			// Of its own: a server that closes takes the idle connections of the default one with it.
			h, err := hook.New(always(srv.URL+"/"+secret), srv.Client().Transport)
			if err != nil {
				t.Fatal(err)
			}
			err = h.Post(t.Context(), http.Header{"Content-Type": {"application/json"}}, []byte(`{}`))
			if !tt.check(err) {
				t.Errorf("got %v (%T)", err, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the address shows: %v", err)
			}
			if len(asked) != 1 || asked[0] != "POST /"+secret+" application/json {}" {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// What a receiver says about the time is about its address: the next event, also one of another incident, waits for it.
func TestAReceiverIsNotAskedBeforeItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, status := 0, http.StatusTooManyRequests
		h, err := hook.New(always("https://receiver.example.com/"+secret), transport(func(r *http.Request) *http.Response {
			asked++
			return &http.Response{
				StatusCode: status, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody, Request: r,
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		post := func() error { return h.Post(t.Context(), nil, []byte(`{}`)) }
		if err := post(); !limited(7*time.Second)(err) || asked != 1 {
			t.Fatalf("asked %d times: %v", asked, err)
		}
		time.Sleep(4 * time.Second)
		if err := post(); !limited(3*time.Second)(err) || asked != 1 {
			t.Errorf("before its time, asked %d times: %v", asked, err)
		}
		time.Sleep(3 * time.Second)
		status = http.StatusOK
		for range 2 {
			if err := post(); err != nil {
				t.Errorf("after its time: %v", err)
			}
		}
		if asked != 3 {
			t.Errorf("asked %d times", asked)
		}
	})
}

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func passes(err error) bool {
	return err != nil && !permanent(err) && !content(err) && !errors.As(err, new(*notify.RateLimitedError))
}

// permanent is a refusal by the receiver, whatever is posted; content is one of what was posted.
func permanent(err error) bool {
	p, ok := errors.AsType[*notify.PermanentError](err)
	return ok && !p.Content && p.Next != ""
}

func content(err error) bool {
	p, ok := errors.AsType[*notify.PermanentError](err)
	return ok && p.Content && p.Next != ""
}

func limited(want time.Duration) func(error) bool {
	return func(err error) bool {
		var l *notify.RateLimitedError
		return errors.As(err, &l) && l.After == want
	}
}

// An address that is down, slow or no address shows nothing of itself.
func TestWhatCannotBeReachedMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	h, err := hook.New(always("http://127.0.0.1:1/"+secret), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Post(t.Context(), nil, nil); !passes(err) || strings.Contains(err.Error(), secret) {
		t.Errorf("nobody there: %v", err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	if h, err = hook.New(always(srv.URL+"/"+secret), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Post(ctx, nil, nil); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), secret) {
		t.Errorf("no answer: %v", err)
	}
	for _, bad := range []string{"", secret, "ftp://host/" + secret, "https:///" + secret, "https://%zz/" + secret} {
		if _, err := hook.New(always(bad), nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func always(address string) func() string { return func() string { return address } }
