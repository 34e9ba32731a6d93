package alertrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// State says whether an expression can be true.
type State int

// The states. The zero value claims nothing.
const (
	// Undecided is not known.
	Undecided State = iota
	// Never cannot be true, whatever happens to the servers.
	Never
	// Can may be true.
	Can
)

// String is the state in a person's words.
func (s State) String() string {
	switch s {
	case Never:
		return "can never fire"
	case Can:
		return "can fire"
	case Undecided:
		return "undecided"
	}
	return "undecided"
}

// Verdict is what Examine found.
type Verdict struct {
	State State
	// Why are the reasons, one sentence without a full stop each: what makes a Never, or what is not known of an
	// Undecided.
	Why []string
	// Missing are the metrics without series that make it Never.
	Missing []string
	// Instead is the corrected expression of a Never, on one line; empty when there is none.
	Instead string
	// About says how Instead differs in meaning, or why there is none.
	About []string
	// Notes are what to know of a rule that is no reason to call it dead. Those of a Never are about Instead.
	Notes []string
}

// Examine says whether an alert expression can ever be true. An expression that is not PromQL, or that no alert can
// have (a range, a text), is an error.
func Examine(expr string, known Known) (Verdict, error) {
	e, err := parse(expr)
	if err != nil {
		return Verdict{}, fmt.Errorf("the expression is %w", err)
	}
	if t := e.Type(); t != parser.ValueTypeVector && t != parser.ValueTypeScalar {
		return Verdict{}, fmt.Errorf("the expression gives a %s: an alert needs numbers", parser.DocumentedType(t))
	}
	v, notes := judge(e, known)
	if v.State == Never {
		v.Instead, v.About, notes = correct(expr, known)
	}
	v.Notes = notes
	return v, nil
}

// judge is Examine without a correction. Notes are nil for what can never fire.
func judge(e parser.Expr, known Known) (Verdict, []string) {
	x := &examiner{known: known}
	found := x.expr(e)
	v := Verdict{State: found.state}
	switch found.state {
	case Never:
		for _, r := range found.why {
			v.Why = once(v.Why, r.text)
			if r.metric != "" {
				v.Missing = once(v.Missing, r.metric)
			}
		}
		return v, nil
	case Undecided:
		v.Why = x.doubts
	case Can:
	}
	return v, append(x.notes, notes(e, known)...)
}

// wide is how long an expression may be on one line, in bytes.
const wide = 140

// Pretty breaks a long expression into lines that can be copied into a rule file. What is not PromQL comes back as it
// is.
func Pretty(expr string) string {
	e, err := parse(expr)
	if err != nil || len(expr) <= wide && !strings.Contains(expr, "\n") {
		return expr
	}
	return parser.Prettify(e)
}

// Concerns says whether an expression reads vLLM's metrics, in any spelling, directly or through recording rules. One
// that is too long to analyze does when such a name is anywhere in it: Examine says that it is too long.
func Concerns(expr string, recorded map[string][]string) bool {
	return concerns(expr, recorded, map[string]bool{})
}

func concerns(expr string, recorded map[string][]string, seen map[string]bool) bool {
	e, err := parse(expr)
	if _, large := errors.AsType[*promql.TooLargeError](err); large {
		return slices.ContainsFunc(vllm.Prefixes(), func(prefix string) bool { return strings.Contains(expr, prefix) })
	}
	if err != nil {
		return false
	}
	for _, vs := range selectors(e) {
		metric, ok := metricOf(vs)
		if !ok && about(vs) || isVLLM(metric) {
			return true
		}
		if seen[metric] {
			continue
		}
		seen[metric] = true
		for _, source := range recorded[metric] {
			if concerns(source, recorded, seen) {
				return true
			}
		}
	}
	return false
}

func once(have []string, more ...string) []string {
	for _, s := range more {
		if s != "" && !slices.Contains(have, s) {
			have = append(have, s)
		}
	}
	return have
}
