package alertrules

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// reason is why something is always empty. metric is set when a metric without series is the cause.
type reason struct{ metric, text string }

// value is what an expression can give: whether there are samples, and between which values.
type value struct {
	state  State
	lo, hi float64
	// nan says that the value is certainly not a number.
	nan bool
	// top says where hi comes from; empty when hi is only what arithmetic gives. full: hi is the whole of a fraction.
	top  string
	full bool
	why  []reason
}

func between(s State, lo, hi float64) value { return value{state: s, lo: lo, hi: hi} }

func anything(s State) value { return between(s, math.Inf(-1), math.Inf(1)) }

func number(v float64) value {
	if math.IsNaN(v) {
		out := anything(Can)
		out.nan = true
		return out
	}
	return between(Can, v, v)
}

func empty(why ...reason) value {
	v := anything(Never)
	v.why = why
	return v
}

// constant returns the one value that v has.
func (v value) constant() (float64, bool) { return v.lo, v.lo == v.hi && !v.nan }

// examiner walks a tree three-valued.
type examiner struct {
	known Known
	// above are the recording rules that are being looked into; followed counts all that were.
	above    []string
	followed *int
	doubts   []string
	notes    []string
}

func (x *examiner) expr(e parser.Expr) value {
	switch n := e.(type) {
	case *parser.NumberLiteral:
		return number(n.Val)
	case *parser.ParenExpr:
		return x.expr(n.Expr)
	case *parser.StepInvariantExpr:
		return x.expr(n.Expr)
	case *parser.UnaryExpr:
		v := x.expr(n.Expr)
		if n.Op == parser.SUB {
			v.lo, v.hi, v.top = -v.hi, -v.lo, ""
		}
		return v
	case *parser.VectorSelector:
		return x.selector(n)
	case *parser.MatrixSelector:
		return x.expr(n.VectorSelector)
	case *parser.SubqueryExpr:
		return x.expr(n.Expr)
	case *parser.AggregateExpr:
		return x.aggregate(n)
	case *parser.Call:
		return x.call(n)
	case *parser.BinaryExpr:
		return x.binary(n)
	}
	return anything(Undecided)
}

func (x *examiner) aggregate(n *parser.AggregateExpr) value {
	v := x.expr(n.Expr)
	if v.state == Never {
		return v
	}
	out := anything(v.state)
	switch n.Op {
	case parser.SUM:
		return summed(v)
	case parser.AVG, parser.MIN, parser.MAX, parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return v
	case parser.QUANTILE:
		if q, ok := x.expr(n.Param).constant(); ok && q >= 0 && q <= 1 {
			return v
		}
	case parser.COUNT, parser.COUNT_VALUES:
		out.lo, out.top = 1, ""
	case parser.GROUP:
		out.lo, out.hi = 1, 1
	case parser.STDDEV, parser.STDVAR:
		out.lo = 0
	}
	return out
}

// summed is the sum of one or more of these.
func summed(v value) value {
	out := anything(v.state)
	if v.lo >= 0 {
		out.lo = v.lo
	}
	if v.hi <= 0 {
		out.hi = v.hi
	}
	return out
}

func (x *examiner) binary(n *parser.BinaryExpr) value {
	l, r := x.expr(n.LHS), x.expr(n.RHS)
	switch {
	case n.Op == parser.LOR:
		return either(l, r)
	case n.Op == parser.LUNLESS:
		return l
	case n.VectorMatching != nil && (n.VectorMatching.FillValues.LHS != nil || n.VectorMatching.FillValues.RHS != nil):
		return either(l, r) // a fill value stands in for the side that is empty
	}
	state, why := both(l, r)
	if state == Never {
		return empty(why...)
	}
	var out value
	switch {
	case n.Op == parser.LAND:
		out = l
	case n.Op.IsComparisonOperator():
		out = compared(n, l, r)
	default:
		out = computed(n, l, r)
	}
	if out.state != Never {
		out.state = state
	}
	return out
}

// both has samples only when l and r have.
func both(l, r value) (State, []reason) {
	switch {
	case l.state == Never || r.state == Never:
		return Never, slices.Concat(l.why, r.why)
	case l.state == Undecided || r.state == Undecided:
		return Undecided, nil
	}
	return Can, nil
}

// either has samples when one of l and r has.
func either(l, r value) value {
	switch {
	case l.state == Never && r.state == Never:
		return empty(slices.Concat(l.why, r.why)...)
	case l.state == Never:
		return r
	case r.state == Never:
		return l
	}
	out := between(Undecided, min(l.lo, r.lo), max(l.hi, r.hi))
	if l.state == Can || r.state == Can {
		out.state = Can
	}
	if l.hi >= r.hi {
		out.top, out.full = l.top, l.full
	} else {
		out.top, out.full = r.top, r.full
	}
	return out
}

// compared filters, unless it has bool.
func compared(n *parser.BinaryExpr, l, r value) value {
	if n.ReturnBool {
		return between(Can, 0, 1)
	}
	if why := impossible(n, l, r); why != "" {
		return empty(append(slices.Concat(l.why, r.why), reason{text: why})...)
	}
	out := l
	if n.LHS.Type() == parser.ValueTypeScalar {
		out = r
	}
	return out
}

// impossible says why no two values of l and r compare so; empty when some do. Not-a-number compares with nothing but
// !=.
func impossible(n *parser.BinaryExpr, l, r value) string {
	if (l.nan || r.nan) && n.Op != parser.NEQ {
		return fmt.Sprintf("%s compares with something that is not a number", cut(n.String()))
	}
	no := false
	switch n.Op {
	case parser.GTR:
		no = l.hi <= r.lo
	case parser.GTE:
		no = l.hi < r.lo
	case parser.LSS:
		no = l.lo >= r.hi
	case parser.LTE:
		no = l.lo > r.hi
	case parser.EQLC:
		no = l.hi < r.lo || l.lo > r.hi
	}
	if !no {
		return ""
	}
	limit := l.top // what is asked to be larger cannot be
	if n.Op == parser.LSS || n.Op == parser.LTE {
		limit = r.top
	}
	if limit != "" && (n.Op != parser.EQLC || l.hi < r.lo) {
		return fmt.Sprintf("%s, so %s can never be true", limit, cut(n.String()))
	}
	return fmt.Sprintf("%s can never be true: its left side is %s and its right side %s", cut(n.String()), l.text(),
		r.text())
}

// text says which values there can be.
func (v value) text() string {
	if c, ok := v.constant(); ok {
		return fmt.Sprintf("%g", c)
	}
	switch {
	case math.IsInf(v.lo, -1) && math.IsInf(v.hi, 1):
		return "any number"
	case math.IsInf(v.hi, 1):
		return fmt.Sprintf("never below %g", v.lo)
	case math.IsInf(v.lo, -1):
		return fmt.Sprintf("never above %g", v.hi)
	}
	return fmt.Sprintf("between %g and %g", v.lo, v.hi)
}

// cut shortens an expression for a sentence.
func cut(s string) string {
	const limit = 160
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return s
}
