package slack

import (
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// ViewOptions are the addresses for links; an empty one makes no link.
type ViewOptions struct {
	// BaseURL is where people reach the bot's pages, DocsURL where the runbook pages are, PrometheusURL where people reach
	// Prometheus.
	BaseURL, DocsURL, PrometheusURL string
	// NoChart shows sparklines in place of the chart, for a Slack that refuses it.
	NoChart bool
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
	evidence  int  // lines
	never     int  // lines; with 0 there is only a pointer to the page
	unusual   int  // lines
	alerts    int  // lines
	steps     int  // steps
	diff      int  // lines of a diff or manifest
	text      int  // characters of one foreign sentence
	name      int  // characters of a step's title
	passes    bool // reasons of guardrails that pass
	chart     bool
	queries   bool // links to queries
	undecided int  // other diagnoses
}

// details drop what is unusual before what not to do, and that before the evidence.
func details() []detail {
	full := detail{
		evidence: 6, never: 3, unusual: 3, alerts: 4, steps: 8, diff: 12, text: 300, name: 150, passes: true, chart: true,
		queries: true, undecided: 2,
	}
	short := full
	short.diff, short.text, short.passes, short.queries, short.undecided = 5, 200, false, false, 1
	calm := short
	calm.unusual = 0
	bare := calm
	bare.never = 0
	return []detail{
		full, short, calm, bare,
		{evidence: 4, alerts: 2, steps: 6, text: 120, name: 100, chart: true},
		{evidence: 2, alerts: 1, steps: 5, text: 60, name: 60},
	}
}

// briefFrom is the first of the details that ViewOptions.Brief allows.
const briefFrom = 4

// Render draws an incident for Slack. It is pure, never fails, and its result keeps every documented limit: what is too
// much is shortened with a count of what is missing.
func Render(inc incident.Incident, opts ViewOptions) View {
	text := fallback(inc)
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
	return View{Blocks: []slackgo.Block{slackgo.NewSectionBlock(mrkdwn(clip(text, maxSection)), nil, nil)}, Text: text}
}

// draw puts the message together: what happened, what is going on, why, and what is proposed.
func (c *composer) draw(inc incident.Incident) {
	c.header(headline(inc))
	c.status(inc)
	switch {
	case inc.Pool == "":
		c.unrouted(inc)
	case inc.State == incident.StateClosed:
		c.summary(inc)
	default:
		c.focus(inc)
		c.diagnosis(inc)
		c.cautions(inc)
		c.picture(inc)
		c.appliedEarlier(inc)
		c.plan(inc)
	}
	c.footer(inc)
}

// headline says what happened and how bad it is.
func headline(inc incident.Incident) string {
	dryRun := ""
	if inc.DryRun {
		dryRun = "DRY RUN · "
	}
	pool := clip(line(inc.Pool), 60)
	names := clip(line(strings.Join(inc.AlertNames(), ", ")), 90)
	switch {
	case inc.Pool == "" && inc.State == incident.StateClosed:
		return dryRun + "⚪ Closed: alerts without a pool: " + names
	case inc.Pool == "":
		return dryRun + "🟠 No pool for: " + names
	case inc.State == incident.StateClosed && !inc.HealthySince.IsZero():
		return dryRun + "✅ " + pool + ": recovered after " + incident.FormatDuration(inc.HealthySince.Sub(inc.OpenedAt))
	case inc.State == incident.StateClosed:
		return dryRun + "⚪ " + pool + ": closed after " + incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt))
	case !inc.HealthySince.IsZero():
		return dryRun + "🟢 " + pool + ": healthy again"
	}
	what := names
	if r, ok := present.Worst(inc); ok {
		what = clip(line(r.Label()), 50) + " " + r.Text() + limitText(r)
	}
	return dryRun + severityIcon(inc) + " " + pool + ": " + what
}

func severityIcon(inc incident.Incident) string {
	switch inc.Severity() {
	case "critical", "page":
		return "🔴"
	case "warning":
		return "🟠"
	default:
		return "🟡"
	}
}

// limitText is a reading's limit in brackets, with a space before it.
func limitText(r incident.Reading) string {
	if text := present.Limit(r); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// fallback is the text for notifications, which cannot show blocks.
func fallback(inc incident.Incident) string {
	parts := []string{defuse(headline(inc), maxHeader*2)}
	if inc.Diagnosis != nil && inc.State != incident.StateClosed {
		parts = append(parts, defuse(inc.Diagnosis.Summary, 300))
	}
	if steps := inc.Proposed(); inc.State == incident.StateDeciding && len(steps) > 0 {
		parts = append(parts, "Needs approval: "+defuse(verb(steps[0], incident.OpApply), 100))
	} else {
		parts = append(parts, "State: "+string(inc.State))
	}
	parts = nonEmpty(parts)
	for i, p := range parts {
		if p = strings.TrimSpace(p); !strings.HasSuffix(p, ".") && !strings.HasSuffix(p, "?") && !strings.HasSuffix(p, "!") {
			p += "."
		}
		parts[i] = p
	}
	return strings.Join(append(parts, reference(inc.ID, 0)), " ")
}

// reference names a message in its own text, for when its metadata did not survive.
func reference(id string, seq int64) string {
	id = defuse(id, 100)
	if seq == 0 {
		return "[" + id + "]"
	}
	return fmt.Sprintf("[%s/%d]", id, seq)
}
