package answer

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

const (
	kib  = 1 << 10
	next = "ask for less"
)

func TestNoAnswerIsReadBeyondItsBound(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	write(t, w, strings.Repeat("x", 4<<20))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const limit = 64 * kib
	if bomb.Len() >= limit {
		t.Fatalf("the bomb has %d bytes, too many to test the decompressed ones", bomb.Len())
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		fits  bool
	}{
		"announced": {serve: func(w http.ResponseWriter, _ *http.Request) { write(t, w, strings.Repeat("x", limit+1)) }},
		"streamed": {serve: func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat("x", kib)) // whoever reads has hung up in between
				_ = http.NewResponseController(w).Flush()
			}
		}},
		"compressed": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			write(t, w, bomb.String())
		}},
		"an error": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			write(t, w, strings.Repeat("x", limit+1))
		}},
		"just as long": {serve: func(w http.ResponseWriter, _ *http.Request) {
			write(t, w, strings.Repeat("x", limit))
		}, fits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			through := &http.Transport{}
			t.Cleanup(through.CloseIdleConnections)
			for how, read := range map[string]func(*http.Response) ([]byte, error){
				"by Read":      func(r *http.Response) ([]byte, error) { return Read(r, limit, next) },
				"by transport": func(r *http.Response) ([]byte, error) { return io.ReadAll(r.Body) },
			} {
				client := &http.Client{Transport: through}
				if how == "by transport" {
					client.Transport = transport{through: through, limit: limit, next: next}
				}
				resp := get(t.Context(), t, client, server.URL)
				got, err := read(resp)
				_ = resp.Body.Close()
				if tt.fits {
					if err != nil || len(got) != limit {
						t.Errorf("%s: %d bytes, %v", how, len(got), err)
					}
					continue
				}
				tooLarge, ok := errors.AsType[*TooLargeError](err)
				if !ok || tooLarge.Limit != limit || !strings.HasSuffix(err.Error(), next) || len(got) > limit {
					t.Errorf("%s: %d bytes, %v", how, len(got), err)
				}
			}
		})
	}
}

func TestPagesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: OfKubernetes(endless{size: Limit / 4})}
	asked := 0
	err := Pages(t.Context(), func(ctx context.Context, from string) (string, error) {
		if want := strings.Repeat("x", asked); from != want {
			t.Errorf("page %d is asked from %q", asked, from)
		}
		asked++
		resp := get(ctx, t, client, "http://pages.example")
		defer func() { _ = resp.Body.Close() }()
		_, err := io.Copy(io.Discard, resp.Body)
		return strings.Repeat("x", asked), err
	})
	if _, ok := errors.AsType[*TooLargeError](err); !ok || asked != 5 {
		t.Errorf("after %d pages: %v", asked, err)
	}
	one := false
	once := func(context.Context, string) (string, error) { one = !one; return "", nil }
	if err := Pages(t.Context(), once); err != nil ||
		!one {
		t.Errorf("one page: asked %v, %v", one, err)
	}
}

func TestOnlyAFewLargeAnswersAreReadAtOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, largeSlots)
		open := func(ctx context.Context) *boundedBody {
			b := bounded(&http.Response{Body: io.NopCloser(endlessReader{})}, Limit, next)
			b.slots, b.gone, b.why = slots, ctx.Done(), func() error { return context.Cause(ctx) }
			return b
		}
		half := func(b *boundedBody) error {
			_, err := io.CopyN(io.Discard, b, 2*small)
			return err
		}
		var reading []*boundedBody
		for range largeSlots {
			b := open(t.Context())
			if err := half(b); err != nil {
				t.Fatal(err)
			}
			reading = append(reading, b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waiting, given := make(chan error, 1), make(chan error, 1)
		go func() { waiting <- half(open(t.Context())) }()
		go func() { given <- half(open(ctx)) }()
		synctest.Wait()
		select {
		case err := <-waiting:
			t.Fatalf("a fifth one is read as well: %v", err)
		default:
		}
		if _, err := io.CopyN(io.Discard, open(t.Context()), small); err != nil {
			t.Errorf("a small one has to wait: %v", err)
		}
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ends with %v, want the request's own end", err)
		}
		if err := reading[0].Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; err != nil {
			t.Errorf("a place that is free again: %v", err)
		}
	})
}

func get(ctx context.Context, t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil && !strings.Contains(err.Error(), "connection") &&
		!strings.Contains(err.Error(), "pipe") {
		t.Error(err)
	}
}

// endless answers with this many bytes, each time.
type endless struct{ size int64 }

func (e endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(endlessReader{}, e.size))}, nil
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }
