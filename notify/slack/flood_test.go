package slack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// held is a body that is all but complete, and ends when it is let go.
type held struct {
	from io.Reader
	hold <-chan struct{}
}

func (h held) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if errors.Is(err, io.EOF) {
		<-h.hold
		return n, errors.New("the connection broke")
	}
	return n, err
}

// Whoever reaches the door can send bodies without a signature. Together they take no more memory than there is room
// for; the others are turned away at once, and clicks are taken again when the flood is over.
func TestUnsignedBodiesShareRoom(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	const fit, flood = bodyRoom / maxBody, 3 * bodyRoom / maxBody
	hold, codes := make(chan struct{}), make(chan int, flood)
	large := strings.Repeat("x", maxBody-1)
	for range flood {
		go func() {
			r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, "/",
				held{strings.NewReader(large), hold})
			w := httptest.NewRecorder()
			f.bot.ServeHTTP(w, r)
			codes <- w.Code
		}()
	}
	for range flood - fit {
		select {
		case code := <-codes:
			if code != http.StatusServiceUnavailable {
				t.Errorf("answered with %d before the body was complete", code)
			}
		case <-time.After(process.Patience):
			t.Fatal("more bodies are read than there is room for")
		}
	}
	close(hold)
	click := "payload=" + url.QueryEscape(`{"type":"view_closed"}`)
	for range fit {
		<-codes
	}
	if got := send(t, f.bot, f.SigningSecret(), click).Code; got != http.StatusOK {
		t.Errorf("a click after the flood: %d", got)
	}
}

// Slack sends a click in one go. Who does not loses the connection, and gives the room back.
func TestABodyThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	bot := f.another(InteractionsConfig{BodyWithin: 50 * time.Millisecond})
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bot.ServeHTTP(w, r)
		close(done)
	}))
	t.Cleanup(server.Close)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, held{strings.NewReader("payload="), hold})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if resp, err := server.Client().Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("the body is waited for")
	}
}

// Anybody can send requests without a signature, and each would be a line.
func TestRequestsWithoutASignatureAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	bot := f.another(InteractionsConfig{})
	var log bytes.Buffer
	bot.logger = slog.New(slog.NewTextHandler(&log, nil))
	now := time.Now()
	bot.now = func() time.Time { return now }
	for minute := 1; minute <= 2; minute++ {
		for range 3 {
			if got := send(t, bot, "other", "payload={}").Code; got != http.StatusUnauthorized {
				t.Errorf("answered %d", got)
			}
		}
		if got := strings.Count(log.String(), "signed by Slack"); got != minute {
			t.Errorf("%d lines in %d minutes:\n%s", got, minute, log.String())
		}
		now = now.Add(time.Minute)
	}
}
