package slack

import (
	"fmt"
	"regexp"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// deciding asks: the question with its deadline, why, what an approval does, and the buttons. Everything else is below
// them.
func (c *composer) deciding(inc incident.Incident) {
	if s, ok := present.Offered(inc); ok {
		c.rollback(inc, s)
		return
	}
	open := present.Questions(inc)
	if len(open) == 0 {
		c.section(sentence(present.Asked(inc), maxStatus), c.remark(inc))
		c.why(inc)
		c.doNow(inc)
		c.actions("actions", inc, c.general(inc)...)
		c.below(inc, nil)
		return
	}
	c.section(c.question(inc, open[0])...)
	c.why(inc)
	c.section(c.effect(inc, open)...)
	c.actions("decide", inc, c.choices(inc, open)...)
	c.below(inc, open)
}

// question is what is asked first, who may answer, and what happens without an answer.
func (c *composer) question(inc incident.Incident, s incident.Step) []string {
	title := strings.TrimRight(escape(present.Name(s), c.detail.name), ".?")
	lines := []string{}
	switch given := len(s.Approvals); {
	case inc.Drill != nil:
		lines = append(lines, "*DRILL: would you approve this?* "+title+unset(s)+"."+mentions(s.Needs))
	case inc.DryRun:
		lines = append(lines, "*Dry run: would you approve this?* "+title+unset(s)+"."+mentions(s.Needs))
	case given > 0 && given < s.Needs.Approvals:
		lines = append(lines, fmt.Sprintf("*%d of %d approvals* (%s). %s: *%s?*%s%s", given, s.Needs.Approvals,
			people(s.Approvals), sentence(present.Missing(inc, s), maxStatus), title, unset(s), mentions(s.Needs)))
	default:
		lines = append(lines, "*"+title+"?*"+unset(s)+mentions(s.Needs))
	}
	switch {
	case s.Needs.Restart && inc.Drill != nil:
		lines = append(lines, "⚠️ *In a real incident this would restart the pods.*")
	case s.Needs.Restart:
		lines = append(lines, "⚠️ *This restarts the pods.*")
	}
	return append(lines, sentence(present.Asked(inc), maxStatus), c.remark(inc))
}

// remark is the domain's word on why the incident is where it is, where the message does not say it in other places.
func (c *composer) remark(inc incident.Incident) string {
	if inc.Diagnosis == nil && unread(inc) {
		return "" // what could not be read is said below
	}
	return sentence(present.Remark(inc), c.detail.text)
}

// rollback asks about a step that did not help. Nothing else is asked at the same time.
func (c *composer) rollback(inc incident.Incident, s incident.Step) {
	lines := []string{strings.TrimRight(
		"*Roll back to "+escape(present.ValueText(s.Undo), 40)+"?*"+mentions(s.Needs)+" "+
			sentence(present.Asked(inc), maxStatus), " ")}
	if s.Needs.Restart {
		lines = append(lines, "⚠️ *Restarts the pods* once more.")
	}
	c.section(lines...)
	c.section(c.outcome(inc, s)...)
	c.actions("undo", inc, c.rollbackChoices(inc, s)...)
	if open := inc.Proposed(); len(open) > 0 {
		c.context("Decide this first. Next option afterwards: " + escape(present.Change(open[0]), 80) + ".")
	}
	c.below(inc, nil)
}

// choices are one button for each open step, and one denial for all of them.
func (c *composer) choices(inc incident.Incident, open []incident.Step) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	for n, s := range open[:min(len(open), c.detail.steps)] {
		if b, ok := approveButton(inc, s, n > 0); ok {
			out = append(out, b)
		}
	}
	if b, ok := denyAllButton(inc); ok {
		out = append(out, b)
	}
	return append(out, c.general(inc)...)
}

// rollbacks are the rollbacks of what was applied before, below what is asked now: the latest, and not more than
// anybody tells apart.
func rollbacks(inc incident.Incident) []slackgo.BlockElement {
	const most = 3
	var out []slackgo.BlockElement
	for _, s := range inc.Undoable() {
		if b, ok := undoButton(inc, s); ok && len(out) < most {
			out = append(out, b)
		}
	}
	return out
}

func (c *composer) rollbackChoices(inc incident.Incident, s incident.Step) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	if b, ok := undoButton(inc, s); ok {
		out = append(out, b)
	}
	if b, ok := keepButton(inc, s); ok {
		out = append(out, b)
	}
	return append(out, c.general(inc)...)
}

// general are the buttons that decide on no step.
func (c *composer) general(inc incident.Incident) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	if inc.AckedBy == nil && inc.HealthySince.IsZero() {
		out = append(out, generalButton(inc, actionAck, "Acknowledge"))
	}
	if inc.Diagnosis != nil || len(inc.Readings) > 0 {
		out = append(out, generalButton(inc, actionDetails, "Details"))
	}
	return out
}

var groupID = regexp.MustCompile(`^S[A-Z0-9]{2,20}$`)

// maxMentions bounds the approvers that the message names; a list of everybody names nobody.
const maxMentions = 5

// mentions are the approvers, with a space before them. Only what has the form of an id of Slack is a mention.
func mentions(n incident.Needs) string {
	return addressed(append(append([]string{}, n.Groups...), n.Users...))
}

// addressed are mentions of the first few, with a space before them.
func addressed(ids []string) string { return called(ids, maxMentions) }

// called are mentions of the first most ids, with a space before them, and a count of the others.
func called(ids []string, most int) string {
	text, left := "", 0
	for _, id := range ids {
		tag := ""
		switch {
		case groupID.MatchString(id):
			tag = " <!subteam^" + id + ">"
		case userID.MatchString(id):
			tag = " <@" + id + ">"
		default:
			continue
		}
		if strings.Contains(text, tag) {
			continue
		}
		if strings.Count(text, "<") == most {
			left++
			continue
		}
		text += tag
	}
	if left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// people names who did something.
func people(all []incident.Actor) string {
	names := make([]string, 0, maxMentions)
	for _, a := range all[:min(maxMentions, len(all))] {
		names = append(names, who(a))
	}
	return strings.Join(names, ", ")
}
