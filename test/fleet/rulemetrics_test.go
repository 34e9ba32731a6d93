package fleet_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// A rule on a metric that nobody exports can never fire.
func TestEveryMetricInTheRulesIsExported(t *testing.T) {
	t.Parallel()
	for file, dialects := range map[string][]fleet.Dialect{
		"vllm-alerts.yaml": {fleet.V1, fleet.V1Early}, "vllm-alerts-v0.yaml": {fleet.V0},
		"vllm-alerts-underscore.yaml": {fleet.Underscore, fleet.V1Early},
	} {
		exported := map[string]bool{}
		for _, d := range dialects {
			f := busy(t, fleet.Options{Dialect: d})
			for _, path := range []string{"/replica/0/metrics", "/gateway/metrics"} {
				page, contentType := get(t, f, path, openMetrics)
				for _, s := range parse(t, page, contentType).samples {
					name := s.labels.Get(model.MetricNameLabel)
					if file == "vllm-alerts-underscore.yaml" {
						name = strings.ReplaceAll(name, "vllm:", "vllm_")
					}
					exported[name] = true
				}
			}
		}
		rules := readRules(t, file)
		for _, r := range rules {
			exported[r.Record] = true
		}
		for _, r := range rules {
			for _, name := range metricsIn(t, r) {
				if !exported[name] {
					t.Errorf("%s: %s%s asks for %s, which nobody exports", file, r.Alert, r.Record, name)
				}
			}
		}
	}
}

func metricsIn(t *testing.T, r rulefmt.Rule) []string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			names[s.Name] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names))
}
