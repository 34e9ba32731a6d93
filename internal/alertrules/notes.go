package alertrules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// notes are what to know of a rule that can fire.
func notes(e parser.Expr, known Known) []string {
	var out []string
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		b, ok := node.(*parser.BinaryExpr)
		if !ok || !b.Op.IsComparisonOperator() {
			return nil
		}
		out = once(out, interpolated(b, known))
		if idle(b) && !guarded(e) {
			out = once(
				out,
				fmt.Sprintf(
					"%s is true on every idle server: require running or waiting requests as well", cut(b.String()),
				),
			)
		}
		return nil
	})
	for _, vs := range selectors(e) {
		failures := slices.ContainsFunc(wanted(vs), func(m *labels.Matcher) bool {
			return m.Name == labelReason && m.Matches("error")
		})
		if aborted(vs) && !guarded(e) && !failures {
			out = once(out, "vLLM's Python frontend does not count clients that disconnected as \"abort\" "+
				"(vllm-project/vllm#31503): the gateway knows them, and the "+
				"rules in deploy/prometheus/rules infer them")
		}
	}
	return out
}

// interpolated says that a threshold lies inside one bucket.
func interpolated(b *parser.BinaryExpr, known Known) string {
	call, ok := open(b.LHS).(*parser.Call)
	limit, fixed := literal(b.RHS)
	if !ok || !fixed || call.Func.Name != "histogram_quantile" {
		return ""
	}
	for _, vs := range selectors(call.Args[1]) {
		metric, _ := metricOf(vs)
		bounds := known.boundsOf(metric)
		i, exact := slices.BinarySearch(bounds, limit)
		if exact || i == len(bounds) {
			continue
		}
		below := 0.0
		if i > 0 {
			below = bounds[i-1]
		}
		return fmt.Sprintf("%g lies inside the bucket from %g to %g of %s: in between a percentile is interpolated, so "+
			"compare with one of the two",
			limit, below, bounds[i], strings.TrimSuffix(metric, vllm.SuffixBucket))
	}
	return ""
}

// idle says whether a comparison asks for little throughput.
func idle(b *parser.BinaryExpr) bool {
	limit, fixed := literal(b.RHS)
	switch {
	case !fixed:
		return false
	case b.Op == parser.LSS && limit > 0, b.Op == parser.LTE && limit >= 0, b.Op == parser.EQLC && limit == 0:
	default:
		return false
	}
	found := false
	parser.Inspect(b.LHS, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.Call:
			found = found || flow(n)
		case *parser.BinaryExpr:
			if n.Op == parser.DIV && n.RHS.Type() == parser.ValueTypeVector {
				limit = math.NaN() // a ratio is no throughput: without traffic it is not a number
			}
		}
		return nil
	})
	return found && !math.IsNaN(limit)
}

// flow says whether a call is the rate of a throughput counter.
func flow(n *parser.Call) bool {
	return slices.Contains(
		[]string{"rate", "irate", "increase"}, n.Func.Name,
	) && slices.ContainsFunc(selectors(n), throughput)
}

func throughput(vs *parser.VectorSelector) bool {
	metric, _ := metricOf(vs)
	n, ok := vllm.ParseMetric(metric)
	return ok && slices.Contains(
		[]string{
			"generation_tokens_total", "prompt_tokens_total", "request_success_total", "output_tokens_total",
			"requests_completed_total",
		},
		n.Base,
	)
}

// guarded says whether an expression looks at the requests that there are.
func guarded(e parser.Expr) bool {
	return slices.ContainsFunc(selectors(e), func(vs *parser.VectorSelector) bool {
		metric, _ := metricOf(vs)
		n, ok := vllm.ParseMetric(metric)
		return ok && slices.Contains(
			[]string{"num_requests_running", "num_requests_waiting", "num_requests_waiting_by_reason", "queue_depth"},
			n.Base,
		)
	})
}

// aborted says whether a selector counts requests that ended with abort.
func aborted(vs *parser.VectorSelector) bool {
	metric, _ := metricOf(vs)
	n, ok := vllm.ParseMetric(metric)
	return ok && n.Base == "request_success_total" && slices.ContainsFunc(wanted(vs), func(m *labels.Matcher) bool {
		return m.Name == labelReason && m.Matches("abort") && !m.Matches("stop")
	})
}

// literal is a number as it is written, brackets and sign included.
func literal(e parser.Expr) (float64, bool) {
	switch n := open(e).(type) {
	case *parser.NumberLiteral:
		return n.Val, true
	case *parser.UnaryExpr:
		v, ok := literal(n.Expr)
		if n.Op == parser.SUB {
			v = -v
		}
		return v, ok
	}
	return 0, false
}
