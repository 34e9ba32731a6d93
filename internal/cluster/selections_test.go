package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestSelectionsAreReadAsTheOperatorReadsThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec string
		want Selection
	}{
		"as kube-prometheus-stack has it": {
			`
ruleSelector: {matchLabels: {release: prod}}
ruleNamespaceSelector: {}
serviceMonitorSelector: {matchLabels: {release: prod}}
serviceMonitorNamespaceSelector: {}
podMonitorSelector: {matchLabels: {release: prod}}
podMonitorNamespaceSelector: {}`,
			Selection{Labels: map[string]string{"release": "prod"}},
		},
		"everything": {
			`
ruleSelector: {}
ruleNamespaceSelector: {}
serviceMonitorSelector: {}
serviceMonitorNamespaceSelector: {}
podMonitorSelector: {}
podMonitorNamespaceSelector: {}`,
			Selection{Labels: map[string]string{}},
		},
		"labels of their own": {
			`
ruleSelector: {matchLabels: {role: alerts}}
ruleNamespaceSelector: {}
serviceMonitorSelector: {matchLabels: {team: infra, role: scrape}}
serviceMonitorNamespaceSelector: {}
podMonitorSelector: {matchExpressions: [{key: team, operator: Exists}]}
podMonitorNamespaceSelector: {}`,
			Selection{Labels: map[string]string{"role": "alerts", "team": "infra"}, But: []string{
				"Each ServiceMonitor must have role=scrape instead.",
				"Its spec.podMonitorSelector has matchExpressions, too.",
			}},
		},
		"its own namespace, and no monitors": {
			"ruleSelector: {}",
			Selection{Labels: map[string]string{}, But: []string{
				"It loads each PrometheusRule of its own namespace only: spec.ruleNamespaceSelector is not set.",
				"It loads no ServiceMonitor: spec.serviceMonitorSelector is not set.",
				"It loads no PodMonitor: spec.podMonitorSelector is not set.",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tt.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, selectionOf(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
