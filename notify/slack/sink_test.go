package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

const channel = "C0INCIDENTS"

var _ notify.Sink = (*Sink)(nil)

// logs collects log lines; every test that has one fails when a secret is in them.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newLogs(t *testing.T, secrets ...string) (*logs, *slog.Logger) {
	t.Helper()
	l := &logs{}
	t.Cleanup(func() { mustHide(t, l.String(), secrets...) })
	return l, slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func mustHide(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("a secret is in: %s", text)
		}
	}
}

// workspace is a fake Slack with a sink on it.
type workspace struct {
	*fakeslack.Server
	sink   *Sink
	client *Client
	logs   *logs
	log    *slog.Logger
}

func newWorkspace(t *testing.T, o fakeslack.Options) *workspace {
	t.Helper()
	s := fakeslack.Start(t, o)
	w := &workspace{Server: s}
	w.logs, w.log = newLogs(t, s.Token(), s.SigningSecret(), "/actions/")
	var err error
	if w.client, err = NewClient(Config{Token: s.Token(), APIURL: s.APIURL(), Timeout: 500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if w.sink, err = NewSink(w.client, ViewOptions{}, w.log); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workspace) post(t *testing.T, inc incident.Incident) string {
	t.Helper()
	ts, err := w.sink.Post(t.Context(), channel, inc)
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	return ts
}

func TestPostCarriesIDsAndNoPreviews(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	ts := w.post(t, inc)
	m, _ := w.Message(channel, ts)
	if diff := cmp.Diff(map[string]any{"incident_id": inc.ID, "seq": 0.0}, m.Metadata.EventPayload); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if m.UnfurlLinks == nil || *m.UnfurlLinks || m.UnfurlMedia == nil || *m.UnfurlMedia {
		t.Errorf("previews: links %v, media %v", m.UnfurlLinks, m.UnfurlMedia)
	}
	if len(m.Charts()) != 1 || len(m.Buttons()) != 4 {
		t.Errorf("%d charts, %d buttons", len(m.Charts()), len(m.Buttons()))
	}
}

func TestUpdateEditsInPlaceAndKeepsTheIDs(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	s := asked(t, incident.ModeApprove)
	ts := w.post(t, s.inc)
	before, _ := w.Message(channel, ts)
	if err := w.sink.Update(t.Context(), channel, ts, s.decide(incident.Approve, "p1-s3").inc); err != nil {
		t.Fatal(err)
	}
	m, _ := w.Message(channel, ts)
	if len(w.Messages(channel)) != 1 || !m.Edited || m.Metadata == nil || len(m.Buttons()) != 0 {
		t.Errorf("%d messages, edited %t, metadata %v, %d buttons", len(w.Messages(channel)), m.Edited, m.Metadata, len(m.Buttons()))
	}
	if text := m.VisibleText(); !strings.Contains(text, "approved by") || !strings.Contains(text, "U0ALICE") {
		t.Errorf("no record of the decision:\n%s", text)
	}
	if len(before.Buttons()) == 0 {
		t.Error("there were no buttons before")
	}
}

func TestNewPlanGetsNewBlockIDs(t *testing.T) {
	t.Parallel()
	one, two := asked(t, incident.ModeApprove).inc, asked(t, incident.ModeApprove).inc
	two.Plan.Revision++
	ids := func(inc incident.Incident) []string {
		s := newValidator(t)
		v := Render(inc, ViewOptions{})
		m, _ := s.s.Message(channel, s.send("chat.postMessage", "", "", v.Text, v.Blocks))
		var out []string
		for _, b := range m.Buttons() {
			out = append(out, b.BlockID)
		}
		return slices.Compact(out)
	}
	for _, id := range ids(two) {
		if slices.Contains(ids(one), id) {
			t.Errorf("block %s stayed the same", id)
		}
	}
}

func TestReplyStandsInTheThreadWithItsIDs(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	s := asked(t, incident.ModeApprove)
	ts := w.post(t, s.inc)
	s.decide(incident.Approve, "p1-s3")
	e := s.inc.Journal[len(s.inc.Journal)-1]
	if err := w.sink.Reply(t.Context(), channel, ts, s.inc, e); err != nil {
		t.Fatal(err)
	}
	thread := w.Thread(channel, ts)
	if len(thread) != 1 || thread[0].Broadcast || thread[0].Metadata.EventPayload["seq"] != float64(e.Seq) {
		t.Fatalf("thread = %+v", thread)
	}
	if text := thread[0].VisibleText(); !strings.Contains(text, "approved: Scale Deployment") || !strings.HasPrefix(text, "@U0ALICE") && !strings.HasPrefix(text, "<@U0ALICE>") && !strings.Contains(text, "U0ALICE") {
		t.Errorf("text = %q", text)
	}
}

// kind names the class of an error of a sink.
func kind(err error) string {
	var lost *notify.AmbiguousError
	var limited *notify.RateLimitedError
	var permanent *notify.PermanentError
	var gone *notify.GoneError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &lost):
		return "ambiguous"
	case errors.As(err, &limited):
		return "limited"
	case errors.As(err, &permanent):
		if permanent.Next == "" {
			return "permanent without a next step"
		}
		return "permanent"
	case errors.As(err, &gone):
		return "gone"
	default:
		return "transient"
	}
}

func TestErrorsOfAPostAreTakenForWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault fakeslack.Fault
		want  string
	}{
		{"connection cut after", fakeslack.Fault{DropAfter: true}, "ambiguous"},
		{"connection cut before", fakeslack.Fault{DropBefore: true}, "ambiguous"},
		{"answer too late", fakeslack.Fault{DelayAnswer: 2 * time.Second, Performed: true}, "ambiguous"},
		{"503", fakeslack.Fault{HTTPStatus: 503}, "ambiguous"},
		{"500 and done", fakeslack.Fault{HTTPStatus: 500, Performed: true}, "ambiguous"},
		{"HTML with 200", fakeslack.Fault{Body: "<html>proxy</html>"}, "ambiguous"},
		{"half of JSON", fakeslack.Fault{Body: `{"ok":tr`}, "ambiguous"},
		{"internal_error", fakeslack.Fault{Error: "internal_error"}, "ambiguous"},
		{"fatal_error", fakeslack.Fault{Error: "fatal_error"}, "ambiguous"},
		{"service_unavailable", fakeslack.Fault{Error: "service_unavailable"}, "ambiguous"},
		{"request_timeout", fakeslack.Fault{Error: "request_timeout"}, "ambiguous"},
		{"429", fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Second}, "limited"},
		{"429 without a time", fakeslack.Fault{HTTPStatus: 429}, "limited"},
		{"ratelimited", fakeslack.Fault{Error: "ratelimited"}, "limited"},
		{"403 of a proxy", fakeslack.Fault{HTTPStatus: 403}, "permanent"},
		{"channel_not_found", fakeslack.Fault{Error: "channel_not_found"}, "permanent"},
		{"not_in_channel", fakeslack.Fault{Error: "not_in_channel"}, "permanent"},
		{"is_archived", fakeslack.Fault{Error: "is_archived"}, "permanent"},
		{"invalid_auth", fakeslack.Fault{Error: "invalid_auth"}, "permanent"},
		{"account_inactive", fakeslack.Fault{Error: "account_inactive"}, "permanent"},
		{"token_revoked", fakeslack.Fault{Error: "token_revoked"}, "permanent"},
		{"missing_scope", fakeslack.Fault{Error: "missing_scope", Needed: "chat:write"}, "permanent"},
		{"restricted_action", fakeslack.Fault{Error: "restricted_action"}, "permanent"},
		{"never heard of", fakeslack.Fault{Error: "brand_new_error"}, "permanent"},
		{"thread is gone", fakeslack.Fault{Error: "thread_not_found"}, "gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, fakeslack.Options{})
			w.Fail("chat.postMessage", 1, tt.fault)
			_, err := w.sink.Post(t.Context(), channel, tell(t, incident.ModeApprove, "llama").inc)
			if got := kind(err); got != tt.want {
				t.Errorf("%v is %s, want %s", err, got, tt.want)
			}
			if n := len(w.CallsTo("chat.postMessage")); n != 1 {
				t.Errorf("posted %d times", n)
			}
			mustHide(t, err.Error(), w.Token())
		})
	}
}

