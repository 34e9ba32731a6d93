// Package teams shows incidents in Microsoft Teams: Adaptive Cards, posted to the address of a workflow ("When a Teams
// webhook request is received"). It only shows: a card has no button that decides, but a link to the incident's page.
package teams

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/hook"
)

const (
	// maxMessage is the size that Teams takes (learn.microsoft.com, "Create incoming webhooks": 28 KB).
	maxMessage = 28 << 10
	// maxText bounds one paragraph, in characters: at four bytes each, and six for what JSON escapes, six of them fit.
	maxText = 700
)

// Config says where cards go.
type Config struct {
	// URL is the address of the workflow, which is a secret: whoever has it can post.
	URL func() string
	// BaseURL is that of the bot's pages; empty: cards have no link.
	BaseURL string
	// Transport is http.DefaultTransport when nil.
	Transport http.RoundTripper
}

// Notifier posts a card when an incident begins and one for what people want to know of it: requests, decisions,
// changes, their outcome, its end. A workflow cannot change what it has posted, so nothing is drawn again. It is a
// notify.Notifier, safe for concurrent use.
type Notifier struct {
	cfg  Config
	hook *hook.Hook
}

// New returns a Notifier. Nothing is sent yet.
func New(cfg Config) (*Notifier, error) {
	h, err := hook.New(cfg.URL, cfg.Transport)
	if err != nil {
		return nil, fmt.Errorf("teams: %w", err)
	}
	return &Notifier{cfg: cfg, hook: h}, nil
}

// Post sends the card of an incident that begins.
func (n *Notifier) Post(ctx context.Context, _ string, inc incident.Incident) (string, error) {
	text := present.Plain(present.Note(inc))
	if d := inc.Diagnosis; d != nil {
		text = d.Summary
	}
	return inc.ID, n.send(ctx, inc, text)
}

// Update does nothing: what was posted stays as it is, and what is new comes as a card of its own.
func (*Notifier) Update(context.Context, string, string, incident.Incident) error { return nil }

// asks are the notes that call people, whatever event they came with.
var asks = map[incident.NoteKind]bool{
	incident.NoteApprovalNeeded: true, incident.NoteReminder: true, incident.NoteEscalated: true,
}

// shown are the kinds of entries that get a card. What repeats, and how the bot gets on, do not.
var shown = map[incident.EventKind]bool{
	incident.KindAsked: true, incident.KindDecided: true, incident.KindAskedAgain: true, incident.KindExpired: true,
	incident.KindRefused: true, incident.KindWritten: true, incident.KindVerified: true, incident.KindReverted: true,
	incident.KindUndoStarted: true, incident.KindAborted: true, incident.KindClosed: true,
}

// Reply sends the card of a journal entry, when it is one that gets one.
func (n *Notifier) Reply(ctx context.Context, _, _ string, inc incident.Incident, e incident.Entry) error {
	if !shown[e.Kind] && !asks[e.Said.Kind] {
		return nil
	}
	return n.send(ctx, inc, present.Plain(present.Entry(e)))
}

// FindPosted never finds anything, and has no error: a workflow cannot be asked. A card whose answer was lost comes
// twice.
func (*Notifier) FindPosted(context.Context, string, string, string, int64, time.Time) (string, bool, error) {
	return "", false, nil
}

func (n *Notifier) send(ctx context.Context, inc incident.Incident, text string) error {
	body, err := json.Marshal(n.message(inc, text))
	if err != nil {
		return fmt.Errorf("write a card as JSON: %w", err)
	}
	if len(body) > maxMessage {
		return &notify.PermanentError{
			// Without its size: a card of the same entry that is a little larger is the same refusal.
			Err: fmt.Errorf("a card is too large: Teams takes %d bytes", maxMessage), Content: true,
			Next: "Shorten the names and texts of the alerts.",
		}
	}
	return n.hook.Post(ctx, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body)
}

// message is one card as a workflow takes it.
func (n *Notifier) message(inc incident.Incident, text string) any {
	title := inc.Pool
	if title == "" {
		title = "Alerts without a pool"
	}
	if mark := present.Mark(inc); mark != "" {
		title = "🧪 " + mark + " " + title
	}
	small := []string{inc.ID, string(inc.State)}
	if s := inc.Severity(); s != "" {
		small = append(small, s)
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"body": []any{
			paragraph(title, map[string]any{"weight": "Bolder", "size": "Medium"}),
			paragraph(text, nil),
			paragraph(strings.Join(inc.AlertNames(), ", "), nil),
			paragraph(strings.Join(small, "  ·  "), map[string]any{"isSubtle": true, "size": "Small"}),
		},
		"msteams": map[string]any{"width": "Full"},
	}
	if n.cfg.BaseURL != "" {
		card["actions"] = []any{map[string]any{
			"type": "Action.OpenUrl", "title": "Open the incident", "url": present.IncidentURL(n.cfg.BaseURL, inc.ID),
		}}
	}
	return map[string]any{
		"type": "message",
		"attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
		}},
	}
}

// paragraph is text as it is. A TextBlock would read Markdown in it, and make a link of what an alert brings along.
func paragraph(text string, style map[string]any) map[string]any {
	run := map[string]any{"type": "TextRun", "text": clip(text)}
	maps.Copy(run, style)
	return map[string]any{"type": "RichTextBlock", "inlines": []any{run}}
}

func clip(s string) string {
	if s == "" {
		return " " // Teams refuses an empty text
	}
	n := 0
	for at := range s {
		if n == maxText {
			return s[:at] + "…"
		}
		n++
	}
	return s
}
