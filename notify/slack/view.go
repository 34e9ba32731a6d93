package slack

import (
	"fmt"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// ViewOptions are the addresses for links; an empty one makes no link.
type ViewOptions struct {
	// BaseURL is where people reach the bot's pages, DocsURL where the runbook pages are, PrometheusURL where people reach
	// Prometheus. RunbooksURL is that of the bot's pages where these have the runbooks; DocsURL is empty then.
	BaseURL, DocsURL, RunbooksURL, PrometheusURL string
	// Elsewhere has the addresses of Grafana and Alertmanager.
	Elsewhere present.Elsewhere
	// NoChart shows a sparkline in place of the chart, for a Slack that refuses it.
	NoChart bool
	// NoFold shows what would be folded as one line of small print, for a Slack that refuses a container.
	NoFold bool
	// Brief leaves out what is not needed to decide.
	Brief bool
}

// View is one rendering of an incident.
type View struct {
	Blocks []slackgo.Block
	// Text is what notifications and screen readers get; it ends in the reference by which a lost message is found again.
	Text string
}

// detail is how much is shown. The first one that fits into Slack's limits is taken.
type detail struct {
	numbers int  // readings behind the cause, and lines of before and after
	never   int  // changes not to make; with 0 there is only a pointer to the page
	changes int  // recent changes
	alerts  int  // lines
	steps   int  // steps with a button, and lines about other ones
	diff    int  // lines of a manifest
	text    int  // characters of one foreign sentence
	name    int  // characters of a step's title
	chart   bool // or a sparkline
	queries bool // links to queries
	manual  int  // commands of manual steps in the open part
	rest    bool // what ranks behind everything else: other causes, other steps, checks
}

// details drop what ranks behind first, then recent changes, then what not to do, and the readings last.
func details() []detail {
	full := detail{
		numbers: 4, never: 4, changes: 2, alerts: 4, steps: 8, diff: 25, text: 300, name: 150, chart: true, queries: true,
		manual: 3, rest: true,
	}
	short := full
	short.text, short.queries, short.rest = 200, false, false
	calm := short
	calm.changes = 0
	bare := calm
	bare.never = 0
	return []detail{
		full, short, calm, bare,
		{numbers: 3, alerts: 2, steps: 6, diff: 10, text: 120, name: 100, chart: true, manual: 3},
		{numbers: 1, alerts: 1, steps: 5, diff: 5, text: 60, name: 60, manual: 1},
	}
}

// briefFrom is the first of the details that ViewOptions.Brief allows.
const briefFrom = 4

// Render draws an incident for Slack. It is pure, never fails, and its result keeps every documented limit: what is too
// much is shortened with a count of what is missing.
func Render(inc incident.Incident, opts ViewOptions) View {
	text := push(inc)
	levels := details()
	if opts.Brief {
		levels = levels[briefFrom:]
	}
	for _, d := range levels {
		c := &composer{opts: opts, detail: d}
		c.draw(inc)
		if n, err := size(c.blocks); err == nil && n <= maxTotal && len(c.blocks) <= maxBlocks {
			return View{Blocks: c.blocks, Text: text}
		}
	}
	// The last level fits by its numbers; a test holds that. Text alone is always right.
	only := slackgo.NewSectionBlock(mrkdwn(present.Clip(text, maxSection)), nil, nil)
	return View{Blocks: []slackgo.Block{only}, Text: text}
}

// draw puts the message together. What is asked, why, and the buttons come before everything else, so that they are on
// the first screen of a phone.
func (c *composer) draw(inc incident.Incident) {
	c.header(headline(inc))
	switch {
	case inc.Pool == "":
		c.unrouted(inc)
	case inc.State == incident.StateClosed:
		c.summary(inc)
	case inc.State == incident.StateDeciding:
		c.deciding(inc)
	case inc.State.Running():
		c.running(inc)
	case inc.State == incident.StateWatching:
		c.watching(inc)
	default:
		c.starting(inc)
	}
	c.footer(inc)
}

// reference names a message in its own text, for when its metadata did not survive.
func reference(id string, seq int64) string {
	id = defuse(id, 100)
	if seq == 0 {
		return "[" + id + "]"
	}
	return fmt.Sprintf("[%s/%d]", id, seq)
}
