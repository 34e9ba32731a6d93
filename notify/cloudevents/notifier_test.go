package cloudevents_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/cloudevents"
)

var (
	now = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	key = []byte("0123456789abcdef0123456789abcdef")
)

var _ notify.Notifier = (*cloudevents.Notifier)(nil)

// receiver is as strict as the two specifications: what is not as they say is refused.
type receiver struct {
	t   *testing.T
	key []byte
	// seen are the ids in order, got the events.
	seen []string
	got  []map[string]any
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	if err := r.verify(req.Header, body); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if err := r.take(req.Header, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// verify is Standard Webhooks 1.0: the signature over id, timestamp and body, and a timestamp of now.
func (r *receiver) verify(h http.Header, body []byte) error {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" || strings.ContainsAny(id, ". ") {
		return errors.New("no id or no timestamp")
	}
	if d := now.Sub(time.Unix(at, 0)); d.Abs() > 5*time.Minute {
		return errors.New("too old")
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(id + "." + stamp + "." + string(body)))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !slices.Contains(strings.Fields(h.Get("webhook-signature")), want) {
		return errors.New("the signature does not fit")
	}
	r.seen = append(r.seen, id)
	return nil
}

// take is CloudEvents 1.0 in structured mode.
func (r *receiver) take(h http.Header, body []byte) error {
	if h.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" {
		return errors.New("not in structured mode")
	}
	if len(body) > 64<<10 {
		return errors.New("too large")
	}
	var e map[string]any
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	for name, value := range e {
		text, is := value.(string)
		if name != "data" && (!is || text == "") {
			return errors.New(name + " is empty or no text")
		}
		if strings.ToLower(name) != name {
			return errors.New(name + " is no name of an attribute")
		}
	}
	for _, needed := range []string{"specversion", "id", "source", "type"} {
		if e[needed] == nil {
			return errors.New("no " + needed)
		}
	}
	at, _ := e["time"].(string)
	if _, err := time.Parse(time.RFC3339, at); err != nil || e["specversion"] != "1.0" ||
		e["datacontenttype"] != "application/json" {
		return errors.New("an attribute has another form")
	}
	r.got = append(r.got, e)
	return nil
}

func bench(t *testing.T, change func(*cloudevents.Config)) (*cloudevents.Notifier, *receiver) {
	t.Helper()
	r := &receiver{t: t, key: key}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	cfg := cloudevents.Config{
		URL: func() string { return srv.URL }, Key: func() []byte { return key }, BaseURL: "https://medic.example.com",
		Now: func() time.Time { return now },
	}
	if change != nil {
		change(&cfg)
	}
	n, err := cloudevents.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n, r
}

func trouble() incident.Incident {
	inc := incident.New("inc-a", "llama-70b", incident.ModeApprove, false, now)
	inc.Version, inc.State = 4, incident.StateDeciding
	inc.Alerts = []incident.Alert{{
		Labels: map[string]string{"alertname": "vLLMHighTTFT", "severity": "critical"}, Firing: true,
	}}
	inc.Diagnosis = &incident.Diagnosis{Name: "queueing", Summary: "Requests wait."}
	inc.Plan = &incident.Plan{Digest: "abc", Steps: []incident.Step{{
		ID: "p1-s1", Digest: "def", Title: "Scale to 3", State: incident.StepProposed,
	}}}
	return inc
}

func TestAnIncidentIsASignedEvent(t *testing.T) {
	t.Parallel()
	n, r := bench(t, nil)
	inc := trouble()
	ts, err := n.Post(t.Context(), "", inc)
	if err != nil || ts == "" {
		t.Fatalf("%q %v", ts, err)
	}
	inc.Version++
	if err := n.Update(t.Context(), "", ts, inc); err != nil {
		t.Fatal(err)
	}
	by := incident.Actor{Kind: "slack", ID: "U1"}
	e := incident.Entry{
		Seq: 7, At: now, Kind: incident.KindDecided, Text: "Approved.", By: &by, Step: "p1-s1", Hash: "ff",
		Record: &incident.Record{By: by, Verb: incident.Approve, Plan: "abc"},
	}
	if err := n.Reply(t.Context(), "", ts, inc, e); err != nil {
		t.Fatal(err)
	}
	if err := n.Reply(t.Context(), "", ts, inc, e); err != nil { // the answer was lost
		t.Fatal(err)
	}
	// A full stop in an id would make what is signed ambiguous.
	if want := []string{"inc-a-v4", "inc-a-v5", "inc-a-e7", "inc-a-e7"}; !slices.Equal(r.seen, want) {
		t.Errorf("ids %q, want %q", r.seen, want)
	}
	got, err := json.Marshal(r.got[0]["data"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"incident":{"alerts":["vLLMHighTTFT"],"diagnosis":{"name":"queueing","summary":"Requests wait."},` +
		`"dryRun":false,"id":"inc-a","openedAt":"2026-11-23T03:00:00Z","plan":"abc","pool":"llama-70b",` +
		`"severity":"critical","state":"deciding","steps":[{"digest":"def","id":"p1-s1","state":"proposed",` +
		`"title":"Scale to 3"}],"updatedAt":"2026-11-23T03:00:00Z",` +
		`"url":"https://medic.example.com/incidents/inc-a","version":4}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e := r.got[2]; e["type"] != cloudevents.TypeEntry || e["source"] != "https://medic.example.com" ||
		e["subject"] != "inc-a" {
		t.Errorf("an entry: %v", e)
	}
}

// A receiver with another secret takes nothing, and trying again is of no use.
func TestAnotherSecretIsRefused(t *testing.T) {
	t.Parallel()
	n, r := bench(t, func(c *cloudevents.Config) {
		c.Key = func() []byte { return []byte("another-secret-of-thirty-two-byte") }
	})
	_, err := n.Post(t.Context(), "", trouble())
	if !errors.As(err, new(*notify.PermanentError)) || len(r.got) > 0 {
		t.Errorf("%v, %d events were taken", err, len(r.got))
	}
	n, r = bench(t, func(c *cloudevents.Config) { c.Now = func() time.Time { return now.Add(-time.Hour) } })
	if _, err := n.Post(t.Context(), "", trouble()); !errors.As(err, new(*notify.PermanentError)) || len(r.got) > 0 {
		t.Errorf("an old timestamp: %v, %d events were taken", err, len(r.got))
	}
	if _, err := cloudevents.New(cloudevents.Config{URL: func() string { return "https://x.example.com" }}); err == nil {
		t.Error("events without a key would not be signed")
	}
}

// However much an incident has, its event is one that every intermediary forwards, and valid.
func TestALargeIncidentIsASmallEvent(t *testing.T) {
	t.Parallel()
	n, r := bench(t, nil)
	inc, long := trouble(), strings.Repeat("ü<&>\x01", 40_000)
	inc.Diagnosis.Summary, inc.Note = long, long
	for range 500 {
		inc.Plan.Steps = append(inc.Plan.Steps, incident.Step{ID: "s", Title: long[:500]})
	}
	if _, err := n.Post(t.Context(), "", inc); err != nil {
		t.Fatal(err)
	}
	e := incident.Entry{Seq: 1, At: now, Kind: incident.KindWritten, Text: long, Record: &incident.Record{Diff: long}}
	if err := n.Reply(t.Context(), "", "x", inc, e); err != nil {
		t.Fatal(err)
	}
	if len(r.got) != 2 {
		t.Errorf("%d events", len(r.got))
	}
}
