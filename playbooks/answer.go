package playbooks

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// answer is what a rule said about some facts, with the value of every part of it.
type answer struct {
	rule    *rule
	facts   facts
	truth   incident.Truth
	details *cel.EvalDetails
	err     error
}

func (o operand) variable() string {
	switch {
	case o.signal != "":
		return o.signal
	case o.target != "":
		return "slo." + o.target
	default:
		return ""
	}
}

func (o operand) kind() *types.Type {
	if o.target != "" {
		return targetType()
	}
	return readingType()
}

func (a answer) truthOf(id int64) incident.Truth {
	if a.err != nil {
		return incident.Undecided
	}
	v, ok := a.details.State().Value(id)
	if !ok {
		return incident.Undecided
	}
	return toTruth(v)
}

func (a answer) quantityOf(o operand) quantity {
	if a.err != nil {
		return quantity{why: "not known"}
	}
	v, ok := a.details.State().Value(o.id)
	if !ok {
		return quantity{why: "not known"}
	}
	return operandOf(v)
}

// evidence is every condition of the rule with what was seen. Of a rule that is true, those that
// make it so come first: the other ways in which it could be say little, and may name another pod.
func (a answer) evidence() []incident.Condition {
	var out []incident.Condition
	all := a.rule.conditions
	if a.truth == incident.True {
		all = slices.Concat(a.settling(a.rule.shape), all)
	}
	for _, c := range all {
		seen := a.quantityOf(c.left)
		cond := incident.Condition{
			Text: c.text, Truth: a.truthOf(c.id), Signal: c.left.signal, Label: c.left.name,
			Seen: seen.text(c.left.unit), SeenValue: seen.amount(c.left.unit),
		}
		switch c.kind { //nolint:exhaustive // conditions have no parts, and a rule with a constant is refused
		case shapeCompare:
			cond.Relation, cond.Threshold, cond.ThresholdFrom = relationOf(c.op), a.against(c), a.origin(c.right)
			cond.ThresholdValue = a.quantityOf(c.right).amount(c.left.unit)
		case shapePresent:
			cond.Relation = incident.RelationPresent
		case shapeAbsent:
			cond.Relation = incident.RelationAbsent
		}
		if !slices.Contains(out, cond) {
			out = append(out, cond)
		}
	}
	return out
}

// origin says whether a threshold is the pool's own target, or was measured as well. A part or a multiple of it is
// none, nor is what a rule takes where the pool has no target.
func (a answer) origin(o operand) incident.Origin {
	if o.target != "" && o.plain && a.facts[o.variable()].known {
		return incident.OriginSLO
	}
	if o.signal != "" {
		return incident.OriginReading
	}
	return incident.OriginRule
}

// against is the right side of a comparison as a person reads it. Where it was measured too, its own name stands behind
// it.
func (a answer) against(c shape) string {
	text := a.quantityOf(c.right).text(c.left.unit)
	if c.right.signal != "" {
		return text + " (" + c.right.name + ")"
	}
	return text
}

// why says in words what made the rule come out as it did.
func (a answer) why() string {
	if a.err != nil {
		return a.err.Error()
	}
	var said []reason
	for _, r := range a.reasons(a.rule.shape) {
		same := func(s reason) bool { return s.before == r.before && s.after == r.after && s.named() == r.named() }
		switch at := slices.IndexFunc(said, same); {
		case at < 0 || !r.named() && !slices.Contains(said, r):
			said = append(said, r)
		case r.named() && !slices.Contains(strings.Split(said[at].what, ", "), r.what):
			said[at].what += ", " + r.what
		}
	}
	out := make([]string, len(said))
	for i, r := range said {
		out[i] = r.before + r.what + r.after
	}
	return strings.Join(out, "; ")
}

// reason is why a condition came out as it did: words, or what has no value with the words around it, which are said
// once for all that they are true of.
type reason struct{ before, what, after string }

func (r reason) named() bool { return r.before != "" || r.after != "" }

// reasons are what settles the rule, or leaves it open, in words.
func (a answer) reasons(s shape) []reason {
	var out []reason
	for _, c := range a.settling(s) {
		switch c.kind { //nolint:exhaustive // conditions have no parts
		case shapeCompare:
			out = append(out, a.compareReason(c, a.truthOf(c.id)))
		case shapePresent, shapeAbsent:
			if q := a.quantityOf(c.left); q.failure != "" {
				out = append(out, lacking(c.left, q))
				continue
			}
			out = append(out, reason{what: c.left.name + ": " + a.quantityOf(c.left).text(c.left.unit)})
		case shapeConstant:
			out = append(out, reason{what: c.text})
		}
	}
	return out
}

