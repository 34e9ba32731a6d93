package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// eventType names the metadata of our messages.
const eventType = "vllm_medic_incident"

// journalHead is how many digits of the journal's head a reply shows, which audit verify takes.
const journalHead = 12

// refusalBreak is how long no block of a kind is sent after Slack refused one.
const refusalBreak = time.Hour

// refusedKind is a kind of block that a Slack may not have. It is safe for concurrent use.
type refusedKind struct{ at atomic.Pointer[time.Time] }

// now notes that one was refused. The time is counted from by the monotonic clock, which nobody sets.
func (r *refusedKind) now() {
	now := time.Now()
	r.at.Store(&now)
}

func (r *refusedKind) recently() bool {
	at := r.at.Load()
	return at != nil && time.Since(*at) < refusalBreak
}

// Notifier shows incidents in Slack channels. It is a notify.Notifier and safe for concurrent use.
type Notifier struct {
	client    *Client
	view      ViewOptions
	broadcast bool
	logger    *slog.Logger
	// chart and fold are what Slack may refuse.
	chart, fold refusedKind
}

// NewNotifier returns a Notifier on the client. With broadcast, replies that call people show in the channel, too.
func NewNotifier(client *Client, view ViewOptions, broadcast bool, logger *slog.Logger) (*Notifier, error) {
	switch {
	case client == nil:
		return nil, errors.New("slack: the client is nil")
	case logger == nil:
		return nil, errors.New("slack: the logger is nil")
	}
	return &Notifier{client: client, view: view, broadcast: broadcast, logger: logger}, nil
}

// Post puts up the incident's message. It is never repeated by itself.
func (s *Notifier) Post(ctx context.Context, channel string, inc incident.Incident) (string, error) {
	return s.postAny(ctx, channel, inc.ID, s.forms(inc))
}

