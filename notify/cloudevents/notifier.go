// Package cloudevents shows incidents to other programs: as CloudEvents 1.0 in structured JSON, posted to one address
// and signed as Standard Webhooks. It only shows: nothing that the receiver answers decides anything.
package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/notify/hook"
)

// The types of events.
const (
	TypeIncident = "io.vllm-medic.incident"
	TypeEntry    = "io.vllm-medic.incident.entry"
)

// maxEvent is the size that every intermediary must forward (CloudEvents 1.0, "Size Limits").
const maxEvent = 64 << 10

// Config says where events go.
type Config struct {
	// URL is the address, and Key signs: the bytes of the secret. Each is asked for with each event.
	URL func() string
	Key func() []byte
	// BaseURL is that of the bot's pages; empty: events have no link.
	BaseURL string
	// Transport is http.DefaultTransport when nil, Now time.Now.
	Transport http.RoundTripper
	Now       func() time.Time
}

// Notifier posts an event for each version of an incident and for each journal entry for people. It is a
// notify.Notifier, safe for concurrent use. An event that is posted again has the same id.
type Notifier struct {
	cfg  Config
	hook *hook.Hook
}

// New returns a Notifier. Nothing is sent yet.
func New(cfg Config) (*Notifier, error) {
	if cfg.Key == nil || len(cfg.Key()) == 0 {
		return nil, errors.New("cloudevents: a key is needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	h, err := hook.New(cfg.URL, cfg.Transport)
	if err != nil {
		return nil, fmt.Errorf("cloudevents: %w", err)
	}
	return &Notifier{cfg: cfg, hook: h}, nil
}

// event is a CloudEvent in structured mode.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

type data struct {
	Incident summary `json:"incident"`
	Entry    *entry  `json:"entry,omitempty"`
}

// summary is an incident in short: the API has the rest.
type summary struct {
	ID        string         `json:"id"`
	Pool      string         `json:"pool"`
	State     incident.State `json:"state"`
	DryRun    bool           `json:"dryRun"`
	Exercise  bool           `json:"exercise,omitempty"`
	Version   int64          `json:"version"`
	Severity  string         `json:"severity,omitempty"`
	Alerts    []string       `json:"alerts"`
	Diagnosis *diagnosis     `json:"diagnosis"`
	Plan      string         `json:"plan,omitempty"`
	Steps     []step         `json:"steps"`
	Text      string         `json:"text,omitempty"`
	OpenedAt  time.Time      `json:"openedAt"`
	UpdatedAt time.Time      `json:"updatedAt"`
	ClosedAt  time.Time      `json:"closedAt,omitzero"`
	URL       string         `json:"url,omitempty"`
}

type diagnosis struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type step struct {
	ID     string             `json:"id"`
	Digest string             `json:"digest"`
	Title  string             `json:"title"`
	State  incident.StepState `json:"state"`
}

type entry struct {
	Seq    int64              `json:"seq"`
	At     time.Time          `json:"at"`
	Kind   incident.EventKind `json:"kind"`
	Text   string             `json:"text"`
	By     *incident.Actor    `json:"by,omitempty"`
	Step   string             `json:"step,omitempty"`
	Record *incident.Record   `json:"record,omitempty"`
	Hash   string             `json:"hash,omitempty"`
}

// Post sends the incident as it is. There is nothing to identify but the incident itself.
func (n *Notifier) Post(ctx context.Context, _ string, inc incident.Incident) (string, error) {
	return inc.ID, n.send(ctx, n.event(inc, nil))
}

// Update sends the incident as it is now.
func (n *Notifier) Update(ctx context.Context, _, _ string, inc incident.Incident) error {
	return n.send(ctx, n.event(inc, nil))
}

// Reply sends a journal entry.
func (n *Notifier) Reply(ctx context.Context, _, _ string, inc incident.Incident, e incident.Entry) error {
	return n.send(ctx, n.event(inc, &e))
}

// FindPosted never finds anything, and has no error: an event that is sent again has the id that it had, by which the
// receiver knows it.
func (*Notifier) FindPosted(context.Context, string, string, string, int64, time.Time) (string, bool, error) {
	return "", false, nil
}

func (n *Notifier) event(inc incident.Incident, e *incident.Entry) event {
	out := event{
		SpecVersion: "1.0", ID: fmt.Sprintf("%s-v%d", inc.ID, inc.Version), Source: "/vllm-medic", Type: TypeIncident,
		Subject: inc.ID, Time: inc.UpdatedAt, DataContentType: "application/json", Data: data{Incident: n.summary(inc)},
	}
	if n.cfg.BaseURL != "" {
		out.Source = n.cfg.BaseURL
	}
	if e != nil {
		out.ID, out.Type, out.Time = fmt.Sprintf("%s-e%d", inc.ID, e.Seq), TypeEntry, e.At
		out.Data.Entry = &entry{
			Seq: e.Seq, At: e.At, Kind: e.Kind, Text: present.Plain(present.Entry(*e)), By: e.By, Step: e.Step,
			Record: e.Record, Hash: e.Hash,
		}
	}
	return out
}

func (n *Notifier) summary(inc incident.Incident) summary {
	s := summary{
		ID: inc.ID, Pool: inc.Pool, State: inc.State, DryRun: inc.DryRun, Exercise: inc.Drill != nil,
		Version: inc.Version, Severity: inc.Severity(),
		Alerts: inc.AlertNames(), Steps: []step{}, Text: present.Plain(present.Note(inc)), OpenedAt: inc.OpenedAt,
		UpdatedAt: inc.UpdatedAt, ClosedAt: inc.ClosedAt,
	}
	if n.cfg.BaseURL != "" {
		s.URL = present.IncidentURL(n.cfg.BaseURL, inc.ID)
	}
	if d := inc.Diagnosis; d != nil {
		s.Diagnosis = &diagnosis{Name: d.Name, Summary: d.Summary}
	}
	if p := inc.Plan; p != nil {
		s.Plan = p.Digest
		for _, st := range p.Steps {
			s.Steps = append(s.Steps, step{ID: st.ID, Digest: st.Digest, Title: st.Title, State: st.State})
		}
	}
	return s
}

// send posts an event, without what makes it larger than what every intermediary forwards.
func (n *Notifier) send(ctx context.Context, e event) error {
	body, err := json.Marshal(e)
	if err == nil && len(body) > maxEvent {
		body, err = json.Marshal(e.shorter())
	}
	if err != nil {
		return fmt.Errorf("write an event as JSON: %w", err)
	}
	h := http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}
	sign(h, n.cfg.Key(), e.ID, n.cfg.Now(), body)
	return n.hook.Post(ctx, h, body)
}

// shorter leaves out what the API has, too: the steps, most alerts, and the diff of an entry.
func (e event) shorter() event {
	s := &e.Data.Incident
	s.Steps, s.Alerts = []step{}, s.Alerts[:min(len(s.Alerts), 20)]
	s.Text = clip(s.Text)
	if s.Diagnosis != nil {
		s.Diagnosis = &diagnosis{Name: s.Diagnosis.Name, Summary: clip(s.Diagnosis.Summary)}
	}
	if in := e.Data.Entry; in != nil {
		out := *in
		out.Text = clip(out.Text)
		if out.Record != nil {
			r := *out.Record
			r.Diff = clip(r.Diff)
			out.Record = &r
		}
		e.Data.Entry = &out
	}
	return e
}

// clip keeps the beginning of a text that is too long for an event.
func clip(s string) string {
	const most = 2000
	n := 0
	for at := range s {
		if n == most {
			return s[:at] + "…"
		}
		n++
	}
	return s
}
