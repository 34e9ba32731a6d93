package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vllm-medic/vllm-medic/internal/access"
)

// quiet is a sparing log of nobody.
func quiet() *sparing { return newSparing(slog.New(slog.DiscardHandler), time.Now) }

// What a header says of an address is anybody's word, unless a proxy says it that the configuration names.
func TestOnlyNamedProxiesSayWhereARequestCameFrom(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::7/128")}
	for name, tt := range map[string]struct {
		proxies         []netip.Prefix
		from, says, who string
	}{
		"no proxy is named":                {nil, "10.0.0.1:5000", "192.0.2.1", "10.0.0.1"},
		"loopback is no proxy by itself":   {proxies, "127.0.0.1:5000", "192.0.2.1", "127.0.0.1"},
		"a private network is none either": {proxies, "192.168.0.1:5000", "192.0.2.1", "192.168.0.1"},
		"a named one":                      {proxies, "10.0.0.1:5000", "192.0.2.1", "192.0.2.1"},
		"a named one, IPv6":                {proxies, "[2001:db8::7]:5000", "192.0.2.1", "192.0.2.1"},
		"its neighbor":                     {proxies, "[2001:db8::8]:5000", "192.0.2.1", "2001:db8::8"},
		"what its client made up":          {proxies, "10.0.0.1:5000", "198.51.100.1, 192.0.2.1", "192.0.2.1"},
		"two of them":                      {proxies, "10.0.0.1:5000", "192.0.2.1, 10.0.0.2", "192.0.2.1"},
		"garbage":                          {proxies, "10.0.0.1:5000", "nowhere", "10.0.0.1"},
		"nothing":                          {proxies, "10.0.0.1:5000", "", "10.0.0.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if r.RemoteAddr = tt.from; tt.says != "" {
			r.Header.Set("X-Forwarded-For", tt.says)
		}
		if got := whoseAddress(tt.proxies)(r); got != tt.who {
			t.Errorf("%s: %s, want %s", name, got, tt.who)
		}
	}
}

// Anybody can be refused at any rate. All are counted; the log has one line a minute of each kind, and no credential.
func TestRefusalsAreCountedAndLoggedSparingly(t *testing.T) {
	t.Parallel()
	gate, err := access.New(nil, access.Settings{ViewerToken: func() string { return "viewer-secret" }})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	now := time.Now()
	d := newDoor(gate, newSparing(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now }))
	show := func(many int, token string, right access.Right) {
		for range many {
			_, err := d.Check(t.Context(), access.Shown{Token: token, From: "2001:db8::1"}, right)
			if (err == nil) != (token == "viewer-secret" && right == access.Read) {
				t.Fatalf("%q: %v", token, err)
			}
		}
	}
	show(3, "viewer-secret", access.Read)
	show(50, "garbage-of-somebody", access.Read)
	show(20, "viewer-secret", access.Pause)
	show(10, "", access.Read)
	now = now.Add(time.Minute)
	show(1, "garbage-of-somebody", access.Read)
	for answer, want := range map[string]float64{
		answerAllowed: 3, answerUnknown: 51, answerForbidden: 20, answerMissing: 10, answerBusy: 0,
	} {
		if got := testutil.ToFloat64(d.answers.WithLabelValues(answer)); got != want {
			t.Errorf("%s: %v, want %v", answer, got, want)
		}
	}
	out := log.String()
	if n := strings.Count(out, "\n"); n != 3 {
		t.Errorf("the log has %d lines:\n%s", n, out)
	}
	for want, there := range map[string]bool{
		"answer=unauthenticated": true, "answer=forbidden": true, "since_last_line=50": true, "address=2001:db8::/64": true,
		"garbage-of-somebody": false, "viewer-secret": false, "answer=missing": false,
	} {
		if strings.Contains(out, want) != there {
			t.Errorf("%q in the log: %v\n%s", want, !there, out)
		}
	}
}

func TestWhatACheckFound(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	some := access.Shown{Token: "t"}
	for want, tt := range map[string]struct {
		ctx   context.Context //nolint:containedctx // it is what is tested
		shown access.Shown
		err   error
	}{
		answerAllowed:   {t.Context(), some, nil},
		answerMissing:   {t.Context(), access.Shown{}, access.ErrUnauthenticated},
		answerMalformed: {t.Context(), some, fmt.Errorf("x: %w", access.ErrMalformed)},
		answerUnknown:   {t.Context(), some, access.ErrUnauthenticated},
		answerForbidden: {t.Context(), some, access.ErrForbidden},
		answerBusy:      {gone, some, access.ErrBusy},
		answerGone:      {gone, some, context.Canceled},
		answerUnchecked: {t.Context(), some, errors.New("the API server is away")},
	} {
		if got := answered(tt.ctx, tt.shown, tt.err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
