package playbooks

import (
	"fmt"
	"math"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// quantity is what a rule compares: a reading or a target, known to lie between lo and hi, both included. An exact
// reading has lo == hi; "≤ 300 ms" goes from minus infinity to 0.3. When known is false nothing is known, and why
// says in which way.
type quantity struct {
	kind   *types.Type
	lo, hi float64
	known  bool
	// empty says that the question was answered and there was no data, as opposed to an error or a question that was not
	// asked.
	empty bool
	// unasked says that the question was not asked, and failure is the error where it was asked in vain.
	unasked bool
	failure string
	// why says for people why nothing is known.
	why  string
	unit incident.Unit
}

// readingType is the type of signals in rules, targetType that of slo.*. They differ so that only a target can have a
// default: a missing reading must never turn into a number.
func readingType() *types.Type { return types.NewOpaqueType("reading") }
func targetType() *types.Type  { return types.NewOpaqueType("target") }

// fromReading turns a reading into what a rule sees. A value that is not a finite number is no data.
func fromReading(r incident.Reading, asked bool, unit incident.Unit) quantity {
	q := quantity{kind: readingType(), unit: unit}
	switch {
	case !asked:
		return unread(q.kind, unit)
	case r.Error != "":
		q.failure = shorten(r.Error)
		q.why = "error: " + q.failure
		return q
	case r.Value == nil || math.IsNaN(*r.Value) || math.IsInf(*r.Value, 0):
		q.why, q.empty = "no data", true
		return q
	}
	q.known = true
	switch r.Bound {
	case incident.Exact:
		q.lo, q.hi = *r.Value, *r.Value
	case incident.AtMost:
		q.lo, q.hi = math.Inf(-1), *r.Value
	case incident.AtLeast:
		q.lo, q.hi = *r.Value, math.Inf(1)
	default:
		q.known, q.failure = false, fmt.Sprintf("the bound %q is not known", r.Bound)
		q.why = "error: " + q.failure
	}
	return q
}

// unread is a quantity that nobody asked for.
func unread(kind *types.Type, unit incident.Unit) quantity {
	return quantity{kind: kind, unit: unit, unasked: true, why: "not read"}
}

// fromTarget turns a target into what a rule sees; zero means that there is none.
func fromTarget(v float64) quantity {
	q := quantity{kind: targetType(), unit: incident.UnitSeconds}
	if !(v > 0) || math.IsInf(v, 0) {
		q.why, q.empty = "no target", true
		return q
	}
	q.lo, q.hi, q.known = v, v, true
	return q
}

// text is the quantity as a person reads it.
func (q quantity) text(unit incident.Unit) string {
	switch {
	case !q.known:
		return q.why
	case math.IsInf(q.lo, -1):
		return incident.AtMost.Text(incident.FormatValue(q.hi, unit))
	case math.IsInf(q.hi, 1):
		return incident.AtLeast.Text(incident.FormatValue(q.lo, unit))
	default:
		return incident.FormatValue(q.lo, unit)
	}
}

// amount is the quantity for programs; empty where nothing is known, and for what JSON has no number for.
func (q quantity) amount(unit incident.Unit) incident.Amount {
	out := incident.Amount{Value: q.lo, Unit: unit}
	switch {
	case !q.known:
		return incident.Amount{}
	case math.IsInf(q.lo, -1):
		out.Value, out.Bound = q.hi, incident.AtMost
	case math.IsInf(q.hi, 1):
		out.Bound = incident.AtLeast
	}
	if math.IsNaN(out.Value) || math.IsInf(out.Value, 0) {
		return incident.Amount{}
	}
	return out
}

// exact is the one value that the quantity can have.
func (q quantity) exact() (float64, bool) {
	return q.lo, q.known && q.lo == q.hi
}

// times scales by a finite number.
func (q quantity) times(f float64) quantity {
	if !q.known {
		return q
	}
	switch {
	case f == 0:
		q.lo, q.hi = 0, 0
	case f > 0:
		q.lo, q.hi = q.lo*f, q.hi*f
	default:
		q.lo, q.hi = q.hi*f, q.lo*f
	}
	return q
}

// Below says whether a is below b for all values that both can have (true), for none (false), or for some (undecided).
func below(a, b quantity) incident.Truth {
	switch {
	case !a.known || !b.known:
		return incident.Undecided
	case a.hi < b.lo:
		return incident.True
	case a.lo >= b.hi:
		return incident.False
	default:
		return incident.Undecided
	}
}

// atMost says whether a is at most b, in the same way.
func atMost(a, b quantity) incident.Truth { return not(below(b, a)) }

func not(t incident.Truth) incident.Truth {
	switch t {
	case incident.True:
		return incident.False
	case incident.False:
		return incident.True
	case incident.Undecided:
		return incident.Undecided
	default:
		return incident.Undecided
	}
}

// The methods below make quantity a value of the rule language. It is opaque there: nothing but the overloads in
// ruleenv.go looks into it.

// ConvertToNative refuses: rules hand out nothing but true, false and undecided.
func (q quantity) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s cannot become a %s", q.kind, t)
}

// ConvertToType refuses.
func (q quantity) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a %s cannot become a %s", q.kind, t.TypeName())
}

// Equal refuses: measured values are never compared for equality.
func (q quantity) Equal(ref.Val) ref.Val { return types.NewErr("measured values have no equality") }

// Type is reading or target.
func (q quantity) Type() ref.Type { return q.kind }

// Value is the quantity itself.
func (q quantity) Value() any { return q }

func shorten(s string) string {
	const longest = 160
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return string(r[:longest]) + "..."
}