func TestPostToAClosedPortIsKnownNotToBeSent(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := NewClient(Config{Token: "xoxb-secret", APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, log := newLogs(t, "xoxb-secret")
	s, err := NewSink(c, ViewOptions{}, log)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Post(t.Context(), channel, tell(t, incident.ModeApprove, "llama").inc)
	if got := kind(err); got != "transient" {
		t.Errorf("%v is %s", err, got)
	}
	mustHide(t, err.Error(), "xoxb-secret")
}

func TestPostCutOffByItsContextIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{DelayAnswer: 2 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := w.sink.Post(ctx, channel, tell(t, incident.ModeApprove, "llama").inc)
	if got := kind(err); got != "ambiguous" {
		t.Errorf("%v is %s", err, got)
	}
}

func TestRateLimitedMethodIsNotCalledBeforeItsTime(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Minute})
	inc := tell(t, incident.ModeApprove, "llama").inc
	for range 3 {
		_, err := w.sink.Post(t.Context(), channel, inc)
		var limited *notify.RateLimitedError
		if !errors.As(err, &limited) || limited.After < 50*time.Second {
			t.Errorf("err = %v", err)
		}
	}
	if n := len(w.CallsTo("chat.postMessage")); n != 1 {
		t.Errorf("called %d times", n)
	}
	if _, err := w.client.Check(t.Context()); err != nil {
		t.Errorf("another method is blocked too: %v", err)
	}
}

func TestUpdateIsRepeatedBecauseItIsHarmless(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := tell(t, incident.ModeApprove, "llama").inc
	ts := w.post(t, inc)
	w.Fail("chat.update", 1, fakeslack.Fault{DropAfter: true})
	w.Fail("chat.update", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Second})
	if err := w.sink.Update(t.Context(), channel, ts, inc); err != nil {
		t.Fatal(err)
	}
	if n := len(w.CallsTo("chat.update")); n != 3 {
		t.Errorf("called %d times, want 3", n)
	}
}

func TestUpdateKeepsTheLastRealError(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	w.Fail("chat.update", 3, fakeslack.Fault{HTTPStatus: 502})
	err := w.sink.Update(t.Context(), channel, "1.000001", tell(t, incident.ModeApprove, "llama").inc)
	if kind(err) != "transient" || !strings.Contains(err.Error(), "502") {
		t.Errorf("err = %v", err)
	}
	w.Fail("chat.update", 1, fakeslack.Fault{HTTPStatus: 502})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := w.sink.Update(ctx, channel, "1.000001", tell(t, incident.ModeApprove, "llama").inc); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestUpdateOfADeletedMessageSaysGone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := tell(t, incident.ModeApprove, "llama").inc
	ts := w.post(t, inc)
	w.DeleteMessage(channel, ts)
	w.ExpectError("chat.update", "message_not_found", 1)
	if err := w.sink.Update(t.Context(), channel, ts, inc); kind(err) != "gone" {
		t.Errorf("%v is %s", err, kind(err))
	}
}

func TestRefusedChartIsReplacedByTextAndNotSentAgainForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Error: "invalid_blocks"})
	ts := w.post(t, inc)
	m, _ := w.Message(channel, ts)
	if len(m.Charts()) != 0 || !strings.Contains(m.VisibleText(), "times its limit") || len(m.Buttons()) != 4 {
		t.Errorf("the text does not stand in:\n%s", m.VisibleText())
	}
	if err := w.sink.Update(t.Context(), channel, ts, inc); err != nil {
		t.Fatal(err)
	}
	if n := len(w.CallsTo("chat.update")); n != 1 {
		t.Errorf("the chart was sent again: %d calls", n)
	}
}

func TestRefusedBlocksEndInPlainText(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	w.Fail("chat.postMessage", 3, fakeslack.Fault{Error: "invalid_blocks"})
	m, _ := w.Message(channel, w.post(t, inc))
	if len(m.Blocks) != 0 || !strings.Contains(m.Text, "vllm-medic incidents show "+inc.ID) || !strings.Contains(m.Text, "TTFT p95 7.2 s") {
		t.Errorf("text = %q, blocks = %s", m.Text, m.Blocks)
	}
	if len(w.Messages(channel)) != 1 {
		t.Errorf("%d messages", len(w.Messages(channel)))
	}
}

