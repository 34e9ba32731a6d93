package playbooks

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
)

// oneSeries says whether an instant query gives at most one series, however many series match its selectors. It answers
// no when it is not sure.
func oneSeries(expr parser.Expr) bool {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return oneSeries(e.Expr)
	case *parser.UnaryExpr:
		return e.Type() == parser.ValueTypeVector && oneSeries(e.Expr)
	case *parser.AggregateExpr:
		return !e.Without && len(e.Grouping) == 0 && folds(e.Op)
	case *parser.BinaryExpr:
		// Both sides have one series without labels, or one of them is a number.
		return e.Type() == parser.ValueTypeVector && oneOrNumber(e.LHS) && oneOrNumber(e.RHS)
	case *parser.Call:
		return oneFromCall(e)
	default:
		return false
	}
}

// groupedBy says whether a query has one series for each value of these labels. It answers no when it is not sure.
func groupedBy(expr parser.Expr, labels []string) bool {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return groupedBy(e.Expr, labels)
	case *parser.AggregateExpr:
		return !e.Without && folds(e.Op) &&
			slices.Equal(slices.Sorted(slices.Values(e.Grouping)), slices.Sorted(slices.Values(labels)))
	case *parser.BinaryExpr:
		// With the same labels on both sides every operation keeps them apart.
		side := func(s parser.Expr) bool { return s.Type() == parser.ValueTypeScalar || groupedBy(s, labels) }
		return side(e.LHS) && side(e.RHS) && (groupedBy(e.LHS, labels) || groupedBy(e.RHS, labels))
	case *parser.Call:
		return e.Func.Name == "histogram_quantile" && groupedByLE(e.Args[1], labels)
	default:
		return false
	}
}

func groupedByLE(expr parser.Expr, labels []string) bool {
	return groupedBy(expr, append(slices.Clone(labels), "le"))
}

// picksOne says whether a query takes the highest or the lowest of several series.
func picksOne(query string) bool {
	expr, err := promql.Parse(query, parser.Options{})
	agg, ok := expr.(*parser.AggregateExpr)
	return err == nil && ok && (agg.Op == parser.MAX || agg.Op == parser.MIN)
}

func oneOrNumber(expr parser.Expr) bool {
	return expr.Type() == parser.ValueTypeScalar || oneSeries(expr)
}

// folds says whether an aggregation without grouping leaves one series; topk and its kin keep several.
func folds(op parser.ItemType) bool {
	return slices.Contains([]parser.ItemType{
		parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP,
		parser.STDDEV, parser.STDVAR, parser.QUANTILE,
	}, op)
}

func oneFromCall(c *parser.Call) bool {
	if c.Type() != parser.ValueTypeVector {
		return false
	}
	switch c.Func.Name {
	case "absent", "absent_over_time", "vector":
		return true
	case "label_replace", "label_join", "info":
		return false // New labels could make two series out of "a or b".
	}
	for _, arg := range c.Args {
		if sub, ok := arg.(*parser.SubqueryExpr); ok && oneSeries(sub.Expr) {
			continue // the past of one series is one series
		}
		switch arg.Type() {
		case parser.ValueTypeScalar, parser.ValueTypeString:
		case parser.ValueTypeVector:
			if c.Func.Name == "histogram_quantile" && onlyByLE(arg) {
				continue
			}
			if !oneSeries(arg) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// onlyByLE says whether a vector has one series for each bucket and nothing else.
func onlyByLE(expr parser.Expr) bool {
	agg, ok := expr.(*parser.AggregateExpr)
	return ok && !agg.Without && slices.Equal(agg.Grouping, []string{"le"}) && folds(agg.Op)
}