// settling are the conditions that settle a part of the rule, or that leave it open.
func (a answer) settling(s shape) []shape {
	switch s.kind {
	case shapeNot:
		return a.settling(s.parts[0])
	case shapeAnd, shapeOr:
		// One false part makes an "and" false, one true part makes an "or" true: the first such part is the reason. Else
		// every part is that has the truth of the whole.
		truth := a.truthOfParts(s)
		settled := truth == incident.False && s.kind == shapeAnd || truth == incident.True && s.kind == shapeOr
		var out []shape
		for _, p := range s.parts {
			if a.truthOfParts(p) != truth {
				continue
			}
			out = append(out, a.settling(p)...)
			if settled {
				break
			}
		}
		return out
	case shapeCompare, shapePresent, shapeAbsent, shapeConstant:
		return []shape{s}
	default:
		return nil
	}
}

// truthOfParts is the truth of a part by Kleene's rules over its conditions. It is what CEL found for the whole; parts
// of "a && b && c" have no value of their own there.
func (a answer) truthOfParts(s shape) incident.Truth {
	switch s.kind {
	case shapeNot:
		return not(a.truthOfParts(s.parts[0]))
	case shapeAnd, shapeOr:
		settling, out := incident.False, incident.True
		if s.kind == shapeOr {
			settling, out = incident.True, incident.False
		}
		for _, p := range s.parts {
			switch a.truthOfParts(p) {
			case settling:
				return settling
			case incident.Undecided:
				out = incident.Undecided
			case incident.True, incident.False:
			}
		}
		return out
	case shapeCompare, shapePresent, shapeAbsent, shapeConstant:
		return a.truthOf(s.id)
	default:
		return incident.Undecided
	}
}

func (a answer) compareReason(s shape, truth incident.Truth) reason {
	left, right := a.quantityOf(s.left), a.quantityOf(s.right)
	for _, side := range []struct {
		o operand
		q quantity
	}{{s.left, left}, {s.right, right}} {
		if !side.q.known {
			return lacking(side.o, side.q)
		}
	}
	seen := s.left.name + " " + left.text(s.left.unit)
	switch truth {
	case incident.True:
		return reason{what: seen + ", " + relationWords(s.op) + " " + a.against(s)}
	case incident.False:
		return reason{what: seen + ", " + relationWords(opposite(s.op)) + " " + a.against(s)}
	case incident.Undecided:
		return reason{what: seen + ", so it may or may not be " + relationWords(s.op) + " " + a.against(s)}
	default:
		return reason{what: seen}
	}
}

// lacking is why an operand has no value.
func lacking(o operand, q quantity) reason {
	switch {
	case o.target != "":
		return reason{what: "the pool has no " + o.label}
	case q.empty:
		return reason{before: "no data for ", what: o.label}
	case q.unasked:
		return reason{what: o.label + " not read"}
	default:
		return reason{what: o.label, after: " could not be read (" + cmp.Or(q.failure, q.why) + ")"}
	}
}

// upward says whether a comparison is true for large values.
func upward(op string) bool { return op == operators.Greater || op == operators.GreaterEquals }

func relationOf(op string) incident.Relation {
	switch op {
	case operators.Less:
		return incident.RelationBelow
	case operators.LessEquals:
		return incident.RelationAtMost
	case operators.Greater:
		return incident.RelationAbove
	default:
		return incident.RelationAtLeast
	}
}

// relationWords is a comparison within a sentence about a value that is known.
func relationWords(op string) string {
	switch op {
	case operators.Less:
		return "below"
	case operators.LessEquals:
		return "not above"
	case operators.Greater:
		return "above"
	default:
		return "not below"
	}
}

// opposite is the comparison that is true where this one is false.
func opposite(op string) string {
	switch op {
	case operators.Less:
		return operators.GreaterEquals
	case operators.LessEquals:
		return operators.Greater
	case operators.Greater:
		return operators.LessEquals
	default:
		return operators.Less
	}
}

// open are the conditions that leave a part of the rule undecided.
func (a answer) open(s shape) []shape {
	if a.truthOfParts(s) != incident.Undecided {
		return nil
	}
	if len(s.parts) == 0 {
		return []shape{s}
	}
	var out []shape
	for _, p := range s.parts {
		out = append(out, a.open(p)...)
	}
	return out
}

// lacks lists the signals without data that the rule asks for with absent().
func (a answer) lacks() []string {
	var out []string
	for _, c := range a.rule.conditions {
		if c.kind == shapeAbsent && a.truthOf(c.id) == incident.True && !slices.Contains(out, c.left.signal) {
			out = append(out, c.left.signal)
		}
	}
	return out
}

// missing lists the signals without a value that leave the rule undecided.
func (a answer) missing() []string {
	var out []string
	for _, c := range a.open(a.rule.shape) {
		for _, o := range []operand{c.left, c.right} {
			if o.signal != "" && !a.quantityOf(o).known && !slices.Contains(out, o.signal) {
				out = append(out, o.signal)
			}
		}
	}
	return out
}
