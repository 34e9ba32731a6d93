package alertrules

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// isVLLM says whether a metric's name is spelled as vLLM's in one of the known dialects.
func isVLLM(metric string) bool {
	_, ok := vllm.ParseMetric(metric)
	return ok
}

// typeOf is the type of a metric of current vLLM.
func typeOf(base string) vllm.MetricType {
	m, _ := vllm.CurrentMetric(base)
	return m.Type
}

// metricOf is the one metric that a selector names in full.
func metricOf(vs *parser.VectorSelector) (metric string, ok bool) {
	count := 0
	for _, m := range vs.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		count++
		if m.Type == labels.MatchEqual {
			metric = m.Value
		}
	}
	return metric, count == 1 && metric != ""
}

// bare is the selector without offset and @: what is asked of the store.
func bare(vs *parser.VectorSelector) string {
	return (&parser.VectorSelector{Name: vs.Name, LabelMatchers: vs.LabelMatchers}).String()
}

// selectors are all selectors in a tree.
func selectors(e parser.Expr) []*parser.VectorSelector {
	var out []*parser.VectorSelector
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			out = append(out, vs)
		}
		return nil
	})
	return out
}

// parse takes the experimental parts of PromQL too: a Prometheus that has loaded a rule has them switched on. Its
// errors end the sentence "the expression is".
func parse(expr string) (parser.Expr, error) {
	return promql.Parse(expr, parser.Options{
		EnableExperimentalFunctions: true, ExperimentalDurationExpr: true, EnableExtendedRangeSelectors: true,
		EnableBinopFillModifiers: true,
	})
}

// plain is a selector of one metric and nothing more.
func plain(metric string, more ...*labels.Matcher) *parser.VectorSelector {
	return &parser.VectorSelector{
		Name: metric, LabelMatchers: append([]*labels.Matcher{equal(model.MetricNameLabel, metric)}, more...),
	}
}

// equal is labels.NewMatcher for the one type that cannot fail.
func equal(label, value string) *labels.Matcher {
	return &labels.Matcher{Type: labels.MatchEqual, Name: label, Value: value}
}

// compiled is a matcher of a type that may need a regular expression; otherwise when the value is none.
func compiled(t labels.MatchType, label, value string, otherwise *labels.Matcher) *labels.Matcher {
	m, err := labels.NewMatcher(t, label, value)
	if err != nil {
		return otherwise
	}
	return m
}
