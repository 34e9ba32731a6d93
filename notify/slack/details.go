package slack

import (
	"context"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxDetails bounds the lines of one part of the details.
const maxDetails = 25

// postDetails puts the details into the incident's thread, for everybody who reads along.
func (i *Interactions) postDetails(ctx context.Context, c click, inc incident.Incident) error {
	blocks, text := renderDetails(inc, incident.Actor{Kind: incident.ActorSlack, ID: c.User}, i.view)
	return i.client.reply(ctx, c.Channel, c.MessageTS, blocks, text)
}

// renderDetails are the readings with their queries, what decided and what did not, and the checks of each step: what
// the message leaves out. It keeps Slack's limits as Render does.
func renderDetails(inc incident.Incident, by incident.Actor, opts ViewOptions) ([]slackgo.Block, string) {
	var c *composer
	for _, most := range []int{maxDetails, 10, 4} {
		c = &composer{opts: opts, detail: detail{text: 300, name: 150, steps: most, diff: most, queries: most == maxDetails}}
		c.drawDetails(inc, by, most)
		if n, err := size(c.blocks); err == nil && n <= maxTotal {
			break
		}
	}
	return c.blocks, "Details of " + defuse(present.About(inc), 100) + " " + reference(inc.ID, 0)
}

func (c *composer) drawDetails(inc incident.Incident, by incident.Actor, most int) {
	head := "*Details*, requested by " + who(by)
	if !inc.ReadAt.IsZero() {
		head += ". Data as of " + clock(inc.ReadAt)
	}
	c.section(head + ".")
	if d := inc.Diagnosis; d != nil {
		c.rich(sections([]richLine{
			richLine{}.with("Diagnosis: "+exact(incident.CauseWords(d.Name), 60), asBold),
			richLine{}.with(exact(d.Summary, 600), nil),
		})...)
		c.section(present.Capped(c.evidence(inc), most)...)
		c.rich(slices.Concat(titledBullets("Don't:", present.Nevers(d.Never), most),
			titledBullets("Unusual:", d.Unusual, most), titledBullets("Skipped:", d.Skipped, most))...)
	}
	c.rich(titledBullets("Other causes:", otherCauses(inc), most)...)
	c.section(titled("*Readings:*", present.Capped(c.readings(inc), most))...)
	for _, s := range present.Planned(inc)[:min(len(present.Planned(inc)), most)] {
		c.rich(c.stepDetails(s, most)...)
	}
	c.footer(inc)
}

func titled(title string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append([]string{title}, lines...)
}

// titledBullets are texts of others as a list below a title of ours.
func titledBullets(title string, texts []string, most int) []slackgo.RichTextElement {
	var lines []richLine
	for _, text := range texts {
		lines = append(lines, richLine{}.with(exact(text, 300), nil))
	}
	list := richBullets(lines, most)
	if len(list) == 0 {
		return nil
	}
	return append(sections([]richLine{richLine{}.with(title, asBold)}), list...)
}

// evidence are the conditions that decided, and those that are open.
func (c *composer) evidence(inc incident.Incident) []string {
	var out []string
	for _, e := range inc.Diagnosis.Evidence {
		mark := "• "
		if e.Truth == incident.Undecided {
			mark = "• undecided: "
		}
		if e.Truth != incident.False {
			out = append(out, mark+c.number(inc, []incident.Condition{e}))
		}
	}
	return out
}

// otherCauses are the diagnoses that hold too, that could not be ruled out, and that nobody could look for.
func otherCauses(inc incident.Incident) []string {
	rest, unread := incident.SplitNotEvaluated(inc.Others)
	var out []string
	for _, o := range rest {
		name, why := exact(incident.CauseWords(o.Name), 60), strings.TrimRight(exact(o.Why, 200), ".")
		if why != "" {
			why = " (" + why + ")"
		}
		switch o.Verdict {
		case incident.True:
			out = append(out, "also seen: "+name+why)
		case incident.Undecided:
			out = append(out, "can't rule out: "+name+why)
		case incident.False:
		}
	}
	for _, u := range unread {
		out = append(out, "not checked ("+exact(u.Why, 150)+"): "+names(u.Names))
	}
	return out
}

// readings are all signals with their limits, each linked to its query where people reach Prometheus, else with it.
func (c *composer) readings(inc incident.Incident) []string {
	var out []string
	for _, name := range sortedKeys(inc.Readings) {
		r := inc.Readings[name]
		label := escape(r.Label(), 60)
		if label == "" {
			label = escape(name, 60)
		}
		query := ""
		switch address := present.QueryURL(c.opts.PrometheusURL, r.Query); {
		case !c.detail.queries:
		case address != "":
			label = link(address, label)
		case r.Query != "":
			query = " " + code(r.Query, 200)
		}
		usually := ""
		if text := present.Usually(r); text != "" {
			usually = ", " + escape(text, 100)
		}
		out = append(out, "• "+label+" *"+readingText(r)+"*"+beyondText(r)+usually+query)
	}
	return out
}

// stepDetails is a step with its change and everything that was checked about it.
func (c *composer) stepDetails(s incident.Step, most int) []slackgo.RichTextElement {
	lines := []richLine{
		richLine{}.with(exact(present.Name(s), 300), asBold).with(" ("+exact(string(s.State), 20)+")", nil),
		richLine{}.with(exact(s.Why, 300), nil),
	}
	if all := present.Commands(s); len(all) > 0 {
		return append(sections(lines), c.commands(all, most)...)
	}
	for n, g := range s.Guardrails {
		if n == most {
			lines = append(lines, richLine{}.with(present.More(len(s.Guardrails)-n), nil))
			break
		}
		mark := "✓ "
		switch {
		case g.Refuses():
			mark = "blocked: "
		case g.Verdict == incident.GuardCaution:
			mark = "⚠️ "
		case g.Verdict == incident.GuardShrink:
			mark = "limited: "
		}
		lines = append(lines, richLine{}.with(mark+exact(g.Name, 40)+": "+exact(present.Guardrail(g), 200), nil))
	}
	return append(sections(lines), preformatted(s.Diff, c.detail.diff, 700)...)
}
