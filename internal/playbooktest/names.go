package playbooktest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/nearest"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// unknown adds that something of this name does not exist, and what may have been meant. Without it a misspelt name is
// compared with nothing, and the test passes or fails for a reason that nobody sees.
func (r *reader) unknown(path, what, name string, known []string) {
	r.at(path, "%s", strictyaml.NotThere(what, name, known))
}

// names checks everything that an expectation names.
func (r *reader) names(path string, e expectDoc) {
	if r.catalog == nil {
		return
	}
	signals := r.catalog.SignalNames()
	for _, name := range slices.Sorted(maps.Keys(e.Readings)) {
		if !slices.Contains(signals, name) {
			r.unknown(path+".readings."+name, "signal", name, signals)
		}
	}
	for i, step := range e.Plan {
		if !slices.Contains(stepKinds(), step.Kind) {
			r.unknown(indexed(path+".plan", i), "step", step.Kind, stepKinds())
		}
	}
}

func stepKinds() []string {
	var out []string
	for _, k := range incident.StepKinds() {
		out = append(out, string(k))
	}
	return out
}

// metricsRead are all metrics that a signal of the catalog reads, in today's names of vLLM.
func (r *reader) metricsRead() []string {
	var out []string
	for _, s := range r.catalog.AllSignals() {
		out = append(out, metricsIn(s.Query)...)
		out = append(out, metricsIn(s.Pods)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// metricsIn are the metrics that a query selects by name.
func metricsIn(query string) []string {
	expr, err := promql.Parse(query, parser.Options{})
	if err != nil {
		return nil // the catalog's queries were parsed at load, and an alert's may be anything
	}
	var out []string
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			for _, m := range s.LabelMatchers {
				if m.Name == model.MetricNameLabel {
					out = append(out, m.Value)
				}
			}
		}
		return nil
	})
	return out
}

// known are the metrics that something may look at: the signals, and the rules of the alerts anywhere in the file,
// because tests share their series. A metric that only an alert's rule is about is how a dead alert is tested.
func (r *reader) known(doc document) []string {
	if r.catalog == nil {
		return nil
	}
	out := r.metricsRead()
	for _, t := range doc.Tests {
		for _, a := range t.Alerts {
			if a.Full != nil {
				out = append(out, metricsIn(exprOf(*a.Full))...)
			}
		}
	}
	return out
}

// unread adds the series that nothing would look at.
func (r *reader) unread(in []input, from []string) {
	known := r.metrics
	if r.catalog == nil {
		return
	}
	for _, here := range slices.Compact(slices.Clone(from)) {
		// A histogram in short stands for three metrics, of which one that is read is enough.
		var names []string
		for i, path := range from {
			if path == here {
				name := in[i].labels.Get(model.MetricNameLabel)
				if canonical, own := vllm.Canonical(name); own && !slices.Contains(known, name) {
					name = canonical
				}
				names = append(names, name)
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) }) {
			text := fmt.Sprintf("no signal reads %s", names[0])
			if near := nearest.Name(names[0], known); near != "" {
				text += fmt.Sprintf("; did you mean %s?", near)
			}
			r.at(here+".series", "%s", text)
		}
	}
}

// exprOf is the query of an alert's rule, as it is written or as Prometheus' address of it has it.
func exprOf(a fullAlertDoc) string {
	if a.Expr != "" {
		return a.Expr
	}
	u, err := url.Parse(a.GeneratorURL)
	if err != nil {
		return ""
	}
	return u.Query().Get("g0.expr")
}
