package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheChartsLabelsAreThoseThatPrometheusLoads shows the whole section, which is what people read.
func TestTheChartsLabelsAreThoseThatPrometheusLoads(t *testing.T) {
	t.Parallel()
	prod := Selection{Name: "monitoring/prod", Labels: map[string]string{"release": "prod"}}
	test := Selection{Name: "test/test", Labels: map[string]string{"release": "test", "team": "ml"}}
	for name, tt := range map[string]struct {
		found Prometheus
		want  string
	}{
		"no operator":  {Prometheus{}, ""},
		"all of them":  {Prometheus{Selections: []Selection{{Name: "monitoring/k8s"}}}, ""},
		"one":          {Prometheus{Selections: []Selection{prod}}, oneLabel},
		"two, alike":   {Prometheus{Selections: []Selection{prod, {Name: "b/b", Labels: prod.Labels}}}, alike},
		"two":          {Prometheus{Selections: []Selection{prod, test}}, severalLabels},
		"only a but":   {Prometheus{Selections: []Selection{{Name: "a/a", But: []string{"It loads nothing."}}}}, noLabels},
		"not readable": {Prometheus{Unselected: "the API server is away"}, unreadLabels},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{}
			w.monitoring(tt.found)
			if d := cmp.Diff(tt.want, w.buf.String()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

const (
	oneLabel = `
# Labels of the chart's alert rules and monitors.
# Prometheus monitoring/prod loads only rules and monitors with release=prod.
monitoring:
  labels: {release: prod}
`
	alike = `
# Labels of the chart's alert rules and monitors.
# Prometheus monitoring/prod loads only rules and monitors with release=prod. Prometheus b/b loads only rules
# and monitors with release=prod.
monitoring:
  labels: {release: prod}
`
	severalLabels = `
# Labels of the chart's alert rules and monitors.
# Prometheus monitoring/prod loads only rules and monitors with release=prod. Prometheus test/test loads only
# rules and monitors with release=test, team=ml.
# Question: Which of them scrapes vLLM? Its labels belong here.
# monitoring:
  # labels: {release: prod}
  # labels: {release: test, team: ml}
`
	noLabels = `
# Labels of the chart's alert rules and monitors.
# Prometheus a/a loads rules and monitors with any labels. It loads nothing.
`
	unreadLabels = `
# Labels of the chart's alert rules and monitors.
# This is the chart's own value. What Prometheus loads could not be read: the API server is away.
# Question: Which labels must rules and monitors have? kube-prometheus-stack's is the name of its Helm
# release.
# monitoring:
  # labels: {release: kube-prometheus-stack}
`
)
