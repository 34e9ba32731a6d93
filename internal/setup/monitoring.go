package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Selection is what a Prometheus of the Prometheus operator loads: rules and monitors with Labels. But says what else
// matters.
type Selection struct {
	Name   string
	Labels map[string]string
	But    []string
}

// monitoringOf are the labels that the chart's rules and monitors need. ok says that there is something to say.
func monitoringOf(p Prometheus) (out Guess[map[string]string], ok bool) {
	if p.Unselected != "" {
		return Guess[map[string]string]{
			Value:    map[string]string{"release": "kube-prometheus-stack"},
			Why:      "This is the chart's own value. What Prometheus loads could not be read: " + p.Unselected + ".",
			Question: "Which labels must rules and monitors have? kube-prometheus-stack's is the name of its Helm release.",
		}, true
	}
	var why []string
	for n, s := range p.Selections {
		if !slices.ContainsFunc(p.Selections[:n], func(o Selection) bool { return maps.Equal(o.Labels, s.Labels) }) {
			out.Others = append(out.Others, s.Labels)
		}
		said := append([]string{fmt.Sprintf("Prometheus %s loads %s.", s.Name, loads(s.Labels))}, s.But...)
		why = append(why, strings.Join(said, " "))
		ok = ok || len(s.Labels)+len(s.But) > 0
	}
	if !ok {
		return Guess[map[string]string]{}, false
	}
	out.Value, out.Others, out.Why = out.Others[0], out.Others[1:], strings.Join(why, " ")
	if out.Sure = len(out.Others) == 0; !out.Sure {
		out.Question = "Which of them scrapes vLLM? Its labels belong here."
	}
	return out, true
}

func loads(labels map[string]string) string {
	if len(labels) == 0 {
		return "rules and monitors with any labels"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return "only rules and monitors with " + strings.Join(all, ", ")
}

// monitoring has the labels without which the operator's Prometheus loads nothing of the chart's.
func (w *writer) monitoring(p Prometheus) {
	g, ok := monitoringOf(p)
	if !ok {
		return
	}
	w.section("Labels of the chart's alert rules and monitors.")
	guessLines(w, 0, g)
	if len(g.Value) == 0 && len(g.Others) == 0 {
		return
	}
	w.off = !g.Sure
	w.line(0, "monitoring:")
	w.line(2, "labels: %s", labels(g.Value))
	w.off = true
	for _, other := range g.Others {
		w.line(2, "labels: %s", labels(other))
	}
	w.off = false
}
