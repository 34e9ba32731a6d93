package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Selection is what a Prometheus of the Prometheus operator loads.
type Selection struct {
	Namespace, Name string
	// Labels are those that a PrometheusRule, a ServiceMonitor and a PodMonitor with all of them have to have.
	Labels map[string]string
	// But says for which of them that isn't enough, and why.
	But []string
}

// monitoringVersion is the operator's, of the kind Prometheus.
const monitoringVersion = "monitoring.coreos.com/v1"

// Selections lists what each Prometheus of the Prometheus operator loads. A cluster without the operator has none.
func (k *Reader) Selections(ctx context.Context) ([]Selection, error) {
	all, err := k.installed(ctx, monitoringVersion, "Prometheus", metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	out := make([]Selection, 0, len(all))
	for _, p := range all {
		out = append(out, selectionOf(&p))
	}
	return out, nil
}

// selectionOf reads the selectors as the operator does: an empty one takes all objects, and without one none is taken;
// without a selector of namespaces only the Prometheus' own counts
// (https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusSpec).
func selectionOf(p *unstructured.Unstructured) Selection {
	s := Selection{Namespace: p.GetNamespace(), Name: p.GetName(), Labels: map[string]string{}}
	but := func(format string, args ...any) { s.But = append(s.But, fmt.Sprintf(format, args...)) }
	for _, of := range []struct{ kind, field string }{
		{"PrometheusRule", "rule"}, {"ServiceMonitor", "serviceMonitor"}, {"PodMonitor", "podMonitor"},
	} {
		selector, selects := fieldMap(p, of.field+"Selector")
		if !selects {
			but("It loads no %s: spec.%sSelector is not set.", of.kind, of.field)
			continue
		}
		if _, anywhere := fieldMap(p, of.field+"NamespaceSelector"); !anywhere {
			but("It loads each %s of its own namespace only: spec.%sNamespaceSelector is not set.", of.kind, of.field)
		}
		if more, is := selector["matchExpressions"].([]any); is && len(more) > 0 {
			but("Its spec.%sSelector has matchExpressions, too.", of.field)
		}
		labels, _, err := unstructured.NestedStringMap(selector, "matchLabels")
		if err != nil {
			but("Its spec.%sSelector cannot be read: %v.", of.field, err)
		}
		for name, value := range labels {
			if other, has := s.Labels[name]; has && other != value {
				but("Each %s must have %s=%s instead.", of.kind, name, value)
				continue
			}
			s.Labels[name] = value
		}
	}
	return s
}

// fieldMap is a part of the spec, which may be empty.
func fieldMap(o *unstructured.Unstructured, name string) (map[string]any, bool) {
	spec, is := o.Object["spec"].(map[string]any)
	if !is {
		return nil, false
	}
	m, is := spec[name].(map[string]any)
	return m, is
}
