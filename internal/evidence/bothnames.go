package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// labelWorker tells apart Ray's replicas on one node, whose series have the same instance.
const labelWorker = "WorkerId"

// older is the name under which some engines of the pool still have a metric that others have under this newer one, as
// they do while a new vLLM is rolled out; empty when one name finds all of them. Versions that export both names for a
// while are found by the newer one.
func (d Dialect) older(spelled string) string {
	base, suffix := vllm.SplitSeries(spelled)
	old, renamed := vllm.OlderName(strings.TrimPrefix(base, d.prefix()))
	if !renamed || !d.has(d.prefix()+old) || d.count(base) >= d.count(d.prefix()+"num_requests_running") {
		return ""
	}
	return d.prefix() + old + suffix
}

// spellOneOf is spell for a query that is written with these names. One that reads both names of a metric itself keeps
// them where the pool has both.
func (d Dialect) spellOneOf(name string, named []string) string {
	spelled := d.spell(name)
	older := d.older(spelled)
	reads := func(wanted string) bool {
		return slices.ContainsFunc(named, func(n string) bool { return d.ownName(n) == wanted })
	}
	if own := d.ownName(name); older != "" && own == older && reads(spelled) && reads(older) {
		return own
	}
	return spelled
}

// ownName is a vLLM metric with the dialect's prefix, and else as it is written.
func (d Dialect) ownName(name string) string {
	n, ok := vllm.ParseMetric(name)
	if !ok {
		return name
	}
	return d.prefix() + n.Base + n.Suffix
}

// readBoth reads a metric under its older name, too, for the engines that have it under no other. Whatever a query does
// with a range is done with each of the names, and an engine's older series counts only where it has no newer one: an
// engine that exports both is read once.
func (d Dialect) readBoth(expr parser.Expr) (parser.Expr, error) {
	named := metricsIn(expr)
	if !slices.ContainsFunc(named, func(n string) bool { return d.missingOlder(n, named) }) {
		return expr, nil
	}
	var err error
	expr, err = replaceReads(expr, func(read parser.Expr, name string) (parser.Expr, error) {
		if !d.missingOlder(name, named) {
			return read, nil
		}
		text := read.String()
		older, err := promql.Parse(text, parser.Options{})
		if err != nil {
			return nil, fmt.Errorf("the query's part %s is %w", text, err)
		}
		parser.Inspect(older, func(n parser.Node, _ []parser.Node) error {
			if vs, ok := n.(*parser.VectorSelector); ok {
				rename(vs, name, d.older(name))
				if vllm.RouterTwin(d.older(name)) && !matches(vs, vllm.RouterLabel) {
					addMatcher(vs, vllm.RouterLabel, "")
				}
			}
			return nil
		})
		return &parser.ParenExpr{Expr: &parser.BinaryExpr{
			Op: parser.LOR, LHS: read, RHS: older,
			VectorMatching: &parser.VectorMatching{Card: parser.CardManyToMany, On: true, MatchingLabels: d.engineLabels()},
		}}, nil
	})
	return expr, err
}

// missingOlder says that some engines have this metric under an older name only, and that the query does not read that.
func (d Dialect) missingOlder(name string, named []string) bool {
	older := d.older(name)
	return older != "" && !slices.Contains(named, older)
}

// matches says whether a selector says something about a label.
func matches(vs *parser.VectorSelector, label string) bool {
	for _, m := range vs.LabelMatchers {
		if m.Name == label {
			return true
		}
	}
	return false
}

// engineLabels are the labels of the scrape that tell the processes of a pool apart.
func (d Dialect) engineLabels() []string {
	out := []string{labelNamespace}
	if d.podLabel == "" || d.podLabel == labelPod {
		out = append(out, labelPod)
	}
	out = append(out, model.InstanceLabel)
	if strings.HasPrefix(d.prefix(), "ray_") {
		out = append(out, labelWorker)
	}
	return out
}

// replaceReads replaces each part of an expression that reads one metric and gives an instant vector: a selector, or a
// function of a range of one.
func replaceReads(
	expr parser.Expr, by func(read parser.Expr, metric string) (parser.Expr, error),
) (parser.Expr, error) {
	into := func(children ...*parser.Expr) error {
		for _, child := range children {
			if *child == nil {
				continue
			}
			next, err := replaceReads(*child, by)
			if err != nil {
				return err
			}
			*child = next
		}
		return nil
	}
	switch e := expr.(type) {
	case *parser.VectorSelector:
		name, err := metricName(e)
		if err != nil {
			return nil, err
		}
		return by(e, name)
	case *parser.Call:
		if vs := rangeOf(e); vs != nil {
			name, err := metricName(vs)
			if err != nil {
				return nil, err
			}
			return by(e, name)
		}
		for i := range e.Args {
			if err := into(&e.Args[i]); err != nil {
				return nil, err
			}
		}
		return e, nil
	case *parser.AggregateExpr:
		return e, into(&e.Expr, &e.Param)
	case *parser.BinaryExpr:
		return e, into(&e.LHS, &e.RHS)
	case *parser.ParenExpr:
		return e, into(&e.Expr)
	case *parser.UnaryExpr:
		return e, into(&e.Expr)
	case *parser.SubqueryExpr:
		return e, into(&e.Expr)
	}
	return expr, nil
}

// rangeOf is the selector whose range a function takes; nil when it takes none.
func rangeOf(call *parser.Call) *parser.VectorSelector {
	for _, arg := range call.Args {
		for {
			paren, ok := arg.(*parser.ParenExpr)
			if !ok {
				break
			}
			arg = paren.Expr
		}
		if m, ok := arg.(*parser.MatrixSelector); ok {
			vs, _ := m.VectorSelector.(*parser.VectorSelector)
			return vs
		}
	}
	return nil
}