func TestFindSeesOnlyItsOwnMessage(t *testing.T) {
	t.Parallel()
	for _, dropped := range []bool{false, true} {
		t.Run(fmt.Sprintf("metadata dropped %t", dropped), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, fakeslack.Options{DropMetadata: dropped})
			s := asked(t, incident.ModeApprove)
			other := tell(t, incident.ModeApprove, "mistral").inc
			other.ID = "inc-other"
			oldest := time.Now().Add(-time.Minute)
			w.PostAs("U0BOB", channel, "I copied it: "+reference(s.inc.ID, 0), "")
			w.post(t, other)
			if _, found, err := w.sink.Find(t.Context(), channel, "", s.inc.ID, 0, oldest); found || err != nil {
				t.Fatalf("found %t, %v before it was posted", found, err)
			}
			ts := w.post(t, s.inc)
			if got, found, err := w.sink.Find(t.Context(), channel, "", s.inc.ID, 0, oldest); !found || err != nil || got != ts {
				t.Errorf("Find = %q, %t, %v; want %q", got, found, err, ts)
			}
			if _, found, err := w.sink.Find(t.Context(), channel, "", s.inc.ID, 0, time.Now().Add(time.Hour)); found || err != nil {
				t.Errorf("found %t, %v although it is older", found, err)
			}
			e := incident.Entry{Seq: 4, Text: "An entry."}
			if _, found, err := w.sink.Find(t.Context(), channel, ts, s.inc.ID, 4, oldest); found || err != nil {
				t.Errorf("the entry was found %t, %v before it was posted", found, err)
			}
			if err := w.sink.Reply(t.Context(), channel, ts, s.inc, e); err != nil {
				t.Fatal(err)
			}
			if got, found, err := w.sink.Find(t.Context(), channel, ts, s.inc.ID, 4, oldest); !found || err != nil || got != w.Thread(channel, ts)[0].TS {
				t.Errorf("Find of the entry = %q, %t, %v", got, found, err)
			}
			if _, found, _ := w.sink.Find(t.Context(), channel, ts, s.inc.ID, 14, oldest); found {
				t.Error("another entry was found")
			}
		})
	}
}

func TestFindReadsEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	oldest := time.Now().Add(-time.Minute)
	inc := tell(t, incident.ModeApprove, "llama").inc
	for range pageSize {
		w.PostAs("U0BOB", channel, "chatter", "")
	}
	ts := w.post(t, inc)
	for range pageSize + 10 {
		w.PostAs("U0BOB", channel, "chatter", "")
	}
	if got, found, err := w.sink.Find(t.Context(), channel, "", inc.ID, 0, oldest); !found || err != nil || got != ts {
		t.Errorf("Find = %q, %t, %v", got, found, err)
	}
}

func TestFindDoesNotSayNoWhenItCannotLook(t *testing.T) {
	t.Parallel()
	t.Run("without the right", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{Scopes: []string{"chat:write"}})
		w.ExpectError("conversations.history", "missing_scope", 1)
		if _, _, err := w.sink.Find(t.Context(), channel, "", "inc-1", 0, time.Now()); kind(err) != "permanent" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
	t.Run("in an outage", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{})
		if _, err := w.client.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Outage(503)
		if _, _, err := w.sink.Find(t.Context(), channel, "", "inc-1", 0, time.Now()); kind(err) != "transient" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
	t.Run("too many messages", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{})
		for range pageSize*maxPages + 1 {
			w.PostAs("U0BOB", channel, "chatter", "")
		}
		if _, _, err := w.sink.Find(t.Context(), channel, "", "inc-1", 0, time.Now().Add(-time.Minute)); kind(err) != "transient" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
}

func TestTokenIsNotCarriedToAnotherHost(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed to %s", r.URL)
	}))
	defer thief.Close()
	srv := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	c, err := NewClient(Config{Token: "xoxb-secret", APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(t.Context()); kind(err) != "permanent" {
		t.Errorf("%v is %s", err, kind(err))
	}
}

func TestCheckSaysWhoTheBotIs(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{EnterpriseID: "E0FAKE"})
	me, err := w.client.Check(t.Context())
	if err != nil || me.Team != "T0FAKE" || me.Enterprise != "E0FAKE" || me.User != "U0MEDIC" || me.BotID != "B0MEDIC" {
		t.Errorf("Check = %+v, %v", me, err)
	}
}

