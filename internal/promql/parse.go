// Package promql parses PromQL that others wrote: the expressions of alerts and of loaded rules, of playbooks and their
// tests.
//
// Prometheus' parser takes time in the square of how deep an expression nests (40 kB: seconds, 1 MB: more than an
// hour), compiles every regular expression on its way, and cannot be interrupted. So what is beyond the bounds of this
// package is refused before the parser sees it, with *TooLargeError: it may be right, and nothing is known about it.
// The package is pure.
package promql

import (
	"fmt"
	"regexp/syntax"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// The bounds. The longest rules that people hand out have two thousand bytes, four hundred tokens and ten levels.
const (
	// MaxBytes is how long an expression may be.
	MaxBytes = 16 << 10
	// MaxTokens is how many words, numbers and signs it may have.
	MaxTokens = 2000
	// MaxDepth is how deep parentheses, braces, brackets and signs may nest.
	MaxDepth = 64
	// MaxOperators is how many operators it may have: a chain of them is a tree as deep as it is long.
	MaxOperators = 250
	// MaxPattern is how large its regular expressions may be together, in characters, with each repetition written out.
	MaxPattern = 10_000
)

// TooLargeError says that an expression is too large to analyze.
type TooLargeError struct {
	// What is there too much of.
	What Measure
	// Got is how much there is, or the least that there is; Max is the bound.
	Got, Max int
}

// Measure is one of the bounds.
type Measure string

// The measures.
const (
	Bytes     Measure = "bytes"
	Tokens    Measure = "tokens"
	Depth     Measure = "nested levels"
	Operators Measure = "operators"
	Pattern   Measure = "characters of regular expressions"
)

// Error ends the sentence "the expression is".
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("too long to analyze: at least %d %s, and the limit is %d", e.Got, e.What, e.Max)
}

// Parse is the parser's ParseExpr within the bounds. Its errors end the sentence "the expression is": *TooLargeError,
// or why it is not PromQL.
func Parse(text string, options parser.Options) (parser.Expr, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	expr, err := parser.NewParser(options).ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("not PromQL: %w", err)
	}
	return expr, nil
}

// ParseMetric is the parser's ParseMetric within the bounds. The error is *TooLargeError or the parser's own.
func ParseMetric(text string, options parser.Options) (labels.Labels, error) {
	if err := Check(text); err != nil {
		return labels.Labels{}, err
	}
	return parser.NewParser(options).ParseMetric(text)
}

// Check says whether an expression is within the bounds, PromQL or not. The error is *TooLargeError.
func Check(text string) error {
	if len(text) > MaxBytes {
		return &TooLargeError{What: Bytes, Got: len(text), Max: MaxBytes}
	}
	var (
		size  extent
		item  parser.Item
		lexer = parser.Lex(text)
	)
	for {
		lexer.NextItem(&item)
		if item.Typ == parser.EOF || item.Typ == parser.ERROR { // the parser stops here too
			return nil
		}
		if err := size.add(item); err != nil {
			return err
		}
	}
}

// extent measures an expression, token by token.
type extent struct {
	tokens, depth, signs, operators, pattern int
	// braces is how many braces are open: what is between them are matchers.
	braces int
	// matching says that the token before was a match with a regular expression.
	matching bool
}

func (x *extent) add(item parser.Item) error {
	x.tokens++
	switch item.Typ {
	case parser.LEFT_PAREN, parser.LEFT_BRACKET:
		x.depth++
	case parser.RIGHT_PAREN, parser.RIGHT_BRACKET:
		x.depth--
	case parser.LEFT_BRACE:
		x.depth, x.braces = x.depth+1, x.braces+1
	case parser.RIGHT_BRACE:
		x.depth, x.braces = x.depth-1, x.braces-1
	case parser.STRING:
		if x.matching {
			x.pattern += patternSize(item.Val)
		}
	}
	if x.braces <= 0 && item.Typ.IsOperator() {
		x.operators++
	}
	if item.Typ == parser.ADD || item.Typ == parser.SUB {
		x.signs++
	} else {
		x.signs = 0
	}
	x.matching = item.Typ == parser.EQL_REGEX || item.Typ == parser.NEQ_REGEX
	switch {
	case x.tokens > MaxTokens:
		return &TooLargeError{What: Tokens, Got: x.tokens, Max: MaxTokens}
	case x.depth+x.signs > MaxDepth:
		return &TooLargeError{What: Depth, Got: x.depth + x.signs, Max: MaxDepth}
	case x.operators > MaxOperators:
		return &TooLargeError{What: Operators, Got: x.operators, Max: MaxOperators}
	case x.pattern > MaxPattern:
		return &TooLargeError{What: Pattern, Got: x.pattern, Max: MaxPattern}
	}
	return nil
}

// patternSize is how large a quoted regular expression becomes, just above MaxPattern when it is larger; 0 for what is
// none, which is refused without being compiled.
func patternSize(quoted string) int {
	text, err := strutil.Unquote(quoted)
	if err != nil {
		return 0
	}
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return 0
	}
	return written(tree)
}

func written(tree *syntax.Regexp) int {
	size := 0
	for _, sub := range tree.Sub {
		size = min(size+written(sub), MaxPattern)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return min(size+max(len(tree.Rune), 1), MaxPattern+1)
}
