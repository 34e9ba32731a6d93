package alertrules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func duration(d time.Duration) string { return model.Duration(d).String() }

// aborts gives a rule about the share of aborted requests the form of the shipped ones (deploy/prometheus/rules):
// what vLLM counts, errors included, or what can be inferred, because vLLM's Python frontend does not count clients
// that went away. Nil for any other rule.
func (r *repair) aborts(n *parser.BinaryExpr) parser.Expr {
	limit, fixed := literal(n.RHS)
	ratio, divides := open(n.LHS).(*parser.BinaryExpr)
	if !fixed || !divides || ratio.Op != parser.DIV || n.Op != parser.GTR && n.Op != parser.GTE {
		return nil
	}
	counts := selectors(ratio.LHS)
	if len(counts) != 1 || !aborted(counts[0]) {
		return nil
	}
	vs := counts[0]
	over := window
	parser.Inspect(ratio.LHS, func(node parser.Node, _ []parser.Node) error {
		if m, ok := node.(*parser.MatrixSelector); ok {
			over = m.Range
		}
		return nil
	})
	for i, m := range vs.LabelMatchers {
		if m.Name == labelReason && m.Type == labels.MatchEqual {
			vs.LabelMatchers[i] = compiled(labels.MatchRegexp, labelReason, "abort|error", m)
		}
	}
	inferred, ok := r.inferred(vs, summing(ratio.LHS), over, n.Op.String(), limit)
	if !ok {
		return n
	}
	e, err := parse("(" + n.String() + ") or (" + inferred + ")")
	if err != nil {
		return n
	}
	r.about = once(
		r.about,
		"its second half infers clients that disconnected, which vLLM does not count: requests that started and are "+
			"neither finished, running nor waiting",
	)
	return &parser.ParenExpr{Expr: e}
}

// inferred is the shipped rule's second form.
func (r *repair) inferred(
	vs *parser.VectorSelector, sum string, over time.Duration, op string, limit float64,
) (string, bool) {
	metric, _ := metricOf(vs)
	at, _ := vllm.ParseMetric(metric)
	has := true
	series := func(base, suffix string, more ...*labels.Matcher) string {
		n, ok := r.known.spelled(at.Prefix, base, suffix)
		has = has && ok
		s := plain(n.String(), more...)
		for _, m := range vs.LabelMatchers {
			if m.Name != model.MetricNameLabel && m.Name != labelReason {
				s.LabelMatchers = append(s.LabelMatchers, m)
			}
		}
		return s.String() + "[" + duration(over) + "]"
	}
	began := series("time_to_first_token_seconds", vllm.SuffixCount)
	text := fmt.Sprintf("(%[1]s (increase(%[2]s)) - %[1]s (increase(%[3]s)) - %[1]s (clamp_min(delta(%[4]s), 0)) - "+
		"%[1]s (increase(%[5]s)))"+
		" / %[1]s (increase(%[2]s)) %[6]s %[7]s and %[1]s (increase(%[2]s)) >= 20 unless %[1]s (resets(%[2]s)) > 0",
		sum, began, series(
			"request_success_total", "",
		), series("num_requests_running", "", equal(vllm.RouterLabel, "")), series("num_preemptions_total", ""),
		op, (&parser.NumberLiteral{Val: limit}).String())
	return text, has
}

// summing is how a rule adds up, without the label of the finish reason and the rank.
func summing(e parser.Expr) string {
	a, ok := open(e).(*parser.AggregateExpr)
	if !ok {
		return "sum without (engine, " + labelReason + ")"
	}
	out := &parser.AggregateExpr{Op: parser.SUM, Without: a.Without}
	for _, l := range a.Grouping {
		if l != labelReason && l != "finish_reason" && l != "status" {
			out.Grouping = append(out.Grouping, l)
		}
	}
	if a.Without {
		out.Grouping = once(out.Grouping, "engine", labelReason)
	}
	return strings.TrimSpace(out.ShortString())
}

// busy adds to a rule about little throughput that requests must be running: without them there is nothing to be fast
// with. Nil for any other rule.
func (r *repair) busy(n *parser.BinaryExpr) parser.Expr {
	if r.guarded || !idle(n) {
		return nil
	}
	work, err := parse(n.LHS.String())
	if err != nil {
		return nil
	}
	work, reasons := r.running(work)
	matching := ""
	if reasons {
		matching = " ignoring (" + labelReason + ")"
	}
	e, err := parse(fmt.Sprintf("%s and%s %s > 0", n, matching, work))
	if err != nil {
		return nil
	}
	r.about = once(r.about, "it also requires running requests: otherwise it fires on every idle server")
	return &parser.ParenExpr{Expr: e}
}

// running replaces the rate of each throughput counter by the least number of running requests. reasons says that a
// selector without it carried finished_reason up to the top.
func (r *repair) running(e parser.Expr) (_ parser.Expr, reasons bool) {
	switch n := e.(type) {
	case *parser.ParenExpr:
		n.Expr, reasons = r.running(n.Expr)
	case *parser.AggregateExpr:
		n.Expr, _ = r.running(n.Expr)
	case *parser.BinaryExpr:
		var left, right bool
		n.LHS, left = r.running(n.LHS)
		n.RHS, right = r.running(n.RHS)
		reasons = left || right
	case *parser.Call:
		if !flow(n) {
			break
		}
		m, ok := n.Args[0].(*parser.MatrixSelector)
		if !ok {
			break
		}
		vs, ok := m.VectorSelector.(*parser.VectorSelector)
		if !ok {
			break
		}
		metric, _ := metricOf(vs)
		at, _ := vllm.ParseMetric(metric)
		there, ok := r.known.spelled(at.Prefix, "num_requests_running", "")
		if !ok {
			break
		}
		run := clone(vs)
		run.LabelMatchers = slices.DeleteFunc(
			run.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == labelReason },
		)
		run.LabelMatchers = append(run.LabelMatchers, equal(vllm.RouterLabel, ""))
		(&repair{}).rename(run, there.String())
		return ranged5("min_over_time", run, m.Range), at.Base == "request_success_total"
	}
	return e, reasons
}
