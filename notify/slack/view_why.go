package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// why says the cause in one sentence with the readings that show it, or lists the alerts while there is no cause, and
// says what could not be read. What others wrote stands in blocks without formatting.
func (c *composer) why(inc incident.Incident) {
	lines := c.soFar(inc)
	if inc.Diagnosis == nil {
		c.section(lines...)
		c.alerts(inc)
	} else {
		current := !present.Outdated(inc) || present.FollowUp(inc)
		head := "*Why:* "
		if !current && present.Changed(inc) {
			head = "*Cause before the change:* "
		}
		switch pods := c.whyPods(inc); {
		case current && pods != "":
			lines = append(append(lines, pods), c.doubts(inc)...)
		default:
			lines = append(lines, head+escape(present.Cause(present.CauseOf(inc).Summary), c.detail.text))
			if current {
				lines = append(append(lines, c.numbers(inc)), c.doubts(inc)...)
			}
		}
		c.section(lines...)
		if current {
			c.lastLine(inc)
		}
	}
	c.prose(c.gaps(inc)...)
}

// soFar is what an earlier step did, while the next one is asked about.
func (c *composer) soFar(inc incident.Incident) []string {
	s, ok := present.Latest(inc)
	if !ok || s.State != incident.StepApplied || s.Verification == nil || inc.State != incident.StateDeciding {
		return nil
	}
	moved := c.moves(inc, *s.Verification, inline)
	moved = moved[:min(len(moved), 2)]
	if len(moved) == 0 {
		moved = []string{"nothing moved noticeably"}
	}
	return []string{"*So far:* " + escape(present.Change(s), 80) + ": " + strings.Join(moved, ", ")}
}

// numbers are the readings that decided, each once with the limit that it crossed, and how many pods are ready. Those
// that are bad come first, and only where there is none those that rule something out. What the headline says is left
// out where there is something else to say; a reading that nothing is compared with says less than that.
func (c *composer) numbers(inc incident.Incident) string {
	worst, _ := present.Worst(inc)
	var bad, fine, named []string
	seen := map[string]bool{}
	for _, e := range inc.Diagnosis.Evidence {
		label := present.Subject(inc, e)
		if e.Truth != incident.True || seen[label] {
			continue
		}
		seen[label] = true
		same := slices.DeleteFunc(slices.Clone(inc.Diagnosis.Evidence), func(o incident.Condition) bool {
			return o.Truth != incident.True || present.Subject(inc, o) != label
		})
		direction := inc.Readings[e.Signal].Direction
		isBad := slices.ContainsFunc(same, func(o incident.Condition) bool { return present.Bad(o, direction) })
		switch text := c.number(inc, same); {
		case e.Signal != "" && e.Signal == worst.Signal:
			named = append(named, text)
		case isBad:
			bad = append(bad, text)
		case worst.Signal != "" && len(present.AllExpected(same, present.Compared(inc, e))) == 0: // "Engine errors 0%"
		default:
			fine = append(fine, text)
		}
	}
	out := bad
	for _, others := range [][]string{fine, named} {
		if len(out) == 0 {
			out = others
		}
	}
	most := c.detail.numbers
	switch _, ok := present.DoNowFor(inc); {
	case ok && advised(inc):
		most = min(most, 2) // the commands matter more
	case inc.State == incident.StateDeciding:
		most = min(most, 3) // the price and the buttons matter more
	}
	out = slices.Clone(out[:min(len(out), most)])
	if ready := inc.Cluster.ReadyText(); inc.Cluster.Error == "" && ready != "" {
		out = append(out, "pods "+ready)
	}
	return strings.Join(nonEmpty(out), "  ·  ")
}

// doubts are the other causes that it may be instead, each with what decides. What is true as well is told with the
// rest: the message must be short.
func (c *composer) doubts(inc incident.Incident) []string {
	const most = 2
	var out []string
	for _, d := range inc.Diagnosis.Doubts {
		if d.Kind == incident.DoubtBoth {
			continue
		}
		cause, text := present.Doubt(inc, d)
		line := "*" + escape(cause, 80) + "*"
		if text != "" {
			line += ": " + escape(text, c.detail.text)
		}
		out = append(out, line)
	}
	return present.Capped(out, most)
}

// number is one reading with what a person compares it with.
func (c *composer) number(inc incident.Incident, same []incident.Condition) string {
	e := same[0]
	r, known := inc.Readings[e.Signal]
	label, text := escape(present.Subject(inc, e), 60), e.Seen
	if known {
		text = cmp.Or(text, r.Text())
		if c.detail.queries {
			label = link(present.QueryURL(c.opts.PrometheusURL, r.Query), label)
		}
	}
	switch {
	case known && present.None(r):
		return label + ": " + bold("none", 80)
	case text != "":
		label += " " + bold(text, 80)
	}
	limit := present.MainExpected(same, present.Compared(inc, e))
	if limit == "" {
		return label
	}
	if strings.Contains(limit, "(") {
		return label + ", " + escape(limit, 60)
	}
	return label + " (" + escape(limit, 60) + ")"
}

// blind says that Prometheus answered nothing. What the bot knows of its own changes, or of Kubernetes, is no symptom.
func blind(inc incident.Incident) bool {
	for _, r := range inc.Readings {
		if r.HasValue() && r.Query != "" {
			return false
		}
	}
	return true
}

// alerts lists the alerts with what their rules say about them, by name: the order stays when one resolves.
func (c *composer) alerts(inc incident.Incident) {
	all := slices.Clone(inc.Alerts)
	slices.SortStableFunc(all, func(a, b incident.Alert) int { return cmp.Compare(a.Name(), b.Name()) })
	var lines []richLine
	for _, a := range all {
		text := ""
		if sev := exact(a.Labels["severity"], 30); sev != "" {
			text += " (" + sev + ")"
		}
		if !a.Firing {
			text += ", resolved"
		}
		if what := exact(cmp.Or(a.Annotations["summary"], a.Annotations["description"]), c.detail.text); what != "" {
			text += ": " + what
		}
		line := richLine{}.with(cmp.Or(exact(a.Name(), 80), "alert without a name"), asBold)
		labels := ""
		if inc.Pool == "" {
			labels = exact(labelText(a), 160)
		}
		if labels != "" {
			text += " "
		}
		lines = append(lines, line.with(text, nil).with(labels, asCode))
	}
	c.listed = len(lines) <= c.detail.alerts
	c.rich(richBullets(lines, c.detail.alerts)...)
}

// labelText are the labels by which an alert could be led to a pool.
func labelText(a incident.Alert) string {
	var out []string
	for _, k := range []string{"namespace", "model_name", "pod", "instance", "job"} {
		if v := present.Line(a.Labels[k]); v != "" {
			out = append(out, k+"="+v)
		}
	}
	return strings.Join(out, " ")
}

// unread says that a signal could not be read.
func unread(inc incident.Incident) bool {
	for _, r := range inc.Readings {
		if r.Error != "" {
			return true
		}
	}
	return false
}

// gaps says what could not be read, so that nobody takes silence for health. Signals with the same trouble share a
// line. It is text without markup.
func (c *composer) gaps(inc incident.Incident) []string {
	if present.Stale(inc) {
		return nil
	}
	byError := map[string][]string{}
	var missing []string
	for _, n := range sortedKeys(inc.Readings) {
		r := inc.Readings[n]
		switch {
		case r.Error != "":
			byError[r.Error] = append(byError[r.Error], cmp.Or(r.Short, r.Title, n))
		case r.Value == nil && !r.Optional:
			missing = append(missing, cmp.Or(r.Short, r.Title, n))
		}
	}
	var out []string
	const most = 3
	for _, n := range missing[:min(most, len(missing))] {
		out = append(out, exact(n, 50))
	}
	lines := []string{}
	if len(out) > 0 {
		text := "⚠️ No data: " + strings.Join(out, ", ")
		if n := len(missing) - len(out); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, text)
	}
	if err := inc.Cluster.Error; err != "" { // said of Kubernetes below
		delete(byError, err)
	}
	for _, err := range sortedKeys(byError)[:min(2, len(byError))] {
		lines = append(lines, fmt.Sprintf("⚠️ %s could not be read: %s", signals(byError[err]), exact(err, c.detail.text)))
	}
	if inc.Cluster.Error != "" {
		lines = append(lines, "⚠️ Kubernetes could not be read: "+exact(inc.Cluster.Error, c.detail.text))
	}
	return lines
}

func signals(names []string) string {
	if len(names) == 1 {
		return exact(names[0], 50)
	}
	return fmt.Sprintf("%d signals", len(names))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
