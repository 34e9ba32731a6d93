package playbooks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// shape is a checked rule as a tree of "and", "or", "not" and conditions, for finding and telling what made it true or
// false.
type shape struct {
	kind  shapeKind
	id    int64
	text  string
	parts []shape // of and, or, not

	op          string // of a comparison, with the reading on the left
	left, right operand
}

type shapeKind int

const (
	shapeAnd shapeKind = iota
	shapeOr
	shapeNot
	shapeCompare
	shapePresent
	shapeAbsent
	shapeConstant
)

// operand is one side of a comparison or the argument of present and absent.
type operand struct {
	id   int64
	text string
	// signal is the signal in it, target the name behind "slo."; both are empty for a number.
	signal string
	target string
	// label is what people call the signal or the target, and name the operand: "TTFT p95", "half of TTFT p95".
	label, name string
	// standIn is the name of a number with a unit in the program.
	standIn string
	unit    incident.Unit // empty for a number without one
	plain   bool          // the signal or target itself, not a multiple of it
}

func (o operand) isNumber() bool { return o.signal == "" && o.target == "" }

// shaper builds shapes of one checked rule.
type shaper struct {
	info     *ast.SourceInfo
	signals  map[string]incident.Signal
	literals map[string]literal
}

func (s shaper) shape(e ast.Expr) shape {
	out := shape{id: e.ID(), text: s.text(e), kind: shapeConstant}
	if e.Kind() != ast.CallKind {
		return out
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		out.kind, out.parts = shapeAnd, s.flatten(e, operators.LogicalAnd)
	case operators.LogicalOr:
		out.kind, out.parts = shapeOr, s.flatten(e, operators.LogicalOr)
	case operators.LogicalNot:
		out.kind, out.parts = shapeNot, []shape{s.shape(call.Args()[0])}
	case fnPresent:
		out.kind, out.left = shapePresent, s.operand(call.Args()[0])
	case fnAbsent:
		out.kind, out.left = shapeAbsent, s.operand(call.Args()[0])
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		out.kind, out.op = shapeCompare, call.FunctionName()
		out.left, out.right = s.operand(call.Args()[0]), s.operand(call.Args()[1])
		if out.left.signal == "" && out.right.signal != "" {
			out.left, out.right, out.op = out.right, out.left, mirrored(out.op)
		}
	}
	return out
}

// flatten takes "a && b && c" as three parts, however the parser nested it.
func (s shaper) flatten(e ast.Expr, op string) []shape {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == op {
		var out []shape
		for _, arg := range e.AsCall().Args() {
			out = append(out, s.flatten(arg, op)...)
		}
		return out
	}
	return []shape{s.shape(e)}
}

func (s shaper) operand(e ast.Expr) operand {
	out := operand{id: e.ID(), text: s.text(e)}
	factor := 1.0
	switch e.Kind() {
	case ast.IdentKind:
		if n, ok := s.literals[e.AsIdent()]; ok {
			out.standIn, out.unit = e.AsIdent(), n.unit
			return out
		}
		out.signal, out.plain = e.AsIdent(), true
		if name, ok := strings.CutPrefix(out.signal, "slo."); ok {
			out.signal, out.target = "", name
		}
	case ast.SelectKind:
		out.target, out.plain = e.AsSelect().FieldName(), true
	case ast.CallKind:
		call := e.AsCall()
		inner := call.Args()
		if call.IsMemberFunction() {
			inner = append([]ast.Expr{call.Target()}, inner...)
		}
		for _, arg := range inner {
			switch o := s.operand(arg); {
			case !o.isNumber():
				out.signal, out.target, out.name, out.plain = o.signal, o.target, o.name, o.plain
			case arg.Kind() == ast.LiteralKind:
				if f, ok := number(arg.AsLiteral()); ok {
					factor = f
				}
			}
		}
		out.plain = out.plain && call.FunctionName() == fnOr
	}
	switch {
	case out.signal != "":
		out.unit = s.signals[out.signal].Unit
		out.label = s.signals[out.signal].Label()
	case out.target != "":
		out.unit = incident.UnitSeconds
		out.label = targetLabel(out.target)
	}
	out.name = multiple(factor, cmp.Or(out.name, out.label))
	return out
}

// multiple is so many times what has a name: "half of TTFT p95", "10% of Finished requests", "2 × TTFT target".
func multiple(factor float64, name string) string {
	switch {
	case factor == 1:
		return name
	case factor == 0.5:
		return "half of " + name
	case factor > 0 && factor < 1:
		return incident.FormatValue(factor, incident.UnitRatio) + " of " + name
	}
	return incident.FormatValue(factor, "") + " × " + name
}

func (s shaper) text(e ast.Expr) string {
	text, err := cel.ExprToString(e, s.info)
	if err != nil {
		return "the rule"
	}
	return written(text, s.literals)
}

func mirrored(op string) string {
	switch op {
	case operators.Less:
		return operators.Greater
	case operators.LessEquals:
		return operators.GreaterEquals
	case operators.Greater:
		return operators.Less
	default:
		return operators.LessEquals
	}
}

// conditions are the comparisons and questions of a rule in the order in which it is written.
func (s shape) conditions() []shape {
	if len(s.parts) == 0 {
		return []shape{s}
	}
	var out []shape
	for _, p := range s.parts {
		out = append(out, p.conditions()...)
	}
	return out
}

// key is the same for rules that say the same in different writing.
func (s shape) key() string {
	parts := make([]string, len(s.parts))
	for i, p := range s.parts {
		parts[i] = p.key()
	}
	slices.Sort(parts)
	switch s.kind {
	case shapeAnd, shapeOr, shapeNot:
		return fmt.Sprintf("%d(%s)", s.kind, strings.Join(parts, ","))
	case shapeCompare:
		return s.left.key() + s.op + s.right.key()
	case shapePresent, shapeAbsent, shapeConstant:
		return s.text
	default:
		return s.text
	}
}

// key is the operand as text, a number in its shortest form.
func (o operand) key() string {
	if f, err := strconv.ParseFloat(o.text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return o.text
}