func TestConfigurationHidesItsSecrets(t *testing.T) {
	t.Parallel()
	c := Config{Token: "xoxb-secret", APIURL: "https://slack.com/api/"}
	i := InteractionsConfig{SigningSecret: "sign-secret", OldSigningSecret: "old-secret", Team: "T1"}
	l, log := newLogs(t, "xoxb-secret", "sign-secret", "old-secret")
	log.Info("configuration", "slack", c, "interactions", i)
	if !strings.Contains(l.String(), "T1") {
		t.Error("nothing was logged")
	}
	mustHide(t, fmt.Sprintf("%v %+v %#v %s %v %+v %#v", c, c, c, c, i, i, i), "xoxb-secret", "sign-secret", "old-secret")
	for _, bad := range []Config{{}, {Token: "xoxb-secret", APIURL: "slack.com"}, {Token: "xoxb-secret", APIURL: "ftp://xoxb-secret/"}, {Token: "xoxb-secret", APIURL: "https://%zz"}} {
		_, err := NewClient(bad)
		if err == nil {
			t.Errorf("%v was taken", bad)
			continue
		}
		mustHide(t, err.Error(), "xoxb-secret")
	}
	if _, err := NewSink(nil, ViewOptions{}, nil); err == nil {
		t.Error("a nil client was taken")
	}
}

// outbox is one row in memory, without leases.
type outbox struct {
	mu sync.Mutex
	m  incident.Message
}

func (o *outbox) ClaimMessages(_ context.Context, _ string, now time.Time, _ time.Duration, _ int) ([]incident.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m.GaveUp || o.m.Wanted <= o.m.Sent || o.m.NextAt.After(now) {
		return nil, nil
	}
	return []incident.Message{o.m}, nil
}

func (o *outbox) SaveMessage(_ context.Context, m incident.Message, _ bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	m.Wanted = o.m.Wanted
	o.m = m
	return nil
}

func (o *outbox) Wake() <-chan struct{} { return nil }

type oneIncident struct{ inc incident.Incident }

func (o oneIncident) IncidentWithJournal(context.Context, string) (incident.Incident, error) {
	return o.inc, nil
}

// TestOutagesLeaveOneMessageAndOneThread runs the real dispatcher against every kind of lost answer.
func TestOutagesLeaveOneMessageAndOneThread(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakeslack.Fault{
		"cut after": {DropAfter: true}, "cut before": {DropBefore: true}, "500 and done": {HTTPStatus: 500, Performed: true}, "503": {HTTPStatus: 503},
		"internal_error and done": {Error: "internal_error", Performed: true}, "rate limit": {HTTPStatus: 429, RetryAfter: time.Second},
	} {
		for skip := range 3 {
			t.Run(fmt.Sprintf("%s at call %d", name, skip+1), func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t, fakeslack.Options{})
				inc := asked(t, incident.ModeApprove).inc
				o := &outbox{m: incident.Message{Incident: inc.ID, Channel: channel, Wanted: inc.Version}}
				d, err := notify.New(notify.Config{Owner: "me"}, o, oneIncident{inc}, w.sink, w.log)
				if err != nil {
					t.Fatal(err)
				}
				fault := fault
				fault.Skip = skip
				w.Fail("chat.postMessage", 1, fault)
				now := time.Now()
				for range 20 {
					if _, err := d.Deliver(t.Context(), now); err != nil {
						t.Fatal(err)
					}
					if o.m.Sent == o.m.Wanted {
						break
					}
					now = now.Add(20 * time.Second)
					w.client.gate.until = nil // the time of the rate limit has passed in this test's time
				}
				mustBeWhole(t, w, inc)
			})
		}
	}
}

func mustBeWhole(t *testing.T, w *workspace, inc incident.Incident) {
	t.Helper()
	all := w.Messages(channel)
	if len(all) != 1 {
		t.Fatalf("%d messages", len(all))
	}
	var want, got []string
	for _, e := range inc.Journal {
		if e.Thread {
			want = append(want, fmt.Sprint(e.Seq))
		}
	}
	for _, m := range w.Thread(channel, all[0].TS) {
		b, err := json.Marshal(m.Metadata.EventPayload["seq"])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
}
