package app

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// Who watches the bot learns which receiver did not get what, why, and what to do: from the log, and from a metric that
// is there, as 0, before anything is refused.
func TestWhatAReceiverRefusesForGoodIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	const path = "s3cr3t-path"
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Webhook-Id")
		got = append(got, id)
		if strings.HasSuffix(id, "-e1") {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(srv.Close)
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	s := storetest.Open(t, storetest.SQLite(t), func(o *store.Options) {
		o.Sinks, o.Clock = []string{"siem"}, func() time.Time { return now }
	})
	var log bytes.Buffer
	a := &App{store: s, opts: Options{
		Config: config.Config{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Transport: func(string, http.RoundTripper) http.RoundTripper { return srv.Client().Transport },
	}}
	siem, err := a.newSink(config.Sink{
		Name: "siem", Kind: config.SinkCloudEvents, URL: config.Fixed(srv.URL + "/" + path),
		Key: config.Fixed("0123456789abcdef0123456789abcdef"),
	})
	if err := cmp.Or(err, a.deliverTo("siem", "me", s, siem)); err != nil {
		t.Fatal(err)
	}
	inc := incident.New("inc-a", "llama", incident.ModeApprove, false, now)
	if err := s.Commit(t.Context(), incident.Change{Incident: inc, Render: true, Entries: []incident.Entry{
		{At: now, Kind: incident.KindDecided, Text: "One.", Thread: true},
		{At: now, Kind: incident.KindDecided, Text: "Two.", Thread: true},
	}}); err != nil {
		t.Fatal(err)
	}
	const metric = "vllm_medic_notify_left_out_total{siem}"
	for _, want := range []float64{0, 1} {
		if _, err := a.dispatchers[0].Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, there := scrape(t, notifications(a.dispatchers))[metric]; !there || n != want {
			t.Errorf("%s is %v, want %v", metric, n, want)
		}
		now = now.Add(5 * time.Minute)
	}
	if all := strings.Join(got, " "); all != "inc-a-v1 inc-a-e1 inc-a-e1 inc-a-e2" {
		t.Errorf("the receiver got %s", all)
	}
	line := ""
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, "level=ERROR") {
			line += l
		}
	}
	for _, part := range []string{
		"sink=siem", "incident=inc-a", "journal entry 1: the receiver answers 422",
		`reason="Check what the receiver logs. It isn't sent again; the incident's page has it."`,
	} {
		if strings.Count(line, part) != 1 {
			t.Errorf("%q is not there once in: %s", part, line)
		}
	}
	if strings.Contains(log.String(), path) {
		t.Errorf("the address is in the log: %s", log.String())
	}
}
