package alertrules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// window is the time over which a counter is looked at where the rule gives none: what guides and the shipped rules
// use.
const window = 5 * time.Minute

// repair rewrites the tree of an expression that can never be true.
type repair struct {
	known Known
	// guarded says that the rule looks at running or waiting requests already.
	guarded bool
	// relabel are label names in groupings that changed with their metric.
	relabel map[string]string
	changes int
	about   []string
	// lost says what cannot be replaced; then there is no correction.
	lost []string
}

// correct returns the corrected expression, what is to be said about it, and notes about it. Without one it says why.
func correct(expr string, known Known) (instead string, about, notes []string) {
	e, err := parse(expr)
	if err != nil {
		return "", nil, nil
	}
	r := &repair{known: known, guarded: guarded(e), relabel: map[string]string{}}
	before := e.String()
	e = open(r.expr(e, false))
	r.regroup(e)
	after := e.String()
	if len(r.lost) > 0 || r.changes == 0 || after == before {
		return "", r.lost, nil
	}
	again, err := parse(after)
	if err != nil || again.Type() != parser.ValueTypeVector && again.Type() != parser.ValueTypeScalar {
		return "", nil, nil
	}
	v, notes := judge(again, known)
	if v.State == Never {
		return "", v.Why, nil
	}
	return after, r.about, notes
}

// expr repairs a node and what is below it. bucketed says that histogram_quantile is above.
func (r *repair) expr(e parser.Expr, bucketed bool) parser.Expr {
	switch n := e.(type) {
	case *parser.ParenExpr:
		n.Expr = open(r.expr(n.Expr, bucketed))
	case *parser.UnaryExpr:
		n.Expr = r.expr(n.Expr, bucketed)
	case *parser.SubqueryExpr:
		n.Expr = r.expr(n.Expr, bucketed)
	case *parser.AggregateExpr:
		n.Expr = open(r.expr(n.Expr, bucketed))
	case *parser.BinaryExpr:
		n.LHS, n.RHS = r.expr(n.LHS, bucketed), r.expr(n.RHS, bucketed)
		return r.comparison(n)
	case *parser.Call:
		return r.call(n, bucketed)
	case *parser.VectorSelector:
		return r.vector(n, bucketed)
	}
	return e
}

func (r *repair) vector(vs *parser.VectorSelector, bucketed bool) parser.Expr {
	if source := r.source(vs); source != nil {
		return source
	}
	t, ok := r.replacement(vs)
	if !ok {
		return vs
	}
	return r.put(t, nil, vs, window, bucketed)
}

func (r *repair) call(n *parser.Call, bucketed bool) parser.Expr {
	if n.Func.Name == "histogram_quantile" {
		return r.quantile(n)
	}
	for i, a := range n.Args {
		m, ok := a.(*parser.MatrixSelector)
		if !ok {
			n.Args[i] = open(r.expr(a, bucketed))
			continue
		}
		vs, ok := m.VectorSelector.(*parser.VectorSelector)
		if !ok {
			continue
		}
		if t, ok := r.replacement(vs); ok {
			return r.put(t, n, vs, m.Range, bucketed)
		}
		r.stand(n, vs)
	}
	return n
}

// stand turns the rate of a timestamp into that of its counter.
func (r *repair) stand(n *parser.Call, vs *parser.VectorSelector) {
	metric, _ := metricOf(vs)
	at, ok := vllm.ParseMetric(metric)
	if !ok || at.Suffix != vllm.SuffixCreated || still(n) == "" {
		return
	}
	to := at
	switch to.Suffix = ""; {
	case typeOf(at.Base) == vllm.Counter:
	case typeOf(at.Base) == vllm.Histogram:
		to.Suffix = vllm.SuffixCount
	default:
		to.Base += vllm.SuffixTotal
	}
	if _, known := vllm.CurrentMetric(to.Base); !known {
		r.lose(metric)
		return
	}
	there, ok := r.known.spelled(to.Prefix, to.Base, to.Suffix)
	if !ok {
		r.lose(metric)
		return
	}
	r.rename(vs, there.String())
}

