package alertrules

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// computed bounds the result of an arithmetic operator. Where a bound is not certain there is none.
func computed(n *parser.BinaryExpr, l, r value) value {
	out := anything(Can)
	if l.nan || r.nan {
		out.nan = n.Op == parser.ADD || n.Op == parser.SUB || n.Op == parser.MUL || n.Op == parser.DIV
		out.why = slices.Concat(l.why, r.why)
		return out
	}
	switch n.Op {
	case parser.ADD:
		out.lo, out.hi = sum(l.lo, r.lo, -1), sum(l.hi, r.hi, 1)
	case parser.SUB:
		out.lo, out.hi = sum(l.lo, -r.hi, -1), sum(l.hi, -r.lo, 1)
	case parser.MUL:
		out = product(l, r)
	case parser.DIV:
		out = quotient(n, l, r)
	}
	if _, fixed := r.constant(); fixed && out.top == "" && n.Op != parser.SUB {
		out.top = l.top
	}
	return out
}

// sum adds two bounds; opposite infinities give no bound on that side.
func sum(a, b float64, side int) float64 {
	if s := a + b; !math.IsNaN(s) {
		return s
	}
	return math.Inf(side)
}

func product(l, r value) value {
	if c, ok := l.constant(); ok {
		return times(r, c)
	}
	if c, ok := r.constant(); ok {
		return times(l, c)
	}
	out := anything(Can)
	if l.lo >= 0 && r.lo >= 0 {
		out.lo = 0
		if !math.IsInf(l.hi, 1) && !math.IsInf(r.hi, 1) {
			out.hi = l.hi * r.hi
		}
	}
	return out
}

// times multiplies with a constant.
func times(v value, c float64) value {
	out := anything(Can)
	switch {
	case math.IsInf(c, 0):
	case c > 0:
		out.lo, out.hi, out.top, out.full = v.lo*c, v.hi*c, v.top, v.full
	case c < 0:
		out.lo, out.hi = v.hi*c, v.lo*c
	case !math.IsInf(v.lo, 0) && !math.IsInf(v.hi, 0):
		out.lo, out.hi = 0, 0
	}
	return out
}

func quotient(n *parser.BinaryExpr, l, r value) value {
	if c, ok := r.constant(); ok && c != 0 && !math.IsInf(c, 0) {
		out := anything(Can)
		if c > 0 {
			out.lo, out.hi, out.top, out.full = l.lo/c, l.hi/c, l.top, l.full
		} else {
			out.lo, out.hi = l.hi/c, l.lo/c
		}
		return out
	}
	out := anything(Can)
	if l.lo >= 0 && r.lo >= 0 {
		out.lo = 0
		if n.VectorMatching != nil && n.VectorMatching.Card == parser.CardOneToOne && share(n.LHS, n.RHS) {
			out.hi, out.full, out.top = 1, true, fmt.Sprintf("%s is a share: 1 means all", cut(n.String()))
		}
	}
	return out
}

// share says whether a is a part of b: the same tree over the same metrics, in which the selectors of a only ask for
// more. Then a/b is at most 1.
func share(a, b parser.Expr) bool {
	a, b = open(a), open(b)
	switch l := a.(type) {
	case *parser.AggregateExpr:
		r, ok := b.(*parser.AggregateExpr)
		return ok && l.Op == parser.SUM && r.Op == parser.SUM && grouping(l) == grouping(r) && share(l.Expr, r.Expr)
	case *parser.Call:
		r, ok := b.(*parser.Call)
		if !ok || l.Func.Name != r.Func.Name || l.Func.Name != "rate" && l.Func.Name != "increase" {
			return false
		}
		return share(l.Args[0], r.Args[0])
	case *parser.MatrixSelector:
		r, ok := b.(*parser.MatrixSelector)
		return ok && l.Range == r.Range && share(l.VectorSelector, r.VectorSelector)
	case *parser.VectorSelector:
		r, ok := b.(*parser.VectorSelector)
		return ok && narrower(l, r)
	}
	return false
}

func narrower(l, r *parser.VectorSelector) bool {
	if l.OriginalOffset != r.OriginalOffset || l.Timestamp != nil || r.Timestamp != nil || l.StartOrEnd != 0 ||
		r.StartOrEnd != 0 {
		return false
	}
	have := map[string]bool{}
	for _, m := range l.LabelMatchers {
		have[m.String()] = true
	}
	for _, m := range r.LabelMatchers {
		if !have[m.String()] {
			return false
		}
	}
	return true
}

func grouping(n *parser.AggregateExpr) string {
	return (&parser.AggregateExpr{Op: n.Op, Grouping: n.Grouping, Without: n.Without}).ShortString()
}

// open takes brackets away.
func open(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
