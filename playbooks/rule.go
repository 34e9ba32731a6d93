package playbooks

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// rule is one compiled rule. It is safe for concurrent use.
type rule struct {
	text    string
	shape   shape
	program cel.Program
	signals []string // that it reads, in the order in which it names them
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
func (l *loader) rule(at place, text string) *rule {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	checked, issues := l.env.compile(text)
	if len(issues) > 0 {
		for _, i := range issues {
			if i.unknownName && l.anyBroken() {
				continue
			}
			l.add(at.problemAt(i.offset, "%s", i.text))
		}
		return nil
	}
	program, err := l.env.cel.Program(checked, cel.EvalOptions(cel.OptExhaustiveEval), cel.CostLimit(maxCost))
	if err != nil {
		l.add(at.problem("the rule cannot be prepared: %s", err))
		return nil
	}
	native := checked.NativeRep()
	r := &rule{
		text:    strings.Join(strings.Fields(text), " "),
		shape:   shaper{info: native.SourceInfo(), signals: l.env.signals}.shape(native.Expr()),
		program: program,
	}
	r.signals = r.shape.signals()
	if !l.sensible(at, r, native) {
		return nil
	}
	return r
}

// sensible finds what the types allow and no author can mean.
func (l *loader) sensible(at place, r *rule, native *ast.AST) bool {
	before := len(l.problems)
	if len(r.signals) == 0 {
		l.add(at.problem("the rule reads no signal, so it says the same whatever happens"))
	}
	for _, c := range r.shape.conditions() {
		offset := startOf(native, c.id)
		if c.kind == shapeConstant {
			l.add(at.problemAt(offset, "%s is no condition; leave it out", c.text))
			continue
		}
		if c.kind != shapeCompare {
			continue
		}
		if !c.right.isNumber() && c.left.unit != "" && c.right.unit != "" && c.left.unit != c.right.unit {
			l.add(at.problemAt(offset, "%s (%s) and %s (%s) have different units", c.left.text, c.left.unit, c.right.text, c.right.unit))
		}
		if c.left.unit == incident.UnitRatio && c.right.isNumber() && !isRatio(native, c.right.id) {
			l.add(at.problemAt(offset, "%s goes from 0 to 1, so it cannot be compared with %s; 95 %% is 0.95", c.left.text, c.right.text))
		}
	}
	// The cost does not depend on the readings, because every part is always evaluated.
	if a := r.ask(facts{}); a.err != nil {
		l.add(at.problem("the rule is too expensive or cannot be evaluated: %s", a.err))
	}
	return len(l.problems) == before
}

func isRatio(native *ast.AST, id int64) bool {
	ok := false
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && e.Kind() == ast.LiteralKind {
			f, isNumber := number(e.AsLiteral())
			ok = isNumber && f >= 0 && f <= 1
		}
	}))
	return ok
}

// startOf is where an expression begins in the text. Operators are recorded at their own place, so the leftmost part counts.
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
	for _, s := range c.signals {
		r, asked := ev.Readings[s.Name]
		out[s.Name] = fromReading(r, asked, s.Unit)
	}
	for _, name := range targetNames() {
		out["slo."+name] = fromTarget(targetOf(slo, name))
	}
	return out
}

// ask evaluates the rule. An error leaves it undecided.
func (r *rule) ask(f facts) answer {
	vars := make(map[string]any, len(f))
	for name, q := range f {
		vars[name] = q
	}
	for _, c := range r.shape.conditions() {
		for _, o := range []operand{c.left, c.right} {
			if name := o.variable(); name != "" {
				if _, given := vars[name]; !given {
					vars[name] = quantity{kind: o.kind(), why: "not read"}
				}
			}
		}
	}
	value, details, err := r.program.Eval(vars)
	a := answer{rule: r, truth: incident.Undecided, details: details}
	if err != nil {
		a.err = fmt.Errorf("evaluate %q: %w", r.text, err)
		return a
	}
	a.truth = toTruth(value)
	return a
}
