package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// chartBreak is how long no chart is sent after Slack refused one.
const chartBreak = time.Hour

// Notifier shows incidents in Slack channels. It is a notify.Notifier and safe for concurrent use.
type Notifier struct {
	client *Client
	view   ViewOptions
	logger *slog.Logger
	// chartless is when Slack last refused a chart; nil when it never did.
	chartless atomic.Pointer[time.Time]
}

// NewNotifier returns a Notifier on the client.
func NewNotifier(client *Client, view ViewOptions, logger *slog.Logger) (*Notifier, error) {
	switch {
	case client == nil:
		return nil, errors.New("slack: the client is nil")
	case logger == nil:
		return nil, errors.New("slack: the logger is nil")
	}
	return &Notifier{client: client, view: view, logger: logger}, nil
}

// Post puts up the incident's message. It is never repeated by itself.
func (s *Notifier) Post(ctx context.Context, channel string, inc incident.Incident) (string, error) {
	var ts string
	err := s.simplify(ctx, inc, func(opts []slackgo.MsgOption) error {
		return s.client.once(ctx, "chat.postMessage", func(ctx context.Context) error {
			var err error
			_, ts, err = s.client.api.PostMessageContext(ctx, channel, append(opts, quiet(), metadata(inc.ID, 0))...)
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
	return s.simplify(ctx, inc, func(opts []slackgo.MsgOption) error {
		return s.client.repeat(ctx, "chat.update", func(ctx context.Context) error {
			_, _, _, err := s.client.api.UpdateMessageContext(ctx, channel, ts, opts...)
			return err
		})
	})
}

// Reply adds a journal entry to the thread. It is never repeated by itself.
func (s *Notifier) Reply(ctx context.Context, channel, ts string, inc incident.Incident, e incident.Entry) error {
	blocks, text := renderEntry(inc, e)
	return s.client.reply(ctx, channel, ts, blocks, text, metadata(inc.ID, e.Seq))
}

// reply posts to a thread. It is never repeated by itself.
func (c *Client) reply(ctx context.Context, channel, ts string, blocks []slackgo.Block, text string,
	opts ...slackgo.MsgOption,
) error {
	return c.once(ctx, "chat.postMessage", func(ctx context.Context) error {
		_, _, err := c.api.PostMessageContext(ctx, channel, append(opts, slackgo.MsgOptionTS(ts),
			slackgo.MsgOptionText(text, false), slackgo.MsgOptionBlocks(blocks...), quiet())...)
		return err
	})
}

// simplify sends the incident, and sends it simpler when Slack refuses its content: without the chart, then shorter,
// then as text. A refused message was not shown, so that this cannot double it.
func (s *Notifier) simplify(ctx context.Context, inc incident.Incident, send func([]slackgo.MsgOption) error) error {
	full := s.view
	refused := s.chartless.Load()
	full.NoChart = full.NoChart || (refused != nil && time.Since(*refused) < chartBreak)
	plainer := full
	plainer.NoChart = true
	brief := plainer
	brief.Brief = true
	var err error
	for n, opts := range []ViewOptions{full, plainer, brief, {}} {
		v := Render(inc, opts)
		if n == 1 && !hasChart(Render(inc, full)) {
			continue
		}
		if n == 3 {
			v = textOnly(inc, s.view)
		}
		if err = send([]slackgo.MsgOption{
			slackgo.MsgOptionText(v.Text, false),
			slackgo.MsgOptionBlocks(v.Blocks...),
		}); !refusedContent(err) {
			if n == 1 && err == nil {
				now := time.Now() // counted from by the monotonic clock, which nobody sets
				s.chartless.Store(&now)
			}
			return err
		}
		s.logger.WarnContext(ctx, "slack refused how an incident looks; a simpler form is sent", "incident", inc.ID,
			"attempt", n+1, "err", err)
	}
	return err
}

func hasChart(v View) bool {
	for _, b := range v.Blocks {
		if b.BlockType() == slackgo.MBTDataVisualization {
			return true
		}
	}
	return false
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
	return View{Text: clip(text, maxText)}
}

// renderEntry is a journal entry as a reply. One that calls people begins with their mentions, in the blocks and in the
// text, so that Slack notifies them: an edit of the message notifies nobody. What comes from elsewhere stays escaped.
func renderEntry(inc incident.Incident, e incident.Entry) ([]slackgo.Block, string) {
	c := &composer{}
	text := sentence(present.Entry(e), 1500)
	if inc.DryRun && e.Said.Kind != incident.NoteDryRun {
		text = "🧪 " + text
	}
	called := strings.TrimSpace(addressed(e.Mention))
	c.section(strings.TrimSpace(called+" "+text), fence(e.Said.Config, 25, 1300))
	if e.Hash != "" { // Slack keeps what nobody with nothing but the database can change: docs/audit.md
		c.context("journal `" + defuse(e.Hash[:min(len(e.Hash), journalHead)], 100) + "`")
	}
	plain := defuse(present.Plain(present.Entry(e)), 500)
	return c.blocks, strings.TrimSpace(strings.TrimSpace(called+" "+plain) + " " + reference(inc.ID, e.Seq))
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
