package playbooks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// literal is a number with its unit in a rule: 3s, 500ms, 1h30m, 95%, 0.5/s, 80GiB.
type literal struct {
	text  string
	value float64
	unit  incident.Unit
}

// quantity is the literal as a rule compares it.
func (n literal) quantity() quantity {
	return quantity{kind: numberType(), lo: n.value, hi: n.value, known: true, unit: n.unit}
}

// numberType is the type of numbers with a unit.
func numberType() *types.Type { return types.NewOpaqueType("number") }

// example is how a number of this unit is written; empty where none is needed: counts and tokens are plain numbers.
func example(number float64, u incident.Unit) string {
	text := strconv.FormatFloat(number, 'f', -1, 64)
	switch u {
	case incident.UnitSeconds:
		return text + "s"
	case incident.UnitRatio:
		if number > 1 {
			return text + "%" // 95 was meant as a percentage
		}
		return strconv.FormatFloat(number*100, 'f', -1, 64) + "%"
	case incident.UnitPerSecond:
		return text + "/s"
	case incident.UnitBytes:
		return strconv.FormatFloat(number/(1<<30), 'f', -1, 64) + "GiB"
	case incident.UnitCount, incident.UnitTokens:
		return ""
	default:
		return ""
	}
}

// CEL has no numbers with units. Each is replaced by a variable of the same length before CEL reads the rule, so that
// every place in the rule stays where it is for error messages. Such a variable begins with an underscore, which no
// signal's name does.
const (
	maxLiteral  = 16 // characters
	placeDigits = "0123456789abcdefghijklmnopqrstuvwxyz"
)

// standIn is the variable for the n-th literal of a rule.
func standIn(n, length int) string {
	return "_" + placeDigits[n:n+1] + strings.Repeat("_", length-2)
}

// standIns are all variables that can stand for a literal.
func standIns() []cel.EnvOption {
	var out []cel.EnvOption
	for n := range len(placeDigits) {
		for length := 2; length <= maxLiteral; length++ {
			out = append(out, cel.Variable(standIn(n, length), numberType()))
		}
	}
	return out
}

// literals takes the numbers with units out of a rule. The text keeps its length.
func literals(text string) (out string, found map[string]literal, issues []ruleIssue) {
	pattern := regexp.MustCompile(strictyaml.QuantityPattern())
	found = map[string]literal{}
	var b strings.Builder
	last := 0
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		if start < last || !standsAlone(text, start, end) {
			continue
		}
		n, err := parseLiteral(text[start:end])
		switch {
		case err != nil:
			issues = append(issues, ruleIssue{offset: len([]rune(text[:start])), text: err.Error()})
			continue
		case len(found) == len(placeDigits):
			issues = append(issues,
				ruleIssue{
					offset: len([]rune(text[:start])),
					text:   fmt.Sprintf("the rule has more than %d numbers with units", len(placeDigits)),
				})
			return text, found, issues
		}
		name := standIn(len(found), utf8.RuneCountInString(text[start:end]))
		found[name] = n
		b.WriteString(text[last:start])
		b.WriteString(name)
		last = end
	}
	b.WriteString(text[last:])
	return b.String(), found, issues
}

// standsAlone keeps "p95s" and "1.5.3s" and "3seconds" from being taken for numbers.
func standsAlone(text string, start, end int) bool {
	word := func(c byte) bool {
		return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return (start == 0 || !word(text[start-1])) &&
		(end == len(text) || text[end] == '.' && isMember(text[end:]) || !word(text[end]))
}

func isMember(rest string) bool { return len(rest) > 1 && rest[1] >= 'a' && rest[1] <= 'z' }

func parseLiteral(text string) (literal, error) {
	if utf8.RuneCountInString(text) > maxLiteral {
		return literal{}, fmt.Errorf("the number %s is longer than %d characters", text, maxLiteral)
	}
	q, err := strictyaml.ParseQuantity(text)
	return literal{text: text, value: q.Value, unit: q.Unit}, err
}

// written puts the literals back into a text that CEL printed.
func written(text string, found map[string]literal) string {
	if len(found) == 0 {
		return text
	}
	return regexp.MustCompile(`_[0-9a-z]_*`).ReplaceAllStringFunc(text, func(name string) string {
		if n, ok := found[name]; ok {
			return n.text
		}
		return name
	})
}
