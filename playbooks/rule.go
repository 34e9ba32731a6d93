package playbooks

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// rule is one compiled rule. It is safe for concurrent use.
type rule struct {
	text string
	// key is the same for rules that say the same, however they are written: spaces, parentheses, 5 and 5.0, the order of
	// what is joined.
	key   string
	shape shape
	// conditions are those of the shape.
	conditions []shape
	program    cel.Program
	signals    []string // that it reads, in the order in which it names them
	// numbers are the literals by the names that stand for them in the program.
	numbers map[string]quantity
}

// ruleEnv compiles rules over the signals of one catalog.
type ruleEnv struct {
	cel     *cel.Env
	signals map[string]incident.Signal
}

func (l *loader) startRules() error {
	// A name that a rule cannot use was reported already; declaring it would only break the rules of the others.
	usable := slices.DeleteFunc(slices.Clone(l.catalog.signals), func(s incident.Signal) bool {
		return slices.Contains(reservedNames(), s.Name) || strings.ContainsFunc(s.Name, notInName)
	})
	e, err := newCEL(usable)
	if err != nil {
		return err
	}
	l.env = &ruleEnv{cel: e, signals: l.catalog.byName}
	return nil
}

func notInName(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' }

// rule compiles and checks the rule at a place; nil when it cannot be used.
func (l *loader) rule(at strictyaml.Value, text string) *rule {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	checked, found, issues := l.env.compile(text)
	if len(issues) > 0 {
		for _, i := range issues {
			if i.unknownName && l.anyBroken() {
				continue
			}
			l.add(at.ProblemInside(i.offset, "%s", i.text))
		}
		return nil
	}
	program, err := l.env.cel.Program(checked, cel.EvalOptions(cel.OptExhaustiveEval), cel.CostLimit(maxCost))
	if err != nil {
		l.add(at.Problem("the rule cannot be prepared: %s", err))
		return nil
	}
	native := checked.NativeRep()
	r := &rule{
		text:    strings.Join(strings.Fields(text), " "),
		shape:   shaper{info: native.SourceInfo(), signals: l.env.signals, literals: found}.shape(native.Expr()),
		program: program,
		numbers: map[string]quantity{},
	}
	for name, n := range found {
		r.numbers[name] = n.quantity()
	}
	r.key, r.signals, r.conditions = r.shape.key(), r.shape.signals(), r.shape.conditions()
	if !l.sensible(at, r, native, found) {
		return nil
	}
	return r
}

// sensible finds what the types allow and no author can mean.
func (l *loader) sensible(at strictyaml.Value, r *rule, native *ast.AST, found map[string]literal) bool {
	before := len(l.problems)
	if len(r.signals) == 0 {
		l.add(at.Problem("the rule reads no signal, so it says the same whatever happens"))
	}
	for _, c := range r.conditions {
		offset := startOf(native, c.id)
		if c.kind == shapeConstant {
			l.add(at.ProblemInside(offset, "%s is no condition; leave it out", c.text))
			continue
		}
		if c.kind != shapeCompare {
			continue
		}
		if problem := unitProblem(c, r, native); problem != "" {
			l.add(at.ProblemInside(offset, "%s", problem))
		}
	}
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != fnOr {
			return
		}
		for _, arg := range e.AsCall().Args() {
			if n := found[arg.AsIdent()]; arg.Kind() == ast.IdentKind && n.unit != incident.UnitSeconds {
				l.add(at.ProblemInside(startOf(native, arg.ID()), "a target is in seconds, and %s is in %s", n.text, n.unit))
			}
		}
	}))
	// The cost does not depend on the readings, because every part is always evaluated.
	if a := r.ask(facts{}); a.err != nil {
		l.add(at.Problem("the rule is too expensive or cannot be evaluated: %s", a.err))
	}
	return len(l.problems) == before
}

