package slack

import (
	"maps"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

func verdictIcon(v incident.Verdict) string {
	switch v {
	case incident.VerdictRecovered:
		return "✅"
	case incident.VerdictImproved:
		return "🟢"
	case incident.VerdictUnchanged:
		return "🟰"
	case incident.VerdictWorse:
		return "🔺"
	case incident.VerdictInconclusive:
		return "❔"
	default:
		return "❔"
	}
}

// verified is the verdict of a step's verification with the numbers before and after.
func (c *composer) verified(inc incident.Incident, s incident.Step) []string {
	v := s.Verification
	if v == nil {
		return nil
	}
	head := bold(present.Verdict(v.Verdict), 40)
	if inc.Active != nil && inc.Active.Step == s.ID && inc.State == incident.StateVerifying {
		head = "So far " + bold(string(v.Verdict), 40)
	}
	changes := c.beforeAfter(inc, *v)
	if len(changes) == 0 {
		return []string{head + ". " + escape(present.Verification(*v), c.detail.text)}
	}
	return append([]string{head + ":"}, changes...)
}

// beforeAfter compares the signals that decide about recovery, else those with a threshold.
func (c *composer) beforeAfter(inc incident.Incident, v incident.Verification) []string {
	var names []string
	if inc.Diagnosis != nil {
		names = slices.Clone(inc.Diagnosis.Healthy)
	}
	if len(names) == 0 {
		for _, n := range slices.Sorted(maps.Keys(v.After)) {
			if v.After[n].Threshold != nil {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	var out []string
	for _, n := range slices.Compact(names) {
		before, hasBefore := v.Before[n]
		after, hasAfter := v.After[n]
		silent := before.Value == nil && before.Error == "" && after.Value == nil && after.Error == ""
		if silent {
			continue // nothing was seen on either side; the thread says so
		}
		label := escape(present.Label(n, before, after), 60)
		out = append(out,
			"• "+label+" "+readingText(before, hasBefore)+" → *"+readingText(after, hasAfter)+"* "+escape(limitText(after), 60))
	}
	return capped(out, c.detail.evidence)
}

func readingText(r incident.Reading, known bool) string {
	if !known {
		return "not read"
	}
	return escape(strings.ReplaceAll(r.Text(), "*", ""), 60)
}

// summary is what is left to know when an incident is over.
func (c *composer) summary(inc incident.Incident) {
	var lines []string
	if inc.Diagnosis != nil {
		lines = append(lines, "*Cause:* "+escape(inc.Diagnosis.Summary, c.detail.text))
	}
	done := c.done(inc)
	if len(done) == 0 {
		done = []string{"*Nothing was changed.*"}
	}
	c.section(append(lines, done...)...)
}

// done lists what was turned, by whom, and what came of it.
func (c *composer) done(inc incident.Incident) []string {
	steps := slices.Clone(inc.AppliedEarlier)
	if inc.Plan != nil {
		steps = append(steps, inc.Plan.Steps...)
	}
	var lines []string
	for _, s := range steps {
		switch s.State {
		case incident.StepApplied, incident.StepUndone, incident.StepFailed, incident.StepReverted:
			lines = append(lines,
				stepIcon(inc, s)+" *"+escape(name(s), c.detail.name)+"*"+
					unset(s)+stateWord(inc, s)+record(inc, s, incident.Approve))
			if why := present.Reason(s); why != "" && (s.State == incident.StepFailed || s.Reverted != nil) {
				lines = append(lines, escape(why, c.detail.text))
			}
			lines = append(lines, c.verified(inc, s)...)
		case incident.StepDenied:
			lines = append(lines, "🚫 *"+escape(name(s), c.detail.name)+"*"+record(inc, s, incident.Deny))
		case incident.StepProposed, incident.StepApproved, incident.StepExpired, incident.StepSuperseded,
			incident.StepRefused,
			incident.StepApplying, incident.StepUndoing:
		}
	}
	return capped(lines, 4*c.detail.evidence)
}

// unrouted shows alerts that lead to no pool, and what to add to the configuration.
func (c *composer) unrouted(inc incident.Incident) {
	c.section(c.alerts(inc)...)
	if inc.State == incident.StateClosed {
		return
	}
	c.section(sentence(present.Note(inc), max(c.detail.text, 200)), fence(inc.Said.Config, 25, 1500))
}

// footer is where to read on, and what the message rests on.
func (c *composer) footer(inc incident.Incident) {
	var out []string
	if d := inc.Diagnosis; d != nil && d.Doc != "" && c.opts.DocsURL != "" {
		out = append(out, link(strings.TrimRight(c.opts.DocsURL, "/")+"/"+strings.TrimLeft(line(d.Doc), "/"), "Runbook"))
	}
	id := escape(inc.ID, 60)
	if c.opts.BaseURL != "" {
		id = link(incidentURL(c.opts, inc), "Incident "+id)
	}
	out = append(out, id)
	if inc.Diagnosis != nil && inc.Pool != "" {
		out = append(out, escape(strings.Join(inc.AlertNames(), ", "), 150))
	}
	out = append(out, cluster(inc)...)
	if !inc.ReadAt.IsZero() {
		out = append(out, "data as of "+clock(inc.ReadAt))
	}
	if inc.Dialect != "" {
		out = append(out, escape(inc.Dialect, 60))
	}
	if inc.Reopened > 0 {
		out = append(out, "reopened "+times(inc.Reopened))
	}
	c.context(out...)
}

func cluster(inc incident.Incident) []string {
	k := inc.Cluster
	if k.Error != "" || k.Workload.IsZero() {
		return nil
	}
	out := []string{strings.TrimSpace(escape(k.Workload.String(), 80) + " " + k.ReadyText())}
	if k.Autoscaler != "" {
		out = append(out, "scaled by "+escape(k.Autoscaler, 80))
	}
	return out
}