func (s *Notifier) postAny(ctx context.Context, channel, id string, forms []rendition) (string, error) {
	var ts string
	err := s.simplify(ctx, id, forms, func(opts []slackgo.MsgOption) error {
		return s.client.once(ctx, posting(channel), func(ctx context.Context) error {
			var err error
			_, ts, err = s.client.api().PostMessageContext(ctx, channel, append(opts, quiet(), metadata(id, 0))...)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return ts, nil
}

// Update draws the message again. It may be called any number of times.
func (s *Notifier) Update(ctx context.Context, channel, ts string, inc incident.Incident) error {
	return s.updateAny(ctx, channel, ts, inc.ID, s.forms(inc))
}

func (s *Notifier) updateAny(ctx context.Context, channel, ts, id string, forms []rendition) error {
	return s.simplify(ctx, id, forms, func(opts []slackgo.MsgOption) error {
		err := s.client.repeat(ctx, "chat.update", func(ctx context.Context) error {
			_, _, _, err := s.client.api().UpdateMessageContext(ctx, channel, ts, opts...)
			return err
		})
		s.client.health.channels.note(channel, err)
		return err
	})
}

// Reply adds a journal entry to the thread. It is never repeated by itself.
func (s *Notifier) Reply(ctx context.Context, channel, ts string, inc incident.Incident, e incident.Entry) error {
	blocks, text := renderEntry(inc, e)
	return s.replyAny(ctx, channel, ts, reply{inc.ID, e.Seq, blocks, text, len(e.Mention) > 0})
}

// replyAny posts to a thread, and posts simpler when Slack refuses that: one refused entry must not keep all that
// follow from the thread. What was refused was not shown.
func (s *Notifier) replyAny(ctx context.Context, channel, ts string, r reply) error {
	broadcast := s.broadcast && r.calls
	for {
		opts := []slackgo.MsgOption{metadata(r.id, r.seq)}
		if broadcast {
			opts = append(opts, slackgo.MsgOptionBroadcast())
		}
		err := s.client.reply(ctx, channel, ts, r.blocks, r.text, opts...)
		form := ""
		switch {
		case len(r.blocks) > 0 && refusedContent(err):
			r.blocks, form = nil, "text"
		case broadcast && refusedPlace(err):
			broadcast, form = false, "only in the thread"
		default:
			return err
		}
		s.logger.WarnContext(ctx, "slack refused a reply; a simpler form is sent", "incident", r.id, "form", form,
			"err", err)
	}
}

// reply posts to a thread. It is never repeated by itself.
func (c *Client) reply(ctx context.Context, channel, ts string, blocks []slackgo.Block, text string,
	opts ...slackgo.MsgOption,
) error {
	return c.once(ctx, posting(channel), func(ctx context.Context) error {
		_, _, err := c.api().PostMessageContext(ctx, channel, append(opts, slackgo.MsgOptionTS(ts),
			slackgo.MsgOptionText(text, false), slackgo.MsgOptionBlocks(blocks...), quiet())...)
		return err
	})
}

// simplify sends a message in the first of its forms, and sends it simpler when Slack refuses its content: without
// the chart or the fold, whichever it was, then shorter, then as text. A refused message was not shown, so that
// this cannot double it. What was refused is left out for a while, unless the message was only too long: not every
// workspace has the newest blocks.
func (s *Notifier) simplify(ctx context.Context, id string, forms []rendition, send func([]slackgo.MsgOption) error,
) error {
	var err error
	tooNew := true // whatever was refused so far was refused for its blocks
	for _, try := range forms {
		if err = send([]slackgo.MsgOption{
			slackgo.MsgOptionText(try.Text, false), slackgo.MsgOptionBlocks(try.Blocks...),
		}); !refusedContent(err) {
			for _, without := range try.without {
				if err == nil && tooNew {
					without.now()
				}
			}
			return err
		}
		tooNew = tooNew && refusedBlocks(err)
		s.logger.WarnContext(ctx, "slack refused how an incident looks; a simpler form is sent", "incident", id,
			"form", try.name, "err", err)
	}
	return err
}

// rendition is one way to send an incident, with what Slack must have refused when it takes this one.
type rendition struct {
	View
	name    string
	without []*refusedKind
}

// forms are the ways to send an incident, the fullest first. Two that would look the same are one.
func (s *Notifier) forms(inc incident.Incident) []rendition {
	full := s.view
	full.NoChart = full.NoChart || s.chart.recently()
	full.NoFold = full.NoFold || s.fold.recently()
	first := Render(inc, full)
	out := []rendition{{View: first, name: "full"}}
	noChart, noFold := full, full
	noChart.NoChart, noFold.NoFold = true, true
	charted, folded := has(first, slackgo.MBTDataVisualization), has(first, slackgo.MBTContainer)
	if charted {
		out = append(out, rendition{Render(inc, noChart), "without a chart", []*refusedKind{&s.chart}})
	}
	if folded {
		out = append(out, rendition{Render(inc, noFold), "without a fold", []*refusedKind{&s.fold}})
	}
	noChart.NoFold = true
	if charted && folded {
		out = append(out, rendition{Render(inc, noChart), "without chart and fold", []*refusedKind{&s.chart, &s.fold}})
	}
	noChart.Brief = true
	return append(out, rendition{View: Render(inc, noChart), name: "brief"},
		rendition{View: textOnly(inc, s.view), name: "text"})
}

func has(v View, kind slackgo.MessageBlockType) bool {
	return slices.ContainsFunc(v.Blocks, func(b slackgo.Block) bool { return b.BlockType() == kind })
}

// textOnly is the last resort: people must hear of the incident, and where they can decide.
func textOnly(inc incident.Incident, opts ViewOptions) View {
	text := push(inc)
	if opts.BaseURL != "" {
		text += " " + link(incidentURL(opts, inc), "Open the incident")
	}
	if inc.State == incident.StateDeciding {
		text += " Decide with: vllm-medic incidents show " + defuse(inc.ID, 100)
	}
	return View{Text: present.Clip(text, maxText)}
}

// renderEntry is a journal entry as a reply. One that calls people begins with their mentions, in the blocks and in
// the text, so that Slack notifies them: an edit of the message notifies nobody. What comes from elsewhere is text
// without markup, or escaped beside the mentions.
func renderEntry(inc incident.Incident, e incident.Entry) ([]slackgo.Block, string) {
	c := &composer{}
	spans, marks := present.Entry(e), ""
	plain := defuse(present.Plain(spans), 500)
	switch {
	case inc.Drill != nil:
		marks, plain = unreal(inc), unreal(inc)+plain
	case inc.DryRun && e.Said.Kind != incident.NoteDryRun:
		marks = "🧪 "
	}
	mentioned := strings.TrimSpace(called(e.Mention, maxCalled)) // who is asked and not called does not know
	config := preformatted(e.Said.Config, 25, 1300)
	if line := richSentence(spans, 1500); mentioned == "" && len(line) > 0 {
		c.rich(append(sections([]richLine{append(richLine{}.with(marks, nil), line...)}), config...)...)
	} else {
		c.section(strings.TrimSpace(mentioned + " " + marks + sentence(spans, 1500)))
		c.rich(config...)
	}
	if e.Hash != "" { // Slack keeps what nobody with nothing but the database can change: docs/audit.md
		c.context("journal `" + defuse(e.Hash[:min(len(e.Hash), journalHead)], 100) + "`")
	}
	return c.blocks, strings.TrimSpace(strings.TrimSpace(mentioned+" "+plain) + " " + reference(inc.ID, e.Seq))
}

// quiet keeps Slack from showing previews of links, which may lead to internal pages.
func quiet() slackgo.MsgOption {
	return slackgo.MsgOptionCompose(slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl())
}

func metadata(id string, seq int64) slackgo.MsgOption {
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{
		EventType: eventType, EventPayload: map[string]any{"incident_id": id, "seq": seq},
	})
}

// stamp is a time as Slack writes timestamps.
func stamp(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }
