package slack

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// diagnosis shows the cause with its evidence, or the alerts while there is none, and says what could not be read.
func (c *composer) diagnosis(inc incident.Incident) {
	if d := inc.Diagnosis; d != nil && outdated(inc) {
		c.section("*Cause:* " + escape(d.Summary, c.detail.text))
		return
	}
	var lines []string
	if d := inc.Diagnosis; d != nil {
		lines = append(lines, bold(d.Summary, c.detail.text))
		lines = append(lines, c.evidence(inc)...)
	} else {
		lines = append(lines, c.alerts(inc)...)
	}
	lines = append(lines, c.gaps(inc)...)
	if also := holding(inc); also != "" && c.detail.undecided > 0 {
		lines = append(lines, "➕ Also seen, likely a symptom: "+also)
	}
	open, notEvaluated := c.undecided(inc)
	for _, o := range open {
		cause := escape(incident.CauseWords(o.Name), 60)
		lines = append(lines, "❔ Can't rule out "+cause+" ("+escape(o.Why, c.detail.text)+")")
	}
	for _, u := range notEvaluated {
		lines = append(lines, "❔ Not checked ("+escape(u.Why, c.detail.text)+"): "+names(u.Names))
	}
	c.section(lines...)
}

// outdated says that the evidence is older than what is known by now: a step is being run, the newest readings are
// those of its verification, or it is healthy.
func outdated(inc incident.Incident) bool {
	verified := func(s incident.Step) bool { return s.Verification != nil && s.Verification.At.Equal(inc.ReadAt) }
	return inc.State.Running() || !inc.HealthySince.IsZero() || slices.ContainsFunc(inc.AppliedEarlier, verified) ||
		(inc.Plan != nil && slices.ContainsFunc(inc.Plan.Steps, verified))
}

// evidence shows the conditions that decided, each with the value seen and what it was compared with. Conditions on the
// same signal with the same truth share a line.
func (c *composer) evidence(inc incident.Incident) []string {
	var decided, open []string
	all := inc.Diagnosis.Evidence
	for n, e := range all {
		alike := func(o incident.Condition) bool { return e.Signal != "" && o.Signal == e.Signal && o.Truth == e.Truth }
		if e.Truth == incident.False || slices.ContainsFunc(all[:n], alike) {
			continue
		}
		same := []incident.Condition{e}
		for _, o := range all[n+1:] {
			if alike(o) {
				same = append(same, o)
			}
		}
		if e.Truth == incident.True {
			decided = append(decided, "• "+c.conditions(inc, same))
		} else {
			open = append(open, "❔ "+c.conditions(inc, same))
		}
	}
	return capped(append(decided, open...), c.detail.evidence)
}

// conditions is the line of conditions on one signal.
func (c *composer) conditions(inc incident.Incident, same []incident.Condition) string {
	e := same[0]
	r, known := inc.Readings[e.Signal]
	label, text := escape(present.Subject(inc, e), 60), e.Seen
	if known {
		text = cmp.Or(text, r.Text())
		if c.detail.queries {
			label = link(queryURL(c.opts.PrometheusURL, r.Query), label)
		}
	}
	line := label + seen(text)
	var expected []string
	for _, text := range present.AllExpected(same, r.Direction) {
		expected = append(expected, escape(text, 60))
	}
	if len(expected) > 0 {
		line += ", " + strings.Join(expected, " and ")
	}
	return line
}

func seen(s string) string {
	if s == "" {
		return ""
	}
	return " " + bold(s, 80)
}

// queryURL is the address of a query in Prometheus' own page.
func queryURL(base, query string) string {
	if base == "" || query == "" {
		return ""
	}
	return strings.TrimRight(base, "/") + "/graph?" + url.Values{
		"g0.expr": {query}, "g0.tab": {"0"}, "g0.range_input": {"1h"},
	}.Encode()
}

// alerts lists the alerts with what their rules say about them.
func (c *composer) alerts(inc incident.Incident) []string {
	all := slices.Clone(inc.Alerts)
	slices.SortStableFunc(all, func(a, b incident.Alert) int {
		return cmp.Or(-boolCompare(a.Firing, b.Firing), cmp.Compare(a.Name(), b.Name()))
	})
	var lines []string
	for _, a := range all {
		text := "• " + bold(cmp.Or(a.Name(), "alert without a name"), 80)
		if sev := a.Labels["severity"]; sev != "" {
			text += " " + escape(sev, 30)
		}
		if !a.Firing {
			text += ", resolved"
		}
		if what := escape(cmp.Or(a.Annotations["summary"], a.Annotations["description"]), c.detail.text); what != "" {
			text += ": " + what
		}
		if inc.Pool == "" {
			text += labelText(a)
		}
		lines = append(lines, text)
	}
	return capped(lines, c.detail.alerts)
}

// labelText shows the labels by which an alert could be led to a pool.
func labelText(a incident.Alert) string {
	var out []string
	for _, k := range []string{"namespace", "model_name", "pod", "instance", "job"} {
		if v := line(a.Labels[k]); v != "" {
			out = append(out, k+"="+v)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " `" + escape(strings.ReplaceAll(strings.Join(out, " "), "`", "'"), 160) + "`"
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// gaps says what could not be read, so that nobody takes silence for health. Signals with the same trouble share a
// line.
func (c *composer) gaps(inc incident.Incident) []string {
	byError := map[string][]string{}
	var missing []string
	for _, n := range sortedKeys(inc.Readings) {
		r := inc.Readings[n]
		switch {
		case r.Error == "" && inEvidence(inc, n):
			// said there
		case r.Error != "":
			byError[r.Error] = append(byError[r.Error], cmp.Or(r.Short, r.Title, n))
		case r.Value == nil && !r.Optional:
			missing = append(missing, cmp.Or(r.Short, r.Title, n))
		}
	}
	var out []string
	for _, n := range missing[:min(4, len(missing))] {
		out = append(out, escape(n, 50))
	}
	lines := []string{}
	if len(out) > 0 {
		text := "⚠️ No data: " + strings.Join(out, ", ")
		if n := len(missing) - len(out); n > 0 {
			text += " and " + fmt.Sprint(n) + " more"
		}
		lines = append(lines, text)
	}
	for _, err := range sortedKeys(byError)[:min(2, len(byError))] {
		lines = append(lines, fmt.Sprintf("⚠️ %s could not be read: %s", signals(byError[err]), escape(err, c.detail.text)))
	}
	if inc.Cluster.Error != "" {
		lines = append(lines, "⚠️ Kubernetes could not be read: "+escape(inc.Cluster.Error, c.detail.text))
	}
	return lines
}

// inEvidence says that a signal is part of the diagnosis, which shows its value or that there is none.
func inEvidence(inc incident.Incident, signal string) bool {
	return inc.Diagnosis != nil && slices.ContainsFunc(inc.Diagnosis.Evidence, func(e incident.Condition) bool {
		return e.Signal == signal && e.Truth != incident.False
	})
}

func signals(names []string) string {
	if len(names) == 1 {
		return escape(names[0], 50)
	}
	return fmt.Sprintf("%d signals", len(names))
}

// holding are the names of the diagnoses that hold beside the chosen one; the page has why.
func holding(inc incident.Incident) string {
	var found []string
	for _, o := range inc.Others {
		if o.Verdict == incident.True && inc.Diagnosis != nil {
			found = append(found, o.Name)
		}
	}
	return names(found)
}

// names lists the first of some diagnoses.
func names(all []string) string {
	const most = 4
	var out []string
	for _, name := range all[:min(len(all), most)] {
		out = append(out, escape(incident.CauseWords(name), 60))
	}
	if len(all) > most {
		out = append(out, more(len(all)-most))
	}
	return strings.Join(out, ", ")
}

// undecided are the diagnoses that could not be ruled out, and those for which nobody looked.
func (c *composer) undecided(inc incident.Incident) ([]incident.Other, []incident.NotEvaluated) {
	rest, notEvaluated := incident.SplitNotEvaluated(inc.Others)
	open := slices.DeleteFunc(rest, func(o incident.Other) bool { return o.Verdict != incident.Undecided })
	return open[:min(len(open), c.detail.undecided)], notEvaluated[:min(len(notEvaluated), c.detail.undecided)]
}

// picture is the chart, or the same as text where it cannot be shown. While a step is being run, the readings are older
// than the change.
func (c *composer) picture(inc incident.Incident) {
	if !c.detail.chart || inc.State == incident.StateReceived ||
		(inc.State.Running() && inc.State != incident.StateVerifying) {
		return
	}
	if b := chart(inc.Readings); b != nil && !c.opts.NoChart {
		c.add(b)
		return
	}
	c.section(sparklines(inc.Readings)...)
}

func capped(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), more(len(lines)-most))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
