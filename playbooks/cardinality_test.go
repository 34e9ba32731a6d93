package playbooks

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

func TestOneSeries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"sum(x)":                        true,
		"(max(x))":                      true,
		"-sum(x)":                       true,
		"quantile(0.5, x)":              true,
		"sum(x) / count(y)":             true,
		"1 - sum(x)":                    true,
		"sum(x) > 5":                    true,
		"sum(x) or vector(0)":           true,
		"sum(x) unless sum(y) > 0":      true,
		"clamp_min(sum(x) - sum(y), 0)": true,
		"absent(x)":                     true,
		"absent_over_time(x[5m])":       true,
		"round(sum(x))":                 true,
		"max_over_time(sum(x)[5m:1m])":  true,
		"max_over_time(x[5m:1m])":       false,
		"histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m])))":      true,
		"histogram_quantile(0.9, sum by (le, pod) (rate(x_bucket[5m])))": false,
		"histogram_quantile(0.9, rate(x_bucket[5m]))":                    false,
		"x":                     false,
		"(x)":                   false,
		"-x":                    false,
		"rate(x[5m])":           false,
		"sum by (pod) (x)":      false,
		"sum without (pod) (x)": false,
		"topk(1, x)":            false,
		`count_values("v", x)`:  false,
		"sum(x) / y":            false,
		"x or sum(y)":           false,
		"round(x)":              false,
		`label_replace(sum(x), "a", "b", "c", "d") or sum(y)`: false,
		"sum(x) > bool on () group_left () y":                 false,
	} {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got := oneSeries(expr); got != want {
			t.Errorf("%s: %t, want %t", query, got, want)
		}
	}
}
