package admission

import (
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// perCall is what one expression may cost in an API server (k8s.io/apiserver pkg/apis/cel, PerCallLimit).
const perCall = 1_000_000

// evaluator evaluates a policy as an API server does: objects have no types, variables have those of their expressions,
// and are worked out when they are used.
type evaluator struct {
	variables map[string]cel.Program
	rule      cel.Program
}

// variable is how a variable is called here: CEL has no objects that make their fields when they are read.
func variable(text string) string { return strings.ReplaceAll(text, "variables.", "variables__") }

func evaluatorOf(t *testing.T, p admissionv1.ValidatingAdmissionPolicy) evaluator {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), ext.Strings(ext.StringsVersion(2)),
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	compiled := func(text string) (cel.Program, *cel.Type) {
		ast, issues := env.Compile(variable(text))
		if issues.Err() != nil {
			t.Fatalf("%v\n%s", issues.Err(), text)
		}
		program, err := env.Program(ast, cel.CostLimit(perCall))
		if err != nil {
			t.Fatal(err)
		}
		return program, ast.OutputType()
	}
	e := evaluator{variables: map[string]cel.Program{}}
	for _, v := range p.Spec.Variables {
		program, of := compiled(v.Expression)
		name := variable("variables." + v.Name)
		e.variables[name] = program
		if env, err = env.Extend(cel.Variable(name, of)); err != nil {
			t.Fatal(err)
		}
	}
	e.rule, _ = compiled(p.Spec.Validations[0].Expression)
	return e
}

// passes says whether the policy lets an update pass; an error refuses it.
func (e evaluator) passes(object, was map[string]any, namespace, name string) (bool, error) {
	out, _, err := e.rule.Eval(&values{e: e, known: map[string]any{
		"object": object, "oldObject": was, "request": map[string]any{"namespace": namespace, "name": name},
	}})
	if err != nil {
		return false, err
	}
	return out.Value() == true, nil
}

// values are those of names. It implements cel.Activation.
type values struct {
	e     evaluator
	known map[string]any
}

func (v *values) Parent() cel.Activation { return nil }

// ResolveName works a variable out.
func (v *values) ResolveName(name string) (any, bool) {
	if value, done := v.known[name]; done {
		return value, true
	}
	program, there := v.e.variables[name]
	if !there {
		return nil, false
	}
	out, _, err := program.Eval(v)
	if err != nil {
		return nil, false // what cannot be worked out is no value
	}
	v.known[name] = out
	return out, true
}
