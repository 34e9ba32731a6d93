package slack

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

const channel = "C0INCIDENTS"

var _ notify.Notifier = (*Notifier)(nil)

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

// workspace is a fake Slack with a notifier on it.
type workspace struct {
	*fakeslack.Server
	notifier *Notifier
	client   *Client
	logs     *logs
	log      *slog.Logger
}

// answerTimeout is generous: only a workspace that is told to be late may be late, however busy the machine is.
const answerTimeout = 3 * time.Second

func newWorkspace(t *testing.T, o fakeslack.Options) *workspace {
	t.Helper()
	s := fakeslack.Start(t, o)
	w := &workspace{Server: s}
	w.logs, w.log = newLogs(t, s.Token(), s.AppToken(), s.SigningSecret(), "/actions/", "ticket=")
	var err error
	if w.client, err = NewClient(Config{
		Token: s.Token, AppToken: s.AppToken, APIURL: s.APIURL(),
		Timeout: answerTimeout,
	}); err != nil {
		t.Fatal(err)
	}
	if w.notifier, err = NewNotifier(w.client, ViewOptions{}, false, w.log); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workspace) post(t *testing.T, inc incident.Incident) string {
	t.Helper()
	ts, err := w.notifier.Post(t.Context(), channel, inc)
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
	if len(m.Charts()) != 1 || len(m.Buttons()) != 5 {
		t.Errorf("%d charts, %d buttons", len(m.Charts()), len(m.Buttons()))
	}
}

func TestUpdateEditsInPlaceAndKeepsTheIDs(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	s := asked(t, incident.ModeApprove)
	ts := w.post(t, s.inc)
	before, _ := w.Message(channel, ts)
	if err := w.notifier.Update(t.Context(), channel, ts, s.decide(incident.Approve, "p1-s3").inc); err != nil {
		t.Fatal(err)
	}
	m, _ := w.Message(channel, ts)
	if len(w.Messages(channel)) != 1 || !m.Edited || m.Metadata == nil || len(m.Buttons()) != 1 {
		t.Errorf("%d messages, edited %t, metadata %v, %d buttons", len(w.Messages(channel)), m.Edited, m.Metadata,
			len(m.Buttons()))
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
	if err := w.notifier.Reply(t.Context(), channel, ts, s.inc, e); err != nil {
		t.Fatal(err)
	}
	thread := w.Thread(channel, ts)
	if len(thread) != 1 || thread[0].Broadcast || thread[0].Metadata.EventPayload["seq"] != float64(e.Seq) {
		t.Fatalf("thread = %+v", thread)
	}
	if text := thread[0].VisibleText(); !strings.Contains(text, "approved: Scale Deployment") ||
		!strings.Contains(text, "U0ALICE") {
		t.Errorf("text = %q", text)
	}
}

func TestUpdateOfADeletedMessageSaysGone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := tell(t, incident.ModeApprove, "llama").inc
	ts := w.post(t, inc)
	w.DeleteMessage(channel, ts)
	w.ExpectError("chat.update", "message_not_found", 1)
	if err := w.notifier.Update(t.Context(), channel, ts, inc); kind(err) != "gone" {
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
	if len(m.Charts()) != 0 || !strings.Contains(m.VisibleText(), "TTFT p95 over 15 min: 0.62 s → 7.08 s") ||
		len(m.Buttons()) != 5 {
		t.Errorf("the text does not stand in:\n%s", m.VisibleText())
	}
	if err := w.notifier.Update(t.Context(), channel, ts, inc); err != nil {
		t.Fatal(err)
	}
	if n := len(w.CallsTo("chat.update")); n != 1 {
		t.Errorf("the chart was sent again: %d calls", n)
	}
}

// Whichever of the newest blocks a workspace does not have, the message comes with the other one, and at once the next
// time.
func TestABlockThatSlackDoesNotHaveIsLeftOutAndNoOther(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refused     []string
		tries       int
		chart, fold bool
	}{
		{nil, 1, true, true},
		{[]string{"data_visualization"}, 2, false, true},
		{[]string{"container"}, 3, true, false},
		{[]string{"container", "data_visualization"}, 4, false, false},
	} {
		w := newWorkspace(t, fakeslack.Options{})
		w.RefuseBlocks(tt.refused...)
		inc := asked(t, incident.ModeApprove).inc
		ts := w.post(t, inc)
		m, _ := w.Message(channel, ts)
		if n := len(w.CallsTo("chat.postMessage")); n != tt.tries {
			t.Errorf("%v: %d tries, want %d", tt.refused, n, tt.tries)
		}
		folded := strings.Contains(string(m.Blocks), `"container"`)
		if chart := len(m.Charts()) == 1; chart != tt.chart || folded != tt.fold || len(m.Buttons()) != 5 {
			t.Errorf("%v: chart %t, fold %t, %d buttons", tt.refused, chart, folded, len(m.Buttons()))
		}
		if tt.fold {
			mustFollow(t, m.VisibleText(), "Manual:", "Can't rule out: abort spike")
		} else {
			mustFollow(t, m.VisibleText(), "Exact change · 1 manual option (see *Details*)")
		}
		mustFollow(t, m.VisibleText(), "7 safety checks passed")
		if err := w.notifier.Update(t.Context(), channel, ts, inc); err != nil {
			t.Fatal(err)
		}
		if n := len(w.CallsTo("chat.update")); n != 1 {
			t.Errorf("%v: what was refused was sent again: %d calls", tt.refused, n)
		}
	}
}

