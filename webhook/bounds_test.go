package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// groupOf is a body with that many valid alerts whose text is that long.
func groupOf(alerts, text int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"receiver":"r","status":"firing","alerts":[`)
	for n := range alerts {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"status":"firing","labels":{"alertname":"A","instance":"%d"},"annotations":{"text":"%s"},`+
				`"startsAt":"2026-11-21T02:55:00Z","fingerprint":"%016x"}`,
			n, strings.Repeat("x", text), n)
	}
	b.WriteString(`],"version":"4","groupKey":"g"}`)
	return b.Bytes()
}

// hostile is ten megabytes of alerts without anything in them.
func hostile() []byte {
	const head, tail = `{"version":"4","status":"firing","alerts":[`, `{}]}`
	return []byte(head + strings.Repeat("{},", (BodyLimit-len(head)-len(tail))/3) + tail)
}

// A body says much less than what a program makes of it. Not parallel: it counts what is allocated.
func TestABodyOfEmptyAlertsTakesNoMemory(t *testing.T) { //nolint:paralleltest // it counts
	for want, raw := range map[string][]byte{
		"$.alerts[0].fingerprint": hostile(),
		"$.alerts[1].fingerprint": []byte(`{"version":"4","status":"firing","alerts":[` +
			strings.Repeat("{},", 40_000) + `{}]}`),
	} {
		allocated(t, want, raw)
	}
}

func allocated(t *testing.T, want string, raw []byte) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := DecodeFrom(bytes.NewReader(raw), now)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > maxErrors+10 {
		t.Errorf("the error: %.300v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d KiB were allocated for %d KiB of nothing", took>>10, len(raw)>>10)
	}
}

func TestBoundsOfAPayload(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		body   []byte
		alerts int
		cut    bool
	}{
		{"ten thousand alerts with long texts", groupOf(10_000, 800), 10_000, false},
		{"as many alerts as are read", groupOf(maxAlerts, 0), maxAlerts, false},
		{"one more", groupOf(maxAlerts+1, 0), maxAlerts, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if len(tc.body) > BodyLimit {
				t.Fatalf("the body has %d bytes", len(tc.body))
			}
			d, err := Decode(tc.body, now)
			if err != nil || len(d.Alerts) != tc.alerts || d.Cut != tc.cut || d.GroupKey != "g" {
				t.Errorf("%d alerts of group %q, cut: %t; %v", len(d.Alerts), d.GroupKey, d.Cut, err)
			}
		})
	}
	if _, err := Decode([]byte(`{"x":`+strings.Repeat("[", 100_000)+`}`), now); err == nil ||
		!strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a deep value that nobody asked for: %.200v", err)
	}
}

// held is an inbox that is full until it is opened.
type held struct {
	open    chan struct{}
	arrived chan int
}

func (h *held) AddDelivery(ctx context.Context, d incident.Delivery) (int64, error) {
	h.arrived <- len(d.Alerts)
	select {
	case <-h.open:
		return 1, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// A few large bodies are read and stored at a time, the next ones wait unread and then are to be sent again; small ones
// are not held up by them.
func TestLargeBodiesShareRoom(t *testing.T) {
	t.Parallel()
	large, small := groupOf(9_000, 900), groupOf(5, 100)
	synctest.Test(t, func(t *testing.T) {
		in := &held{open: make(chan struct{}), arrived: make(chan int, 100)}
		h := handler(t, in)
		send := func(body []byte, edit func(*http.Request)) <-chan int {
			code := make(chan int, 1)
			go func() { code <- post(h, body, edit).Code }()
			return code
		}
		chunked := func(r *http.Request) { r.ContentLength = -1 }
		first, second := send(large, nil), send(large, chunked)
		synctest.Wait()
		if len(in.arrived) != 2 {
			t.Fatalf("%d of two large bodies are being stored", len(in.arrived))
		}
		third, fourth := send(large, nil), send(large, chunked)
		tiny, tinyChunked := send(small, nil), send(small, chunked)
		synctest.Wait()
		if len(in.arrived) != 4 {
			t.Errorf("%d bodies are being stored, want two large and two small ones", len(in.arrived))
		}
		time.Sleep(roomWait + time.Second)
		for _, code := range []<-chan int{third, fourth} {
			if got := <-code; got != http.StatusServiceUnavailable {
				t.Errorf("beyond the room: %d", got)
			}
		}
		close(in.open)
		for _, code := range []<-chan int{first, second, tiny, tinyChunked, send(large, nil), send(large, chunked)} {
			if got := <-code; got != http.StatusOK {
				t.Errorf("answered %d", got)
			}
		}
	})
}

func handler(t *testing.T, in Inbox) http.Handler {
	t.Helper()
	h, err := New(credential.Credential{}, in, slog.New(slog.DiscardHandler), time.Now, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.POST(Path, h.Handle)
	return e
}

// A connection that breaks in the middle of a body is not the sender's fault.
func TestABodyThatBreaksOffIsSentAgain(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	h := serve(t, credential.Credential{}, in, io.Discard)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path,
		io.MultiReader(strings.NewReader(`{"version":"4"`), broken{}))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || len(in.seen) != 0 {
		t.Errorf("answered %d and stored %d", w.Code, len(in.seen))
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Two Alertmanagers that share a configuration are told apart by their addresses, also behind a proxy.
func TestTheSenderOfADelivery(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	h := serve(t, credential.Credential{}, in, io.Discard)
	for _, from := range [][2]string{
		{"10.0.0.1:5000", ""},
		{"10.0.0.1:6000", ""},
		{"10.0.0.2:5000", ""},
		{"10.0.0.9:5000", "10.0.0.1"},
		{"10.0.0.9:5000", "10.0.0.2"},
	} {
		post(h, groupOf(1, 1), func(r *http.Request) {
			r.RemoteAddr = from[0]
			if from[1] != "" {
				r.Header.Set("X-Forwarded-For", from[1])
			}
		})
	}
	seen := map[string]int{}
	for _, d := range in.seen {
		if d.Sender == "" || strings.Contains(d.Sender, "10.0.0") {
			t.Errorf("sender %q", d.Sender)
		}
		seen[d.Sender]++
	}
	if len(seen) != 4 || in.seen[0].Sender != in.seen[1].Sender {
		t.Errorf("senders %v, want four, the first twice", seen)
	}
}
