package playbooks

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// ruleIssue is one mistake in a rule: where, in characters from its start, and what.
type ruleIssue struct {
	offset int
	text   string
	// unknownName says that the mistake is a signal nobody declared.
	unknownName bool
}

// compile parses and type-checks a rule. Either it has no issues, or the AST is nil. The literals are what stands
// behind the names of the AST that begin with an underscore.
func (e *ruleEnv) compile(text string) (*cel.Ast, map[string]literal, []ruleIssue) {
	text, found, wrong := literals(text)
	if len(wrong) > 0 {
		return nil, nil, wrong
	}
	parsed, issues := e.cel.Parse(text)
	if issues.Err() != nil {
		return nil, nil, e.words(text, nil, found, issues)
	}
	checked, issues := e.cel.Check(parsed)
	if issues.Err() != nil {
		return nil, nil, e.words(text, parsed.NativeRep(), found, issues)
	}
	if out := checked.OutputType(); !out.IsExactType(cel.BoolType) {
		return nil, nil, []ruleIssue{{text: fmt.Sprintf("the rule gives a %s; it must be true or false", out)}}
	}
	return checked, found, nil
}

func (e *ruleEnv) words(text string, native *ast.AST, found map[string]literal, issues *cel.Issues) []ruleIssue {
	var out []ruleIssue
	for _, err := range issues.Errors() {
		i := ruleIssue{offset: offsetOf(text, err.Location.Line(), err.Location.Column())}
		i.text, i.unknownName = e.issueWords(native, err)
		i.text = written(i.text, found)
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// issueWords puts CEL's messages into words that fit this small language.
func (e *ruleEnv) issueWords(native *ast.AST, err *cel.Error) (text string, unknownName bool) {
	undeclared := regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	if m := undeclared.FindStringSubmatch(err.Message); m != nil {
		return e.undeclaredWords(native, err.ExprID, m[1])
	}
	overload := regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '([^']+)'`)
	if m := overload.FindStringSubmatch(err.Message); m != nil {
		return overloadWords(m[1], m[2]), false
	}
	msg, _, _ := strings.Cut(err.Message, " expecting ")
	msg = strings.NewReplacer("Syntax error: ", "", "mismatched input", "unexpected", "extraneous input", "unexpected",
		"token recognition error at:", "unexpected", "'<EOF>'", "end").Replace(msg)
	return "the rule cannot be read: " + msg, false
}

func (e *ruleEnv) undeclaredWords(native *ast.AST, id int64, name string) (text string, unknownName bool) {
	if name == "slo" || strings.HasPrefix(name, "slo.") {
		return "slo has " + strings.Join(targetNames(), ", ") + " and nothing else", false
	}
	if !isCall(native, id) {
		return strictyaml.NotThere("signal", name, slices.Sorted(maps.Keys(e.signals))), true
	}
	symbol, isOperator := operators.FindReverse(name)
	switch {
	case name == operators.Equals || name == operators.NotEquals:
		return symbol + " is not for measured values; use <= and >=", false
	case name == operators.Conditional:
		return "?: is not part of the language of rules; use && and ||", false
	case isOperator:
		return symbol + " is not part of the language of rules", false
	default:
		return strictyaml.NotThere("function", name, []string{fnPresent, fnAbsent, fnOr}), false
	}
}

func isCall(native *ast.AST, id int64) bool {
	found := false
	if native == nil {
		return false
	}
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && e.Kind() == ast.CallKind {
			found = true
		}
	}))
	return found
}

func overloadWords(fn, args string) string {
	symbol, isOperator := operators.FindReverse(fn)
	args = strings.NewReplacer("(", "", ")", "", ".", ", ", "double", "number", "int", "number", "bool", "condition",
		"string", "text").Replace(args)
	kinds := strings.Split(args, ", ")
	kinds = slices.DeleteFunc(kinds, func(s string) bool { return s == "" })
	switch {
	case fn == fnOr && kinds[0] == "target":
		return "a target is a time: give its unit, as in slo.ttft.or(3s)"
	case fn == fnOr && slices.Contains(kinds, "reading"):
		return "only a target (slo.*) can have a default: a reading that is missing must not turn into a number"
	case isOperator:
		return fmt.Sprintf("%s does not go with %s", symbol, strings.Join(kinds, " and "))
	default:
		return fmt.Sprintf("%s does not go with %s", fn, strings.Join(kinds, " and "))
	}
}

// offsetOf counts characters from the start of the text. Lines count from 1, columns from 0.
func offsetOf(text string, line, col int) int {
	lines := strings.Split(text, "\n")
	offset := col
	for i := 0; i < line-1 && i < len(lines); i++ {
		offset += len([]rune(lines[i])) + 1
	}
	return offset
}