// A message that is too long says nothing about charts and folds: the next one has them.
func TestAMessageThatIsTooLongIsShortenedOnlyThisOnce(t *testing.T) {
	t.Parallel()
	for code, again := range map[string]bool{"msg_too_long": true, "msg_blocks_too_long": true, "invalid_blocks": false} {
		w := newWorkspace(t, fakeslack.Options{})
		inc := asked(t, incident.ModeApprove).inc
		w.Fail("chat.postMessage", 1, fakeslack.Fault{Error: code})
		ts := w.post(t, inc)
		if m, _ := w.Message(channel, ts); len(m.Charts()) != 0 {
			t.Errorf("%s: the same was sent again", code)
		}
		if err := w.notifier.Update(t.Context(), channel, ts, inc); err != nil {
			t.Fatal(err)
		}
		if m, _ := w.Message(channel, ts); (len(m.Charts()) == 1) != again {
			t.Errorf("%s: %d charts the next time", code, len(m.Charts()))
		}
	}
}

func TestRefusedBlocksEndInPlainText(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	w.Fail("chat.postMessage", 5, fakeslack.Fault{Error: "invalid_blocks"})
	m, _ := w.Message(channel, w.post(t, inc))
	if len(m.Blocks) != 0 || !strings.Contains(m.Text, "vllm-medic incidents show "+inc.ID) ||
		!strings.Contains(m.Text, "TTFT p95 7.2 s") {
		t.Errorf("text = %q, blocks = %s", m.Text, m.Blocks)
	}
	if len(w.Messages(channel)) != 1 {
		t.Errorf("%d messages", len(w.Messages(channel)))
	}
}

// The head of the journal is small print below each reply, outside of the database.
func TestAReplyShowsTheHeadOfTheJournal(t *testing.T) {
	t.Parallel()
	e := incident.Entry{Seq: 3, Text: "Approved.", Hash: "0123456789abcdef0123456789abcdef"}
	for hash, want := range map[string]string{
		e.Hash: "journal `0123456789ab`", "": "", "`<!channel>`": "journal `",
	} {
		e.Hash = hash
		blocks, _ := renderEntry(incident.Incident{ID: "inc-a"}, e)
		var small string
		for _, b := range blocks {
			if c, is := b.(*slackgo.ContextBlock); is {
				small = c.ContextElements.Elements[0].(*slackgo.TextBlockObject).Text //nolint:forcetypeassert // else it panics
			}
		}
		if !strings.HasPrefix(small, want) || (want == "") != (small == "") || strings.Contains(small, "<!channel>") {
			t.Errorf("the hash %q: small print %q, want %q", hash, small, want)
		}
	}
}
