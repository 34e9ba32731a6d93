package slack

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxCaution bounds one entry of the never list or one unusual thing, in characters: a long line on a wide screen, and
// longer than any entry of the built-in playbooks, so that the reason stays.
const maxCaution = 180

// cautions shows in one block what would make it worse and what is unusual. The first keeps a person from a change that
// suggests itself, also after a step that did not help; the second is only as old as the diagnosis.
func (c *composer) cautions(inc incident.Incident) {
	d := inc.Diagnosis
	if d == nil || inc.State.Running() || !inc.HealthySince.IsZero() {
		return
	}
	lines := c.nevers(inc, sentences(present.Nevers(d.Never)))
	if !outdated(inc) {
		lines = append(lines, listed("🔎 *Unusual:* ", sentences(d.Unusual), c.detail.unusual)...)
	}
	c.section(lines...)
}

// nevers says that there is a list even where it is too long to be shown: whoever does not see it must not think that
// everything is allowed.
func (c *composer) nevers(inc incident.Incident, all []string) []string {
	if c.detail.never > 0 || len(all) == 0 {
		return listed("✋ *Do not* ", all, c.detail.never)
	}
	text := "Do not do this now"
	if c.opts.BaseURL != "" {
		text = link(incidentURL(c.opts, inc), text)
	}
	return []string{fmt.Sprintf("✋ %s: %d on the incident's page", text, len(all))}
}

// listed shows the first lines and counts the others at the end of the last one.
func listed(mark string, all []string, most int) []string {
	shown := all[:min(most, len(all))]
	lines := make([]string, 0, len(shown))
	for _, s := range shown {
		lines = append(lines, mark+escape(s, maxCaution))
	}
	if left := len(all) - len(shown); left > 0 && len(lines) > 0 {
		lines[len(lines)-1] += " _" + more(left) + "_"
	}
	return lines
}

// sentences puts each text on one line and drops the empty ones.
func sentences(all []string) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, line(s))
	}
	return nonEmpty(out)
}