// unitProblem says what is wrong with the units of a comparison; empty when nothing is.
func unitProblem(c shape, r *rule, native *ast.AST) string {
	left, right := c.left, c.right
	if left.unit == "" {
		return ""
	}
	if right.unit == "" {
		n, ok := plainNumber(native, right.id)
		if want := example(n, left.unit); ok && n != 0 && want != "" {
			if left.unit == incident.UnitSeconds { // whoever thinks in milliseconds must not get the same number of seconds
				return fmt.Sprintf("%s is in %s and %s has no unit; write %sms for milliseconds, %s for seconds", left.text,
					left.unit, right.text, strings.TrimSuffix(want, "s"), want)
			}
			return fmt.Sprintf("%s is in %s and %s has no unit; write %s", left.text, left.unit, right.text, want)
		}
		return ""
	}
	if left.unit != right.unit {
		return fmt.Sprintf("%s (%s) and %s (%s) have different units", left.text, left.unit, right.text, right.unit)
	}
	if n, ok := r.numbers[right.standIn]; ok && left.plain && left.unit == incident.UnitRatio &&
		(n.hi > 1 || n.hi == 1 && c.op == operators.Greater) {
		return fmt.Sprintf("%s goes from 0%% to 100%%, so it cannot be compared with %s", left.text, right.text)
	}
	return ""
}

// plainNumber is the value of a number without a unit.
func plainNumber(native *ast.AST, id int64) (value float64, ok bool) {
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && e.Kind() == ast.LiteralKind {
			value, ok = number(e.AsLiteral())
		}
	}))
	return value, ok
}

// startOf is where an expression begins in the text. Operators are recorded at their own place, so the leftmost part
// counts.
func startOf(native *ast.AST, id int64) int {
	start := -1
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() != id {
			return
		}
		ast.PreOrderVisit(e, ast.NewExprVisitor(func(part ast.Expr) {
			r, ok := native.SourceInfo().GetOffsetRange(part.ID())
			if ok && (start < 0 || int(r.Start) < start) {
				start = int(r.Start)
			}
		}))
	}))
	return max(start, 0)
}

// signals are the signals in the rule, each once.
func (s shape) signals() []string {
	var out []string
	for _, c := range s.conditions() {
		for _, o := range []operand{c.left, c.right} {
			if o.signal != "" && !slices.Contains(out, o.signal) {
				out = append(out, o.signal)
			}
		}
	}
	return out
}

// facts are the quantities that rules see, by the name in rules.
type facts map[string]quantity

// factsOf gives every signal and every target a quantity, known or not.
func (c *Catalog) factsOf(ev incident.Evidence, slo incident.SLO) facts {
	out := facts{}
	own := c.own(ev, slo)
	for _, s := range c.signals {
		r, asked := own[s.Name]
		if !asked {
			r, asked = ev.Readings[s.Name]
		}
		q := fromReading(r, asked, s.Unit)
		if q.empty && c.compares(s.Name, ev) {
			q.why = noOutlier
		}
		out[s.Name] = q
	}
	for _, name := range targetNames() {
		out["slo."+name] = fromTarget(targetOf(slo, name))
	}
	return out
}

// ask evaluates the rule. An error leaves it undecided.
func (r *rule) ask(f facts) answer {
	vars := make(map[string]any, len(r.signals)+len(r.numbers))
	for name, q := range r.numbers {
		vars[name] = q
	}
	for i := range r.conditions {
		for _, o := range []*operand{&r.conditions[i].left, &r.conditions[i].right} {
			name := o.variable()
			if _, given := vars[name]; given || name == "" {
				continue
			}
			if q, known := f[name]; known {
				vars[name] = q
			} else {
				vars[name] = unread(o.kind(), "")
			}
		}
	}
	value, details, err := r.program.Eval(vars)
	a := answer{rule: r, facts: f, truth: incident.Undecided, details: details}
	if err != nil {
		a.err = fmt.Errorf("evaluate the rule: %w", err)
		return a
	}
	a.truth = toTruth(value)
	return a
}
