package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Route is an HTTPRoute of the Gateway API with what it sends requests to.
type Route struct {
	incident.RouteRef

	Backends []Backend
}

// Backend is a Service, or an InferencePool of the Gateway API's inference extension, behind a route.
type Backend struct {
	Kind, Namespace, Name string
	// Selects are the labels of its pods; empty when it selects none, or when that could not be read.
	Selects map[string]string
}

// Selected says whether pods with these labels are behind the backend.
func (b Backend) Selected(pod map[string]string) bool {
	return len(b.Selects) > 0 && labels.SelectorFromSet(b.Selects).Matches(labels.Set(pod))
}

// inferencePools are where the inference extension has, and had, its pools.
var inferencePools = []string{"inference.networking.k8s.io/v1", "inference.networking.x-k8s.io/v1alpha2"}

const inferencePool = "InferencePool"

// Routes lists the HTTPRoutes of a namespace. A cluster without the Gateway API has none. The error names what of them
// could not be read, and comes with the others.
func (k *Reader) Routes(ctx context.Context, namespace string) ([]Route, error) {
	all, err := k.installed(ctx, "gateway.networking.k8s.io/v1", "HTTPRoute", namespace)
	if err != nil {
		return nil, err
	}
	var out []Route
	var missing error
	for i := range all {
		r := Route{RouteRef: incident.RouteRef{Namespace: all[i].GetNamespace(), Name: all[i].GetName()}}
		for _, b := range backendsOf(&all[i]) {
			if b.Selects, err = k.selects(ctx, b); err != nil {
				missing = err
			}
			r.Backends = append(r.Backends, b)
		}
		out = append(out, r)
	}
	return out, missing
}

// backendsOf are what the rules of a route name, each once.
func backendsOf(route *unstructured.Unstructured) []Backend {
	rules, _, err := unstructured.NestedSlice(route.Object, "spec", "rules")
	if err != nil {
		return nil
	}
	var out []Backend
	for _, rule := range rules {
		m, _ := rule.(map[string]any)
		refs, _, err := unstructured.NestedSlice(m, "backendRefs")
		if err != nil {
			continue
		}
		for _, ref := range refs {
			m, _ := ref.(map[string]any)
			b := Backend{Kind: "Service", Namespace: route.GetNamespace()}
			for field, to := range map[string]*string{"kind": &b.Kind, "namespace": &b.Namespace, "name": &b.Name} {
				if text, is := m[field].(string); is && text != "" {
					*to = text
				}
			}
			same := func(o Backend) bool { return o.Kind == b.Kind && o.Namespace == b.Namespace && o.Name == b.Name }
			if !slices.ContainsFunc(out, same) {
				out = append(out, b)
			}
		}
	}
	return out
}

// selects are the labels by which a backend takes its pods. One that does not exist, or of a kind that is not known,
// takes none.
func (k *Reader) selects(ctx context.Context, b Backend) (map[string]string, error) {
	switch b.Kind {
	case "Service":
		s, err := k.typed.CoreV1().Services(b.Namespace).Get(ctx, b.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, readError(err, "get", corev1.Resource("services"), b.Namespace)
		}
		return s.Spec.Selector, nil
	case inferencePool:
		for _, version := range inferencePools {
			all, err := k.installed(ctx, version, inferencePool, b.Namespace)
			if err != nil {
				return nil, err
			}
			for i := range all {
				if all[i].GetName() == b.Name {
					return poolSelects(&all[i]), nil
				}
			}
		}
	}
	return nil, nil
}

// poolSelects reads spec.selector in its two shapes: v1 has it below matchLabels.
func poolSelects(pool *unstructured.Unstructured) map[string]string {
	for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "selector"}} {
		if m, found, err := unstructured.NestedStringMap(pool.Object, path...); err == nil && found {
			return m
		}
	}
	return nil
}
