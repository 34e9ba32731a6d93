package playbooks

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The language of rules is CEL with &&, || and !, comparisons of readings and targets with each other and with numbers,
// a number times a reading or a target, and three functions:
//
//	present(x)        there is a value or a bound; false without data (NaN is none), undecided when it could not be asked
//	absent(x)         it was asked and there is no data; undecided when it could not be asked
//	slo.ttft.or(3s)   the target, or this one where the pool has none
//
// Numbers carry the unit of what they are compared with: 3s, 500ms, 95%, 0.5/s, 80GiB. Counts, tokens, factors and zero
// have none. There is no equality (measured values are compared with <= and >=), no conditional, no list, no text and
// no loop.
const (
	fnPresent = "present"
	fnAbsent  = "absent"
	fnOr      = "or"

	// maxRule bounds the text of one rule, maxDepth how deep it nests, maxCost what one evaluation may cost. The longest
	// built-in rule is far below each; the bounds keep a mistaken or hostile file from being expensive.
	maxRule  = 2000
	maxDepth = 40
	maxCost  = 500
)

// reservedNames cannot be the names of signals.
func reservedNames() []string {
	return []string{
		"slo", fnPresent, fnAbsent, fnOr, "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
		"function",
		"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while", "has", "all", "exists",
		"reading",
		"target", "bool", "int", "uint", "double", "string", "bytes", "list", "map", "type", "dyn", "duration", "timestamp",
		"size",
	}
}

func newCEL(signals []incident.Signal) (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{
			DisableMacros: true,
			IncludeFunctions: []*env.Function{
				{Name: operators.LogicalAnd}, {Name: operators.LogicalOr}, {Name: operators.LogicalNot},
			},
		})),
		cel.ParserExpressionSizeLimit(maxRule),
		cel.ParserRecursionLimit(maxDepth),
		compareOp(operators.Less, "less", below),
		compareOp(operators.LessEquals, "less_equals", atMost),
		compareOp(operators.Greater, "greater", func(a, b quantity) incident.Truth { return below(b, a) }),
		compareOp(operators.GreaterEquals, "greater_equals", func(a, b quantity) incident.Truth { return atMost(b, a) }),
		timesOp(),
		cel.Function(fnPresent,
			cel.Overload("present_reading", []*cel.Type{readingType()}, cel.BoolType, cel.UnaryBinding(present)),
			cel.Overload("present_target", []*cel.Type{targetType()}, cel.BoolType, cel.UnaryBinding(present))),
		cel.Function(fnAbsent,
			cel.Overload("absent_reading", []*cel.Type{readingType()}, cel.BoolType, cel.UnaryBinding(absent))),
		cel.Function(fnOr,
			cel.MemberOverload("target_or_number", []*cel.Type{targetType(), numberType()}, targetType(),
				cel.BinaryBinding(orElse))),
	}
	opts = append(opts, standIns()...)
	for _, s := range signals {
		opts = append(opts, cel.Variable(s.Name, readingType()))
	}
	for _, name := range targetNames() {
		opts = append(opts, cel.Variable("slo."+name, targetType()))
	}
	e, err := cel.NewCustomEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("set up the language of rules: %w", err)
	}
	return e, nil
}

// compareOp declares one comparison for every pair of which at least one side was measured or is a target.
func compareOp(op, id string, decide func(a, b quantity) incident.Truth) cel.EnvOption {
	bind := cel.BinaryBinding(func(a, b ref.Val) ref.Val { return fromTruth(decide(operandOf(a), operandOf(b))) })
	var overloads []cel.FunctionOpt
	for _, pair := range operandPairs() {
		name := fmt.Sprintf("%s_%s_%s", id, pair[0], pair[1])
		overloads = append(overloads, cel.Overload(name, []*cel.Type{pair[0], pair[1]}, cel.BoolType, bind))
	}
	return cel.Function(op, overloads...)
}

func operandPairs() [][2]*cel.Type {
	var pairs [][2]*cel.Type
	for _, q := range []*cel.Type{readingType(), targetType()} {
		for _, other := range []*cel.Type{readingType(), targetType()} {
			pairs = append(pairs, [2]*cel.Type{q, other})
		}
		for _, number := range []*cel.Type{cel.DoubleType, cel.IntType, numberType()} {
			pairs = append(pairs, [2]*cel.Type{q, number}, [2]*cel.Type{number, q})
		}
	}
	return pairs
}

func timesOp() cel.EnvOption {
	var overloads []cel.FunctionOpt
	for _, q := range []*cel.Type{readingType(), targetType()} {
		for _, number := range []*cel.Type{cel.DoubleType, cel.IntType} {
			overloads = append(overloads,
				cel.Overload(fmt.Sprintf("times_%s_%s", number, q), []*cel.Type{number, q}, q,
					cel.BinaryBinding(func(a, b ref.Val) ref.Val { return scaled(b, a) })),
				cel.Overload(fmt.Sprintf("times_%s_%s", q, number), []*cel.Type{q, number}, q,
					cel.BinaryBinding(scaled)))
		}
	}
	return cel.Function(operators.Multiply, overloads...)
}

// operandOf takes a side of a comparison as an interval; a number is one point. What is neither is unknown.
func operandOf(v ref.Val) quantity {
	if q, ok := v.(quantity); ok {
		return q
	}
	f, ok := number(v)
	return quantity{lo: f, hi: f, known: ok}
}

func number(v ref.Val) (float64, bool) {
	switch n := v.(type) {
	case types.Double:
		return float64(n), true
	case types.Int:
		return float64(n), true
	default:
		return 0, false
	}
}

func scaled(q, factor ref.Val) ref.Val {
	a, isQuantity := q.(quantity)
	f, isNumber := number(factor)
	if !isQuantity || !isNumber {
		return types.MaybeNoSuchOverloadErr(q)
	}
	return a.times(f)
}

func fromTruth(t incident.Truth) ref.Val {
	switch t {
	case incident.True:
		return types.True
	case incident.False:
		return types.False
	case incident.Undecided:
		return types.NewUnknown(0, nil)
	default:
		return types.NewUnknown(0, nil)
	}
}

func toTruth(v ref.Val) incident.Truth {
	switch v {
	case types.True:
		return incident.True
	case types.False:
		return incident.False
	default:
		return incident.Undecided
	}
}

// present says no only when the question was answered. A Prometheus that is away must not look like a metric that does
// not exist.
func present(v ref.Val) ref.Val {
	q, ok := v.(quantity)
	switch {
	case ok && q.known:
		return types.True
	case ok && q.empty:
		return types.False
	default:
		return fromTruth(incident.Undecided)
	}
}

func absent(v ref.Val) ref.Val {
	q, ok := v.(quantity)
	switch {
	case !ok:
		return fromTruth(incident.Undecided)
	case q.known:
		return types.False
	case q.empty:
		return types.True
	default:
		return fromTruth(incident.Undecided)
	}
}

// orElse gives a pool without a target the one that the author of the rule chose.
func orElse(v, fallback ref.Val) ref.Val {
	q, ok := v.(quantity)
	f, isNumber := fallback.(quantity)
	if !ok || !isNumber {
		return types.MaybeNoSuchOverloadErr(v)
	}
	if q.known {
		return q
	}
	return fromTarget(f.lo)
}
