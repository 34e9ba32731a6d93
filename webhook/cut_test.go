package webhook

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// until reads so much of a body and says that the rest is not read.
func until(body []byte, bytesRead int) io.Reader {
	return &limited{from: bytes.NewReader(body), left: int64(bytesRead)}
}

// Wherever a payload is cut off, its whole alerts are taken, and none that is not whole.
func TestTheWholeAlertsOfACutPayloadAreTaken(t *testing.T) {
	t.Parallel()
	body := groupOf(5, 3)
	ends := 0
	for at := range len(body) {
		if at > 0 && strings.HasSuffix(string(body[:at]), `"}`) && strings.Contains(string(body[at-24:at]), "fingerprint") ||
			at > 20 && strings.HasSuffix(string(body[:at]), fmt.Sprintf("%016x\"}", ends)) {
			ends++
		}
		d, err := DecodeFrom(until(body, at), now)
		switch {
		case ends == 0 && err == nil:
			t.Fatalf("cut at %d before an alert ended: %+v", at, d)
		case ends == 0:
		case err != nil || len(d.Alerts) != ends || !d.Cut || d.GroupKey != "" || d.Sender != "" || d.Source() != "":
			t.Fatalf("cut at %d, after %d alerts: %d alerts, cut %t, %v", at, ends, len(d.Alerts), d.Cut, err)
		}
	}
	if d, err := DecodeFrom(until(body, len(body)), now); err != nil || d.Cut || d.GroupKey != "g" || len(d.Alerts) != 5 {
		t.Errorf("one that fits exactly: %+v, %v", d, err)
	}
	if d, err := DecodeFrom(until(append(body, "   "...), len(body)), now); err != nil || d.Cut || len(d.Alerts) != 5 {
		t.Errorf("one before the end of what is read: %+v, %v", d, err)
	}
	if _, err := DecodeFrom(until([]byte(`{"version":"3",`+string(body[1:])), 300), now); err == nil {
		t.Error("another version was taken")
	}
}

// Alertmanager gives up on 413: what is whole within the bound is taken, told as truncated, and the sender comes to
// read that.
func TestABodyBeyondTheBoundIsReadUpToIt(t *testing.T) {
	t.Parallel()
	large := groupOf(15_000, 900)
	if len(large) < BodyLimit+1<<20 {
		t.Fatalf("it has only %d bytes", len(large))
	}
	for name, edit := range map[string]func(*http.Request){
		"with its length": nil, "chunked": func(r *http.Request) { r.ContentLength = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, log := &inbox{}, &bytes.Buffer{}
			h, err := New(credential.Credential{}, in, slog.New(slog.NewTextHandler(log, nil)),
				func() time.Time { return now }, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			e := echo.New()
			e.POST(Path, h.Handle)
			rest := bytes.NewReader(large)
			w := post(e, large, func(r *http.Request) {
				r.Body = io.NopCloser(rest)
				if edit != nil {
					edit(r)
				}
			})
			if w.Code != http.StatusOK || len(in.seen) != 1 {
				t.Fatalf("answered %d and stored %d: %s", w.Code, len(in.seen), w.Body)
			}
			d := in.seen[0]
			if whole := BodyLimit * 15_000 / len(large); !d.Cut || len(d.Alerts) < whole-10 || len(d.Alerts) > whole+10 {
				t.Errorf("%d alerts were taken, about %d end within the bound; cut: %t", len(d.Alerts), whole, d.Cut)
			}
			if rest.Len() != 0 {
				t.Errorf("%d bytes were left unread", rest.Len())
			}
			if testutil.ToFloat64(h.cut) != 1 || !strings.Contains(log.String(), "larger than is read") {
				t.Errorf("it is counted %v times; the log: %s", testutil.ToFloat64(h.cut), log)
			}
		})
	}
}

// A body in which not even one alert ends is nothing that could be taken.
func TestABodyWithoutAWholeAlertIsTooLarge(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	h := serve(t, credential.Credential{}, in, io.Discard)
	body := `{"version":"4","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"` +
		strings.Repeat("x", BodyLimit) + `"}}]}`
	if w := post(h, []byte(body), nil); w.Code != http.StatusRequestEntityTooLarge || len(in.seen) != 0 {
		t.Errorf("answered %d and stored %d", w.Code, len(in.seen))
	}
}
