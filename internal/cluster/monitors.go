package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/answer"
)

// Monitor is a Service that leads to a Prometheus or an Alertmanager.
type Monitor struct {
	Namespace, Name string
	Port            int32
	// Label is the label of the Service by which it was found.
	Label string
}

// URL is its address within the cluster.
func (m Monitor) URL() string { return fmt.Sprintf("http://%s.%s.svc:%d", m.Name, m.Namespace, m.Port) }

// prometheusLabels are those of the Services of Prometheus: prometheus-operator's own, then those of charts.
func prometheusLabels() []string {
	return []string{
		"operated-prometheus=true", "app.kubernetes.io/name=prometheus,app.kubernetes.io/component=server",
		"app.kubernetes.io/name=prometheus",
	}
}

// prometheusPort is Prometheus' own, which a Service may give another one.
const prometheusPort = 9090

// Prometheuses lists the Services of a Prometheus in these namespaces, or in all when there are none: those with the
// first label that any has.
func (k *Reader) Prometheuses(ctx context.Context, namespaces []string) ([]Monitor, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, label := range prometheusLabels() {
		var out []Monitor
		for _, namespace := range namespaces {
			found, err := k.services(ctx, namespace, label)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// services are the Services of a namespace with a label that have a port for the web.
func (k *Reader) services(ctx context.Context, namespace, label string) ([]Monitor, error) {
	var out []Monitor
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		list, err := k.typed.CoreV1().Services(namespace).
			List(ctx, metav1.ListOptions{LabelSelector: label, Limit: listPage, Continue: from})
		if err != nil {
			return "", readError(err, "list", corev1.Resource("services"), namespace)
		}
		for _, s := range list.Items {
			if port, ok := webPort(s.Spec.Ports); ok {
				out = append(out, Monitor{Namespace: s.Namespace, Name: s.Name, Port: port, Label: label})
			}
		}
		return list.Continue, nil
	})
	return out, err
}

// webPort is the one that Prometheus listens on, else the only one.
func webPort(ports []corev1.ServicePort) (int32, bool) {
	for _, p := range ports {
		if p.Port == prometheusPort || p.TargetPort.IntVal == prometheusPort || p.Name == "http-web" || p.Name == "web" {
			return p.Port, true
		}
	}
	if len(ports) == 1 {
		return ports[0].Port, true
	}
	return 0, false
}
