package teams_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/teams"
)

var now = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

var _ notify.Notifier = (*teams.Notifier)(nil)

// workflow takes what Teams takes, and refuses the rest: its envelope, the size, and of Adaptive Cards 1.4 only text
// that is shown as it is and one link.
type workflow struct {
	t *testing.T
	// texts are those of each card.
	texts [][]string
	links []string
}

func (f *workflow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	if err := f.take(r, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

type message struct {
	Type        string `json:"type"`
	Attachments []struct {
		ContentType string  `json:"contentType"`
		ContentURL  *string `json:"contentUrl"`
		Content     struct {
			Schema  string          `json:"$schema"`
			Type    string          `json:"type"`
			Version string          `json:"version"`
			Teams   json.RawMessage `json:"msteams"`
			Body    []struct {
				Type    string `json:"type"`
				Inlines []struct {
					Type   string `json:"type"`
					Text   string `json:"text"`
					Weight string `json:"weight"`
					Size   string `json:"size"`
					Subtle bool   `json:"isSubtle"`
				} `json:"inlines"`
			} `json:"body"`
			Actions []struct {
				Type  string `json:"type"`
				Title string `json:"title"`
				URL   string `json:"url"`
			} `json:"actions"`
		} `json:"content"`
	} `json:"attachments"`
}

func (f *workflow) take(r *http.Request, body []byte) error {
	if len(body) > 28<<10 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return errors.New("too large, or no JSON")
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	var m message
	if err := dec.Decode(&m); err != nil {
		return err
	}
	if m.Type != "message" || len(m.Attachments) != 1 || m.Attachments[0].ContentURL != nil ||
		m.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		return errors.New("not a message with one card")
	}
	card := m.Attachments[0].Content
	if card.Type != "AdaptiveCard" || card.Version != "1.4" || len(card.Actions) > 1 {
		return errors.New("not a card of version 1.4 with one link at most")
	}
	var texts []string
	for _, block := range card.Body {
		if block.Type != "RichTextBlock" || len(block.Inlines) != 1 || block.Inlines[0].Type != "TextRun" ||
			block.Inlines[0].Text == "" {
			return errors.New("a block is no plain text")
		}
		texts = append(texts, block.Inlines[0].Text)
	}
	for _, a := range card.Actions {
		if a.Type != "Action.OpenUrl" || a.Title == "" || !strings.HasPrefix(a.URL, "https://") {
			return errors.New("an action is no link")
		}
		f.links = append(f.links, a.URL)
	}
	f.texts = append(f.texts, texts)
	return nil
}

func bench(t *testing.T, base string) (*teams.Notifier, *workflow) {
	t.Helper()
	f := &workflow{t: t}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	n, err := teams.New(teams.Config{URL: func() string { return srv.URL + "/workflows/x?sig=s3cr3t" }, BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	return n, f
}

func trouble() incident.Incident {
	inc := incident.New("inc-a", "llama-70b", incident.ModeApprove, false, now)
	inc.State = incident.StateDeciding
	inc.Alerts = []incident.Alert{{
		Labels: map[string]string{"alertname": "[click](https://evil.example.com)", "severity": "critical"}, Firing: true,
	}}
	inc.Diagnosis = &incident.Diagnosis{Name: "queueing", Summary: "Requests wait."}
	return inc
}

func TestAnIncidentIsACardThatOnlyShows(t *testing.T) {
	t.Parallel()
	n, f := bench(t, "https://medic.example.com")
	ts, err := n.Post(t.Context(), "", trouble())
	if err != nil || ts == "" {
		t.Fatalf("%q %v", ts, err)
	}
	want := []string{
		"llama-70b", "Requests wait.", "[click](https://evil.example.com)", "inc-a  ·  deciding  ·  critical",
	}
	if len(f.texts) != 1 || !slices.Equal(f.texts[0], want) {
		t.Errorf("got %q, want %q", f.texts, want)
	}
	if !slices.Equal(f.links, []string{"https://medic.example.com/incidents/inc-a"}) {
		t.Errorf("links %q", f.links)
	}
}

// A workflow cannot change a card, so there is one for what people want to know and none for the rest.
func TestEntriesForPeopleAreCards(t *testing.T) {
	t.Parallel()
	n, f := bench(t, "")
	inc := trouble()
	if err := n.Update(t.Context(), "", "x", inc); err != nil || len(f.texts) != 0 {
		t.Errorf("an update: %v %q", err, f.texts)
	}
	for kind, cards := range map[incident.EventKind]int{
		incident.KindDecided: 1, incident.KindVerified: 1, incident.KindClosed: 1, incident.KindAlerts: 0,
		incident.KindStarted: 0, incident.KindSettled: 0, "of a newer version": 0,
	} {
		f.texts = nil
		e := incident.Entry{Seq: 3, At: now, Kind: kind, Text: "Approved."}
		if err := n.Reply(t.Context(), "", "x", inc, e); err != nil || len(f.texts) != cards {
			t.Errorf("%s: %v, %d cards, want %d", kind, err, len(f.texts), cards)
		}
		if cards == 1 && f.texts[0][1] != "Approved." {
			t.Errorf("%s: %q", kind, f.texts)
		}
	}
	for _, kind := range []incident.NoteKind{
		incident.NoteApprovalNeeded, incident.NoteReminder, incident.NoteEscalated,
	} {
		f.texts = nil
		e := incident.Entry{Seq: 4, At: now, Kind: incident.KindInvestigated, Said: incident.Note{Kind: kind, Names: "Scale"}}
		if err := n.Reply(t.Context(), "", "x", inc, e); err != nil || len(f.texts) != 1 {
			t.Errorf("%s: %v, %d cards", kind, err, len(f.texts))
		}
	}
	if len(f.links) != 0 {
		t.Errorf("links %q without an address of pages", f.links)
	}
}

// However much an incident has, Teams takes its card.
func TestALargeIncidentIsASmallCard(t *testing.T) {
	t.Parallel()
	n, f := bench(t, "https://medic.example.com")
	inc := trouble()
	inc.Pool, inc.DryRun, inc.Diagnosis.Summary = strings.Repeat("\x01", 9000), true, strings.Repeat("ü<&>", 9000)
	inc.Alerts[0].Labels["alertname"] = strings.Repeat("𝄞", 9000)
	inc.Alerts[0].Labels["severity"] = strings.Repeat("\x01", 9000)
	if _, err := n.Post(t.Context(), "", inc); err != nil || len(f.texts) != 1 {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.texts[0][0], "🧪 DRY RUN ") {
		t.Errorf("the title of a dry run is %q", f.texts[0][0][:40])
	}
}

// The address is a secret: whoever has it can post.
func TestTheAddressShowsNowhere(t *testing.T) {
	t.Parallel()
	n, err := teams.New(teams.Config{URL: func() string { return "http://127.0.0.1:1/workflows/x?sig=s3cr3t" }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Post(t.Context(), "", trouble()); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got %v", err)
	}
	_, err = teams.New(teams.Config{URL: func() string { return "://s3cr3t" }})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got %v", err)
	}
}