// quantile repairs what is below histogram_quantile, and lets the buckets through.
func (r *repair) quantile(n *parser.Call) parser.Expr {
	for _, vs := range selectors(n.Args[1]) {
		if t, ok := r.replacement(vs); ok && t.was.shape == asQuantile {
			return r.batch(n, t, vs)
		}
	}
	n.Args[1] = open(r.expr(n.Args[1], true))
	if bucketless(n.Args[1]) == "" {
		return n
	}
	parser.Inspect(n.Args[1], func(node parser.Node, _ []parser.Node) error {
		switch b := node.(type) {
		case *parser.AggregateExpr:
			r.admit(b)
		case *parser.VectorSelector:
			metric, _ := metricOf(b)
			if m, ok := vllm.ParseMetric(metric); ok && (m.Suffix == vllm.SuffixCount || m.Suffix == vllm.SuffixSum) {
				m.Suffix = vllm.SuffixBucket
				r.rename(b, m.String())
			}
		}
		return nil
	})
	return n
}

// admit lets the label le through an aggregation.
func (r *repair) admit(a *parser.AggregateExpr) {
	if !drops(a, "le") {
		return
	}
	r.changes++
	if a.Without {
		a.Grouping = slices.DeleteFunc(slices.Clone(a.Grouping), func(l string) bool { return l == "le" })
		return
	}
	a.Grouping = append([]string{"le"}, a.Grouping...)
}

// source puts the corrected expression of a recording rule in the place of its name.
func (r *repair) source(vs *parser.VectorSelector) parser.Expr {
	metric, _ := metricOf(vs)
	sources := r.known.Recorded[metric]
	if len(sources) != 1 || len(vs.LabelMatchers) != 1 || vs.OriginalOffset != 0 {
		return nil
	}
	if (&examiner{known: r.known}).selector(vs).state != Never {
		return nil
	}
	below := r.known
	below.Recorded = maps.Clone(below.Recorded)
	delete(below.Recorded, metric)
	instead, about, _ := correct(sources[0], below)
	e, err := parse(instead)
	if err != nil {
		return nil
	}
	r.changes++
	r.about = once(
		r.about,
		append(
			[]string{
				"it asks for what the recording rule " + metric + " should record; correct that rule " +
					"instead: " + instead,
			},
			about...,
		)...,
	)
	return &parser.ParenExpr{Expr: e}
}

// comparison repairs a threshold that no value can meet, and adds what the rule's meaning needs.
func (r *repair) comparison(n *parser.BinaryExpr) parser.Expr {
	if !n.Op.IsComparisonOperator() || n.ReturnBool {
		return n
	}
	x := &examiner{known: r.known}
	left, right := x.expr(n.LHS), x.expr(n.RHS)
	if left.state == Never || right.state == Never {
		return n
	}
	if impossible(n, left, right) != "" {
		r.threshold(n, left)
		return n
	}
	if r.changes == 0 {
		return n
	}
	if e := r.aborts(n); e != nil {
		return e
	}
	if e := r.busy(n); e != nil {
		return e
	}
	return n
}

// threshold moves a limit into what can be.
func (r *repair) threshold(n *parser.BinaryExpr, left value) {
	limit, fixed := literal(n.RHS)
	if !fixed || left.top == "" || n.Op != parser.GTR && n.Op != parser.GTE {
		return
	}
	switch {
	case limit == left.hi:
		n.Op = parser.GTE
		r.about = once(r.about, fmt.Sprintf("%g is the maximum", limit))
	case left.full && left.hi == 1 && limit <= 100:
		n.RHS = &parser.NumberLiteral{Val: percent(limit)}
		r.about = once(r.about, fmt.Sprintf("%g%% is %g", limit, percent(limit)))
	case !left.full:
		n.Op, n.RHS = parser.GTE, &parser.NumberLiteral{Val: left.hi}
		r.about = once(r.about, fmt.Sprintf("%g means \"%g or more\": that is where the buckets end", left.hi, left.hi))
	default:
		return
	}
	r.changes++
}

// percent divides by a hundred without the dust of binary fractions.
func percent(v float64) float64 { return float64(int64(v*1e6+0.5)) / 1e8 }

// regroup renames labels in groupings and matchings.
func (r *repair) regroup(e parser.Expr) {
	swap := func(names []string) {
		for i, l := range names {
			if to := r.relabel[l]; to != "" {
				names[i] = to
			}
		}
	}
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.AggregateExpr:
			swap(n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				swap(n.VectorMatching.MatchingLabels)
				swap(n.VectorMatching.Include)
			}
		}
		return nil
	})
}

func (r *repair) lose(metric string) {
	r.lost = once(r.lost, "no metric here replaces "+metric)
}

// rename changes a selector's metric in place.
func (r *repair) rename(vs *parser.VectorSelector, to string) {
	r.changes++
	from := vs.Name
	if from != "" {
		vs.Name = to
	}
	for i, m := range vs.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			vs.LabelMatchers[i] = equal(model.MetricNameLabel, to)
		}
	}
}
