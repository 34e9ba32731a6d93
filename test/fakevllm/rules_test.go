package fakevllm_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/test/fakevllm"
)

func ruleFiles() []string {
	return []string{"vllm-alerts.yaml", "vllm-alerts-v0.yaml", "vllm-alerts-underscore.yaml"}
}

func TestEveryRuleFileHasTheFiveAlertsWithTheirSeverities(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"vLLMHighTTFT": "critical", "vLLMQueueBacklog": "warning", "vLLMRequestSwapping": "critical", "vLLMGPUCacheFull": "warning",
		"vLLMHighAbortRate": "critical",
	}
	for _, file := range ruleFiles() {
		got := map[string]string{}
		for _, r := range readRules(t, file) {
			if r.Alert != "" {
				got[r.Alert] = r.Labels["severity"]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestTheUnderscoreRulesDifferFromTheOthersInThatCharacterOnly(t *testing.T) {
	t.Parallel()
	want := readRules(t, "vllm-alerts.yaml")
	for i := range want {
		want[i].Expr = strings.ReplaceAll(want[i].Expr, "vllm:", "vllm_")
		for name, text := range want[i].Annotations {
			want[i].Annotations[name] = strings.ReplaceAll(text, "vllm:", "vllm_")
		}
	}
	if diff := cmp.Diff(want, readRules(t, "vllm-alerts-underscore.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rule on a metric that nobody exports can never fire.
func TestEveryMetricInTheRulesIsExported(t *testing.T) {
	t.Parallel()
	for file, dialects := range map[string][]fakevllm.Dialect{
		"vllm-alerts.yaml": {fakevllm.V1, fakevllm.V1Early}, "vllm-alerts-v0.yaml": {fakevllm.V0}, "vllm-alerts-underscore.yaml": {fakevllm.Underscore, fakevllm.V1Early},
	} {
		exported := map[string]bool{}
		for _, d := range dialects {
			f := busy(t, fakevllm.Options{Dialect: d})
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

func TestEveryAlertLeadsToTheRunbookOfAPlaybookThatAnswersIt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../playbooks/catalog/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("playbooks: %v, %v", files, err)
	}
	docs := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var playbook struct {
			Alerts []string `yaml:"alerts"`
			Doc    string   `yaml:"doc"`
		}
		if err := yaml.Unmarshal(content, &playbook); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, alert := range playbook.Alerts {
			docs[alert] = "https://github.com/vllm-medic/vllm-medic/blob/main/" + playbook.Doc
		}
	}
	for _, file := range ruleFiles() {
		for _, r := range readRules(t, file) {
			if r.Alert != "" && (docs[r.Alert] == "" || r.Annotations["runbook_url"] != docs[r.Alert]) {
				t.Errorf("%s: %s leads to %q, the playbook says %q", file, r.Alert, r.Annotations["runbook_url"], docs[r.Alert])
			}
		}
	}
}
