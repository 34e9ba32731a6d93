package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxCaution bounds one recent change, in characters.
const maxCaution = 160

// changesBefore is how long before the incident something may have changed so that it is named.
const changesBefore = 2 * time.Hour

// below is what ranks after the buttons: what the other buttons do, what not to do, what changed recently, the chart,
// and everything else.
func (c *composer) below(inc incident.Incident, open []incident.Step) {
	if !c.detail.rest {
		c.context(c.exact(inc, open)...)
	}
	c.context(slices.Concat(c.instead(inc, open), c.shrunk(open), c.blocked(inc))...)
	if len(open) > 0 {
		c.actions("undo", inc, rollbacks(inc)...)
	}
	if advised(inc) {
		c.rich(sections(c.manual(inc))...)
	}
	c.section(slices.Concat(c.nevers(inc), c.recent(inc))...)
	c.picture(inc)
	c.rest(inc, open)
}

// nevers is one line with the changes that would make it worse, or at least says that there are some: whoever does not
// see them must not think that everything is allowed.
func (c *composer) nevers(inc incident.Incident) []string {
	d := inc.Diagnosis
	if d == nil || !inc.HealthySince.IsZero() && !present.FollowUp(inc) {
		return nil
	}
	var all []string
	for _, n := range d.Never {
		change, knob := present.Line(n.Change), present.Line(n.Knob)
		switch {
		case change+knob == "":
		case strings.HasSuffix(knob, "pods"):
			all = append(all, escape(n.What(), 80))
		default:
			all = append(all, strings.TrimSpace(escape(change, 40)+" "+code(knob, 60)))
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case c.detail.never == 0:
		text := "Changes that make this worse"
		if c.opts.BaseURL != "" {
			text = link(incidentURL(c.opts, inc), text)
		}
		return []string{fmt.Sprintf("⚠️ %s: %d on the incident's page.", text, len(all))}
	}
	shown := all[:min(len(all), c.detail.never)]
	text, ending := strings.Join(shown, ", "), "."
	if n := len(shown); n > 1 {
		text = strings.Join(shown[:n-1], ", ") + " or " + shown[n-1]
	}
	if n := len(all) - len(shown); n > 0 {
		ending += " _" + present.More(n) + "_"
	}
	return []string{"⚠️ *Don't* " + text + ending}
}

// recent are the newest changes around the pool before the incident that the bot did not make itself.
func (c *composer) recent(inc incident.Incident) []string {
	if !inc.HealthySince.IsZero() {
		return nil
	}
	var out []string
	for _, ch := range inc.Cluster.Changes {
		before := inc.OpenedAt.Sub(ch.At)
		if ch.Own || present.ToldByLastLine(inc, ch) || ch.At.IsZero() || before > changesBefore ||
			len(out) == c.detail.changes {
			continue
		}
		when := ""
		if before > 0 {
			when = ", " + incident.FormatDuration(before) + " before the first alert"
		}
		out = append(out, "🕑 *Changed at "+clock(ch.At)+when+":* "+
			escape(present.Line(ch.Object)+": "+strings.TrimRight(present.Line(ch.Text), "."), maxCaution))
	}
	return out
}

// picture is the chart, or a line of text where it cannot be shown. Readings of before a change are no picture of now.
func (c *composer) picture(inc incident.Incident) {
	if !c.detail.chart || present.Stale(inc) {
		return
	}
	if b := chart(inc); b != nil && !c.opts.NoChart {
		c.add(b)
		return
	}
	if !c.opts.NoFold { // in a Slack without folds and charts the page has it: more cannot be read at once
		c.context(sparkline(inc))
	}
}

// rest is what ranks behind everything else: the exact change, advice for people, other causes, and the checks. It is
// folded, so that it takes one line until somebody asks for it; where Slack has no folds that line says where to ask.
func (c *composer) rest(inc incident.Incident, open []incident.Step) {
	if !c.detail.rest {
		return
	}
	var manual []slackgo.RichTextElement
	advices := 0
	var others []string
	checks := checksOf(open)
	if !advised(inc) {
		manual, advices = c.folded(inc), len(c.manual(inc))
	}
	if !present.Outdated(inc) {
		if also := holding(inc, false); also != "" {
			others = append(others, "Also seen: "+also)
		}
		if also := holding(inc, true); also != "" {
			others = append(others, "Also seen, likely a symptom: "+also)
		}
		if open := undecided(inc); open != "" && !blind(inc) { // without a value that is every cause
			others = append(others, "Can't rule out: "+open)
		}
	}
	if d := inc.Diagnosis; d != nil {
		others = append(others, nonEmpty([]string{exact(present.Unmatched(*d), 250)})...)
	}
	skipped := c.skipped(inc)
	inner := &composer{opts: c.opts, detail: c.detail}
	inner.context(c.exact(inc, open)...)
	inner.rich(manual...)
	inner.smallProse(others...)
	inner.smallProse(skipped...)
	inner.smallProse(checks...)
	if len(inner.blocks) == 0 {
		return
	}
	var title []string
	if len(open) > 0 {
		title = append(title, "Exact change")
	}
	if n := passed(open); n > 0 && !c.opts.NoFold { // else the last line says it
		title = append(title, present.Counted(n, "safety check")+" passed")
	}
	if n := advices; n > 0 {
		title = append(title, present.Counted(n, "manual option"))
	}
	if len(others) > 0 && len(title) == 0 {
		title = append(title, "Other causes")
	}
	if n := len(skipped); n > 0 && len(title) == 0 { // else it is worth no words on the line that is always seen
		title = append(title, present.Counted(n, "skipped step"))
	}
	switch {
	case !c.opts.NoFold:
		c.add(slackgo.NewContainerBlock(inner.blocks...).WithTitle(plain(cmp.Or(strings.Join(title, " · "), "More"))).
			WithCollapsible(true, true))
	case len(title) > 0:
		c.context(strings.Join(title, " · ") + " (see *Details*)")
	}
}

// maxChecks bounds the checks that are listed; there are fewer guardrails than that.
const maxChecks = 12

// checksOf is what the checks say of the steps that are asked about, each thing once, in text without markup.
func checksOf(open []incident.Step) []string {
	var out []string
	for _, s := range open {
		texts := []string{}
		for _, g := range s.Guardrails {
			if g.Verdict == incident.GuardPass {
				texts = append(texts, present.Guardrail(g))
			}
		}
		if s.Checked.OK {
			texts = append(texts, present.Checked(s.Checked))
		}
		for _, text := range texts {
			if text = "✓ " + exact(text, 120); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return present.Capped(out, maxChecks)
}

// holding are the names of the diagnoses that hold besides the chosen one and are not told above: those that it
// explains, or those that it doesn't; the page has why.
func holding(inc incident.Incident, symptoms bool) string {
	var found []string
	for _, o := range inc.Others {
		if o.Verdict == incident.True && o.Symptom == symptoms && inc.Diagnosis != nil && !present.Doubted(inc, o.Name) {
			found = append(found, o.Name)
		}
	}
	return names(found)
}

// undecided are the diagnoses that could not be ruled out although somebody looked; the page has why.
func undecided(inc incident.Incident) string {
	rest, _ := incident.SplitNotEvaluated(inc.Others)
	var found []string
	for _, o := range rest {
		if o.Verdict == incident.Undecided && !present.Doubted(inc, o.Name) {
			found = append(found, o.Name)
		}
	}
	return names(found)
}

// names lists the first of some diagnoses, in text without markup.
func names(all []string) string {
	const most = 3
	var out []string
	for _, name := range all[:min(len(all), most)] {
		out = append(out, exact(incident.CauseWords(name), 60))
	}
	if len(all) > most {
		out = append(out, present.More(len(all)-most))
	}
	return strings.Join(out, ", ")
}

// footer is where to read on, and what the message rests on.
func (c *composer) footer(inc incident.Incident) {
	var out []string
	if open := inc.Proposed(); inc.State == incident.StateDeciding && inc.UndoOffered == "" {
		if n := passed(open); n > 0 && (c.opts.NoFold || !c.detail.rest) {
			out = append(out, "✓ "+present.Counted(n, "safety check")+" passed")
		}
		out = append(out, unchecked(open)...)
	}
	if inc.AckedBy != nil && inc.State != incident.StateClosed {
		out = append(out, "acknowledged by "+who(*inc.AckedBy))
	}
	if c.opts.BaseURL != "" {
		text := "Evidence"
		if inc.Pool == "" {
			text = "Incident page"
		}
		out = append(out, link(incidentURL(c.opts, inc), text))
	}
	if page := present.RunbookURL(c.opts.DocsURL, c.opts.RunbooksURL, present.CauseOf(inc)); page != "" {
		out = append(out, link(page, "Runbook"))
	}
	out = append(out, c.elsewhere(inc)...)
	out = append(out, escape(inc.ID, 60))
	if inc.Pool != "" && !c.listed { // else they are the message
		names := slices.Sorted(slices.Values(inc.AlertNames()))
		out = append(out, escape(strings.Join(names, ", "), 100))
	}
	if text := present.NotKept(inc); text != "" {
		out = append(out, text)
	}
	if !inc.ReadAt.IsZero() && inc.State != incident.StateClosed {
		out = append(out, "data as of "+clock(inc.ReadAt))
	}
	if inc.Reopened > 0 {
		out = append(out, "reopened "+times(inc.Reopened))
	}
	c.context(out...)
}

// elsewhere are the links to other systems; one that is too long for a message is left out.
func (c *composer) elsewhere(inc incident.Incident) []string {
	var out []string
	add := func(address, text string) {
		if linked := link(address, text); linked != text {
			out = append(out, linked)
		}
	}
	add(c.opts.Elsewhere.GrafanaURL(inc), "Grafana")
	add(c.opts.Elsewhere.SilenceURL(inc), "Silence")
	return out
}

// skipped are the steps of the playbook that are not proposed, while the diagnosis is what the incident is about now.
func (c *composer) skipped(inc incident.Incident) []string {
	var out []string
	if d := inc.Diagnosis; d != nil && !present.Outdated(inc) {
		for _, text := range d.Skipped {
			out = append(out, "Skipped "+exact(text, c.detail.text))
		}
	}
	return out
}
