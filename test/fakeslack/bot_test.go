package fakeslack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

const room = "C0INCIDENTS"

// start returns a workspace and a real client for it.
func start(t *testing.T, o Options) (*Server, *slack.Client) {
	t.Helper()
	s := Start(t, o)
	return s, slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()))
}

// call sends one form-encoded call without any client's own checks.
func call(t *testing.T, s *Server, method string, args map[string]string) map[string]any {
	t.Helper()
	form := url.Values{"token": {s.Token()}}
	for k, v := range args {
		form.Set(k, v)
	}
	return send(t, s.APIURL()+method, "application/x-www-form-urlencoded", form.Encode())
}

func send(t *testing.T, target, contentType, body string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	out["http_status"] = resp.StatusCode
	return out
}

// postBlocks posts raw blocks and returns the timestamp.
func postBlocks(t *testing.T, s *Server, blocks string) string {
	t.Helper()
	out := call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "fallback", "blocks": blocks})
	ts, ok := out["ts"].(string)
	if !ok {
		t.Fatalf("posting %s: %v", blocks, out)
	}
	return ts
}

const oneButton = `[{"type":"actions","block_id":"plan-1","elements":[
	{"type":"button","action_id":"approve","value":"inc|step|digest","style":"primary",
		"text":{"type":"plain_text","text":"Scale 2 to 4"}}]}]`

// bot receives clicks, checks their signature with slack-go and keeps them.
type bot struct {
	mu       sync.Mutex
	raw      [][]byte
	header   []http.Header
	payloads []slack.InteractionCallback
	errs     []error
	// answer is what the bot answers; nil answers 200 with nothing.
	answer func(w http.ResponseWriter, in slack.InteractionCallback)
}

func startBot(t *testing.T, s *Server, answer func(http.ResponseWriter, slack.InteractionCallback)) *bot {
	t.Helper()
	b := &bot{answer: answer}
	server := httptest.NewServer(b.handler(s.SigningSecret()))
	t.Cleanup(server.Close)
	s.SetInteractivityURL(server.URL)
	return b
}

func (b *bot) handler(secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verify(r.Header, secret, body)
		}
		var in slack.InteractionCallback
		if err == nil {
			in, err = decode(body)
		}
		b.mu.Lock()
		b.raw, b.header, b.errs = append(b.raw, body), append(b.header, r.Header.Clone()), append(b.errs, err)
		b.payloads = append(b.payloads, in)
		b.mu.Unlock()
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case b.answer != nil:
			b.answer(w, in)
		}
	})
}

func verify(header http.Header, secret string, body []byte) error {
	v, err := slack.NewSecretsVerifier(header, secret)
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
}

func decode(body []byte) (slack.InteractionCallback, error) {
	var in slack.InteractionCallback
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return in, err
	}
	if len(form) != 1 {
		return in, errors.New("want exactly one form field")
	}
	return in, json.NewDecoder(bytes.NewBufferString(form.Get("payload"))).Decode(&in)
}

func (b *bot) last(t *testing.T) slack.InteractionCallback {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.payloads) == 0 {
		t.Fatal("the bot got nothing")
	}
	if err := b.errs[len(b.errs)-1]; err != nil {
		t.Fatalf("the bot refused: %v", err)
	}
	return b.payloads[len(b.payloads)-1]
}

func (b *bot) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.raw)
}

// soon is a context long enough for anything on loopback.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func wantSlackError(t *testing.T, err error, code string) {
	t.Helper()
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) || e.Err != code {
		t.Fatalf("error = %v, want Slack's %s", err, code)
	}
}
