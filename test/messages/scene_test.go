package messages

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// scene is a part of what one person sees in a workspace: a message, its thread, private answers, or a form.
type scene struct {
	file   string
	server *fakeslack.Server
	viewer string
	part   part
}

// part selects what of a page is shown, in CSS.
type part string

const (
	theMessage part = ".day > .message"
	theThread  part = ".day > .message .thread"
	theAnswers part = ".day > .message .private"
	theForm    part = ".veil"
)

// room is a workspace with the message of an incident, and the bot's own code behind its buttons.
type room struct {
	*fakeslack.Server
	t        *testing.T
	notifier *slack.Notifier
	desk     *desk
}

// enter posts the message of a story and opens the bot for clicks, at the story's time.
func enter(t *testing.T, s *story, approvers incident.Approvers) *room {
	t.Helper()
	r := &room{Server: fakeslack.Start(t, fakeslack.Options{Retold: true}), t: t, desk: &desk{approvers: approvers}}
	quiet := slog.New(slog.DiscardHandler)
	client, err := slack.NewClient(slack.Config{Token: r.Token, APIURL: r.APIURL()})
	if err != nil {
		t.Fatal(err)
	}
	if r.notifier, err = slack.NewNotifier(client, links, false, quiet); err != nil {
		t.Fatal(err)
	}
	ts, err := r.notifier.Post(t.Context(), channel, s.inc)
	if err != nil {
		t.Fatal(err)
	}
	r.desk.set(s, incident.Message{Incident: s.inc.ID, Channel: channel, TS: ts})
	clicks, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "store.db"), store.Options{
		ChannelFor: func(string) string { return channel }, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	bot, err := slack.NewInteractions(slack.InteractionsConfig{SigningSecret: r.SigningSecret}, slack.InteractionsDeps{
		Client: client, Decider: r.desk, Lookup: r.desk, Clicks: clicks, Digests: r.desk, Approvers: r.desk.may,
		View: links, Commands: r.desk, Logger: quiet, Now: r.desk.time,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = bot.Run(ctx) }) // it always returns nil
	door := httptest.NewServer(bot)
	r.SetInteractivityURL(door.URL)
	t.Cleanup(func() {
		door.Close()
		cancel()
		wg.Wait()
		if err := clicks.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// goOn shows the story as it is by now.
func (r *room) goOn(s *story) *room {
	r.t.Helper()
	_, msg := r.desk.now()
	r.desk.set(s, msg)
	if err := r.notifier.Update(r.t.Context(), msg.Channel, msg.TS, s.inc); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// thread posts the replies of the journal.
func (r *room) thread() *room {
	r.t.Helper()
	inc, msg := r.desk.now()
	for _, e := range inc.Journal {
		if !e.Thread {
			continue
		}
		if err := r.notifier.Reply(r.t.Context(), msg.Channel, msg.TS, inc, e); err != nil {
			r.t.Fatal(err)
		}
	}
	return r
}

// click has somebody click, on an older version of the message if one is named, and waits for the answer or the form.
func (r *room) click(user, action string, version int) *room {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), process.Patience)
	defer cancel()
	_, msg := r.desk.now()
	res, err := r.Click(ctx, fakeslack.ClickRequest{
		User: user, Channel: msg.Channel, MessageTS: msg.TS, ActionID: action, StaleVersion: version,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.Wait(ctx, func(s *fakeslack.Server) bool {
		for _, v := range s.Views() {
			if v.ClickID == res.ID {
				return true
			}
		}
		return len(s.Answers(res.ID)) > 0
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return r
}

// sent is what the bot sent to Slack for the scene.
func (s scene) sent(t *testing.T) any {
	t.Helper()
	type content struct {
		Title  string          `json:"title,omitempty"`
		Text   string          `json:"text,omitempty"`
		Blocks json.RawMessage `json:"blocks,omitempty"`
	}
	out := []content{}
	messages := s.server.Messages(channel)
	switch s.part {
	case theForm:
		for _, v := range s.server.Views() {
			out = append(out, content{Title: v.Title, Blocks: v.Blocks})
		}
	case theAnswers:
		for _, e := range s.server.Ephemerals() {
			if e.User == s.viewer {
				out = append(out, content{Text: e.Text, Blocks: e.Blocks})
			}
		}
	case theMessage:
		out = append(out, content{Text: messages[0].Text, Blocks: messages[0].Blocks})
	case theThread:
		for _, m := range s.server.Thread(channel, messages[0].TS) {
			out = append(out, content{Text: m.Text, Blocks: m.Blocks})
		}
	}
	if len(out) == 0 {
		t.Fatalf("there is nothing in the scene %s", s.file)
	}
	return out
}

// desk is the store and the engine behind the buttons, with the domain's own rules.
type desk struct {
	slack.Commands // nobody sends one here

	mu        sync.Mutex
	at        time.Time
	inc       incident.Incident
	msg       incident.Message
	approvers incident.Approvers
}

// Pauses is part of slack.Commands, which is asked before an approval, too: nothing is paused here.
func (*desk) Pauses(context.Context) ([]incident.Pause, error) { return nil, nil }

func (d *desk) set(s *story, msg incident.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.inc, d.msg = s.now, s.inc, msg
}

func (d *desk) now() (incident.Incident, incident.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inc, d.msg
}

func (d *desk) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *desk) may(string, incident.StepKind) incident.Approvers { return d.approvers }

func (d *desk) Incident(context.Context, string) (incident.Incident, error) {
	inc, _ := d.now()
	return inc, nil
}

func (d *desk) Unfold(context.Context, string, string) (int, error) { return 0, incident.ErrNotFound }

func (d *desk) Message(context.Context, string) (incident.Message, bool, error) {
	_, msg := d.now()
	return msg, true, nil
}

func (d *desk) Decide(ctx context.Context, id string, dec incident.Decision) (incident.Incident, error) {
	return d.Act(ctx, id, incident.Decided{Decision: dec})
}

func (d *desk) Act(_ context.Context, _ string, ev incident.Event) (incident.Incident, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	res, err := incident.Apply(d.inc, ev, d.at)
	if err == nil {
		d.inc = res.Incident
	}
	return d.inc, err
}
