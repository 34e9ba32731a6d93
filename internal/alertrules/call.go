package alertrules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func (x *examiner) call(n *parser.Call) value {
	switch n.Func.Name {
	case "absent", "absent_over_time":
		return x.absent(n)
	case "scalar":
		return x.scalar(n)
	case "vector":
		return x.expr(n.Args[0])
	case "histogram_quantile":
		return x.quantile(n)
	case "info": // its second argument only says which labels to add
		v := x.expr(n.Args[0])
		return value{state: v.state, lo: v.lo, hi: v.hi, why: v.why}
	case "rate", "increase", "irate":
		if why := still(n); why != "" {
			return empty(reason{text: why})
		}
	}
	args, state, why := x.arguments(n)
	if state == Never {
		return empty(why...)
	}
	out := x.result(n, args)
	out.state = state
	return out
}

// arguments are the values of all arguments. A function of nothing is nothing; a function without a vector always
// gives something.
func (x *examiner) arguments(n *parser.Call) (args []value, state State, why []reason) {
	state = Can
	for _, a := range n.Args {
		v := x.expr(a)
		args = append(args, v)
		if t := a.Type(); t != parser.ValueTypeVector && t != parser.ValueTypeMatrix {
			continue
		}
		switch {
		case v.state == Never:
			state, why = Never, append(why, v.why...)
		case v.state == Undecided && state != Never:
			state = Undecided
		}
	}
	return args, state, why
}

// absent fires when there is nothing.
func (x *examiner) absent(n *parser.Call) value {
	if v := x.expr(n.Args[0]); v.state == Never {
		for _, r := range v.why {
			x.notes = once(x.notes, fmt.Sprintf("%s fires all the time: %s", cut(n.String()), r.text))
		}
	}
	return between(Can, 1, 1)
}

// scalar of nothing is not a number, which compares with nothing.
func (x *examiner) scalar(n *parser.Call) value {
	v := x.expr(n.Args[0])
	if v.state == Never {
		out := number(math.NaN())
		out.why = v.why
		return out
	}
	v.state = Can
	return v
}

// still says that the rate of a _created timestamp is meant.
func still(n *parser.Call) string {
	for _, vs := range selectors(n) {
		metric, _ := metricOf(vs)
		if m, ok := vllm.ParseMetric(metric); ok && m.Suffix == vllm.SuffixCreated {
			return fmt.Sprintf(
				"%s is the time at which a counter was made: it stays constant until the server restarts, so its rate "+
					"says nothing about requests",
				metric,
			)
		}
	}
	return ""
}

// result bounds what a function gives. Functions that are not listed are not bounded.
func (x *examiner) result(n *parser.Call, args []value) value {
	out := anything(Can)
	switch n.Func.Name {
	case "rate", "increase", "irate", "resets", "changes", "stddev_over_time", "stdvar_over_time", "time",
		"mad_over_time":
		out.lo = 0
	case "max_over_time", "min_over_time", "avg_over_time", "last_over_time", "first_over_time", "sort", "sort_desc",
		"label_replace", "label_join":
		return args[0]
	case "quantile_over_time":
		if q, ok := args[0].constant(); ok && q >= 0 && q <= 1 {
			return args[1]
		}
	case "sum_over_time":
		return summed(args[0])
	case "count_over_time":
		out.lo = 1
	case "present_over_time":
		out.lo, out.hi = 1, 1
	case "histogram_fraction":
		out.lo, out.hi = 0, 1
	case "ceil", "floor":
		out.lo, out.hi, out.top = math.Floor(args[0].lo), math.Ceil(args[0].hi), args[0].top
	case "abs":
		if args[0].lo >= 0 {
			return args[0]
		}
		out.lo = 0
	}
	return out
}

// quantile is histogram_quantile: it never exceeds the last finite bucket, and without the label le it is empty.
func (x *examiner) quantile(n *parser.Call) value {
	q, v := x.expr(n.Args[0]), x.expr(n.Args[1])
	if v.state == Never {
		return v
	}
	if why := bucketless(n.Args[1]); why != "" {
		return empty(reason{text: why})
	}
	out := between(v.state, math.Inf(-1), math.Inf(1))
	p, fixed := q.constant()
	last := math.Inf(-1)
	var histograms []string
	for _, vs := range selectors(n.Args[1]) {
		metric, _ := metricOf(vs)
		bounds := x.known.boundsOf(metric)
		if bounds == nil || !fixed || p > 1 || p < 0 {
			return out
		}
		last = max(last, bounds[len(bounds)-1])
		histograms = once(histograms, strings.TrimSuffix(metric, vllm.SuffixBucket))
	}
	if len(histograms) == 1 {
		out.hi = last
		out.top = fmt.Sprintf(
			"the last bucket of %s ends at %g, and a percentile never exceeds it", histograms[0], last,
		)
	}
	return out
}

// bucketless says why no bucket reaches histogram_quantile; empty when one does or may.
func bucketless(e parser.Expr) string {
	var why string
	parser.Inspect(e, func(node parser.Node, path []parser.Node) error {
		vs, ok := node.(*parser.VectorSelector)
		if !ok || why != "" {
			return nil
		}
		metric, _ := metricOf(vs)
		n, parsed := vllm.ParseMetric(metric)
		if parsed && (n.Suffix == vllm.SuffixCount || n.Suffix == vllm.SuffixSum) {
			why = fmt.Sprintf(
				"histogram_quantile needs buckets, and %s has none; did you mean %s%s?", metric, n.Prefix+n.Base,
				vllm.SuffixBucket,
			)
			return nil
		}
		if !parsed || n.Suffix != vllm.SuffixBucket {
			return nil
		}
		for _, above := range path {
			if a, is := above.(*parser.AggregateExpr); is && drops(a, "le") {
				why = fmt.Sprintf(
					"histogram_quantile needs the label le, which %q removes",
					cut(strings.TrimSpace(a.ShortString())),
				)
			}
		}
		return nil
	})
	return why
}

// drops says whether an aggregation takes a label away.
func drops(a *parser.AggregateExpr, label string) bool {
	switch a.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return false
	}
	return slices.Contains(a.Grouping, label) == a.Without
}
