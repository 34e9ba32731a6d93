package promql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
)

// nested are ways to make an expression large with n parts.
func nested() map[string]func(n int) string {
	return map[string]func(int) string{
		"parentheses": func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) },
		"open only":   func(n int) string { return strings.Repeat("(", n) },
		"signs":       func(n int) string { return strings.Repeat("-", n) + "a" },
		"calls":       func(n int) string { return strings.Repeat("abs(", n) + "a" + strings.Repeat(")", n) },
		"subqueries":  func(n int) string { return strings.Repeat("rate(", n) + "a" + strings.Repeat("[1m:])", n) },
		"sums":        func(n int) string { return "a" + strings.Repeat("+a", n) },
		"powers":      func(n int) string { return "a" + strings.Repeat("^a", n) },
		"matchers":    func(n int) string { return "a{" + strings.Repeat(`b="",`, n) + "}" },
		"grouping":    func(n int) string { return "sum by (" + strings.Repeat("b,", n) + ") (a)" },
		"arguments":   func(n int) string { return `label_join(a, "b", ""` + strings.Repeat(`,"b"`, n) + ")" },
		"repetitions": func(n int) string { return `a{b=~"` + strings.Repeat("a{1000}", n) + `"}` },
		"products":    func(n int) string { return `a{b!~"(` + strings.Repeat("(aaaaaaaaaa){99}", n) + `){9}"}` },
		"a word":      func(n int) string { return strings.Repeat("a", n) },
		"comments":    func(n int) string { return strings.Repeat("# a\n", n) + "a" },
	}
}

// Each of these with a million parts would keep the parser for seconds to hours.
func TestWhatIsTooLargeIsRefusedBeforeItIsParsed(t *testing.T) {
	t.Parallel()
	for name, build := range nested() {
		for _, n := range []int{20_000, 1_000_000} {
			_, err := promql.Parse(build(n), parser.Options{})
			if _, ok := errors.AsType[*promql.TooLargeError](err); !ok ||
				!strings.HasPrefix(err.Error(), "too long to analyze: ") {
				t.Errorf("%s, %d times: %v", name, n, err)
			}
		}
	}
}

func TestTheBoundsAreWhereTheySay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		part int
		what promql.Measure
	}{
		"parentheses": {promql.MaxDepth, promql.Depth},
		"signs":       {promql.MaxDepth, promql.Depth},
		"grouping":    {promql.MaxTokens/2 - 4, promql.Tokens},
		"sums":        {promql.MaxOperators, promql.Operators},
		"powers":      {promql.MaxOperators, promql.Operators},
		"a word":      {promql.MaxBytes, promql.Bytes},
		"repetitions": {promql.MaxPattern / 1001, promql.Pattern},
	} {
		if _, err := promql.Parse(nested()[name](tt.part), parser.Options{}); err != nil {
			t.Errorf("%s at the bound: %v", name, err)
		}
		_, err := promql.Parse(nested()[name](tt.part+2), parser.Options{})
		if large, ok := errors.AsType[*promql.TooLargeError](err); !ok || large.What != tt.what || large.Got <= large.Max {
			t.Errorf("%s above the bound: %v", name, err)
		}
	}
}

func TestWhatIsNotPromQLIsNotTooLarge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "(", `a{b=~"("}`, `"`, "a[", "}}}"} {
		_, err := promql.Parse(text, parser.Options{})
		if _, ok := errors.AsType[*promql.TooLargeError](err); err == nil || ok ||
			!strings.HasPrefix(err.Error(), "not PromQL: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if many, ok := errors.AsType[parser.ParseErrors](func() error {
		_, err := promql.Parse("a +", parser.Options{})
		return err
	}()); !ok || len(many) == 0 {
		t.Error("the parser's own errors, with their places, are lost")
	}
}

func TestAMetricIsBoundedToo(t *testing.T) {
	t.Parallel()
	if ls, err := promql.ParseMetric(`a{b="c"}`, parser.Options{}); err != nil || ls.Get("b") != "c" {
		t.Errorf("%v, %v", ls, err)
	}
	_, err := promql.ParseMetric(nested()["matchers"](5000), parser.Options{})
	if _, ok := errors.AsType[*promql.TooLargeError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// FuzzParse holds that whatever passes the bounds is parsed without a panic, printed, and parsed again when it is
// within the bounds still.
func FuzzParse(f *testing.F) {
	for _, build := range nested() {
		f.Add(build(3))
		f.Add(build(70))
	}
	f.Add(`histogram_quantile(0.95, ` +
		`sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name=~"llama|qwen"}[5m] offset 1m))) > 2`)
	f.Fuzz(func(t *testing.T, text string) {
		options := parser.Options{
			EnableExperimentalFunctions: true, ExperimentalDurationExpr: true,
			EnableExtendedRangeSelectors: true,
		}
		expr, err := promql.Parse(text, options)
		if err != nil {
			return
		}
		printed := expr.String()
		if promql.Check(printed) != nil {
			return // the long form of a short one
		}
		if _, err := promql.Parse(printed, options); err != nil {
			t.Errorf("%q is parsed and printed as %q, which is %v", text, printed, err)
		}
	})
}
