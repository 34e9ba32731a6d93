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

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// timed is a payload with one alert of these times, relative to now.
func timed(t *testing.T, status string, starts, ends time.Duration) []byte {
	t.Helper()
	return body(t, func(p map[string]any) {
		a := firstAlert(p)
		a["status"] = status
		a["startsAt"] = now.Add(starts).Format(time.RFC3339Nano)
		a["endsAt"] = now.Add(ends).Format(time.RFC3339Nano)
	})
}

// What cannot have happened yet is taken for what happened just now; what is past, or ahead by as much as clocks may
// be apart, stays.
func TestTimesAfterTheReceiptAreTakenForIt(t *testing.T) {
	t.Parallel()
	const year, room = 365 * 24 * time.Hour, incident.ClockTolerance
	for _, tt := range []struct {
		name, status string
		starts, ends time.Duration
		// wantEnd counts for those that have resolved only
		wantStart, wantEnd time.Duration
		ahead              time.Duration
	}{
		{"fires", "firing", -time.Hour, 0, -time.Hour, 0, 0},
		{"fired a year ago", "firing", -year, 0, -year, 0, 0},
		{"fires in a moment", "firing", room, 0, room, 0, 0},
		{"fires in the future", "firing", room + 1, 0, 0, 0, room + 1},
		{"fires in a year", "firing", year, 0, 0, 0, year},
		{"fires, and an end says nothing of that", "firing", -time.Hour, year, -time.Hour, 0, 0},
		{"ended", "resolved", -time.Hour, -time.Minute, -time.Hour, -time.Minute, 0},
		{"ended in a moment", "resolved", -time.Hour, room, -time.Hour, room, 0},
		{"ends in a year", "resolved", -time.Hour, year, -time.Hour, 0, year},
		{"begins and ends in the future", "resolved", time.Hour, year, 0, 0, year},
		{"begins after its end", "resolved", time.Hour, -time.Minute, 0, -time.Minute, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, told, err := decodeFrom(bytes.NewReader(timed(t, tt.status, tt.starts, tt.ends)), now)
			if err != nil {
				t.Fatal(err)
			}
			a := d.Alerts[0]
			if !a.StartsAt.Equal(now.Add(tt.wantStart)) {
				t.Errorf("starts %s after the receipt, want %s", a.StartsAt.Sub(now), tt.wantStart)
			}
			if !a.Firing && !a.EndsAt.Equal(now.Add(tt.wantEnd)) {
				t.Errorf("ends %s after the receipt, want %s", a.EndsAt.Sub(now), tt.wantEnd)
			}
			if a.Firing && !a.EndsAt.IsZero() {
				t.Errorf("it fires, and ends %s", a.EndsAt)
			}
			if told.by != tt.ahead || told.alerts != min(1, int(tt.ahead)) {
				t.Errorf("%d alerts are ahead by %s, want %s", told.alerts, told.by, tt.ahead)
			}
		})
	}
}

// A decoder is used again, and remembers nothing of the sender before.
func TestOnlyItsOwnTimesAreToldOfAPayload(t *testing.T) {
	t.Parallel()
	for range 20 {
		ahead := bytes.NewReader(timed(t, "firing", time.Hour, 0))
		if _, told, err := decodeFrom(ahead, now); err != nil || told.alerts != 1 {
			t.Fatalf("%+v, %v", told, err)
		}
		if _, told, err := decodeFrom(bytes.NewReader(timed(t, "firing", -time.Hour, 0)), now); err != nil ||
			told.alerts != 0 {
			t.Fatalf("%+v, %v", told, err)
		}
	}
}

// A sender whose clock is ahead is told of once, with all of its alerts counted; others are told of too.
func TestASenderWhoseClockIsAheadIsToldOfOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	reg := serving(t, &log)
	for n := range 5 {
		payload := timed(t, "resolved", -time.Hour, time.Hour)
		if n == 2 {
			payload = timed(t, "firing", -time.Hour, 0)
		}
		if w := post(reg.handler, payload, nil); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	told := func() int { return strings.Count(log.String(), "after they were received") }
	if n := told(); n != 1 {
		t.Errorf("told %d times of one sender:\n%s", n, log.String())
	}
	if w := post(reg.handler, timed(t, "firing", time.Hour, 0), func(r *http.Request) {
		r.RemoteAddr = "198.51.100.7:1"
	}); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	if n := told(); n != 2 || !strings.Contains(log.String(), "198.51.100.7") {
		t.Errorf("told %d times of two senders:\n%s", n, log.String())
	}
	if n := testutil.ToFloat64(reg.early.count); n != 5 {
		t.Errorf("counted %v alerts, want 5", n)
	}
}

// Who the senders are is what requests say: any number of them takes bounded memory. One of them is told of again after
// a day.
func TestSendersThatAreAheadTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	e := newEarly(slog.New(slog.DiscardHandler))
	if !e.first("a", now) || e.first("a", now.Add(aheadAgain-1)) || !e.first("a", now.Add(aheadAgain)) {
		t.Error("not told of once a day")
	}
	for n := range 10 * aheadKept {
		e.first(fmt.Sprint(n), now.Add(time.Duration(n)*time.Second))
	}
	if len(e.said) > aheadKept {
		t.Errorf("%d senders are kept", len(e.said))
	}
	if e.first(fmt.Sprint(10*aheadKept-1), now.Add(time.Hour)) {
		t.Error("the last one is forgotten")
	}
}

type server struct {
	handler http.Handler
	early   *early
}

// serving is a handler on an inbox that takes everything.
func serving(t *testing.T, log io.Writer) server {
	t.Helper()
	h := newHandler(t, credential.Credential{}, &inbox{}, log)
	return server{handler: routed(h), early: h.early}
}
