package kubeapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Hand acts on the objects of a server from within the process, as one field manager: as a controller does, without
// being asked for rights. What it writes is checked as what comes over HTTP is.
type Hand struct {
	server  *Server
	manager string
}

// As is the hand of a field manager.
func (s *Server) As(manager string) Hand { return Hand{server: s, manager: manager} }

// MakeNamespace makes a namespace if there is none of this name.
func (s *Server) MakeNamespace(name string) error {
	at := corev1.SchemeGroupVersion.WithResource("namespaces")
	if _, err := s.get(s.kindOf(at), "", name); err == nil {
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
	}}
	if err := Create(s.As("kube-apiserver"), at, ns); err != nil {
		return err
	}
	return Change(s.As("kube-apiserver"), at, "status", ns, func(ns *corev1.Namespace) error {
		ns.Status.Phase = corev1.NamespaceActive
		return nil
	})
}

func (h Hand) kind(r schema.GroupVersionResource) (*kind, error) {
	if k := h.server.kindOf(r); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("kubeapi: no kind is served at %s", r)
}

// All returns the objects of a kind in all namespaces, in the order of lists.
func All[T any](h Hand, r schema.GroupVersionResource) ([]*T, error) {
	k, err := h.kind(r)
	if err != nil {
		return nil, err
	}
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	keys := among(h.server.store.objects, k.GroupResource(), "")
	out := make([]*T, len(keys))
	for i, at := range keys {
		out[i] = new(T)
		if err := into(h.server.store.objects[at], out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Get returns an object.
func Get[T any](h Hand, r schema.GroupVersionResource, namespace, name string) (*T, error) {
	k, err := h.kind(r)
	if err != nil {
		return nil, err
	}
	o, err := h.server.get(k, namespace, name)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, into(o, out)
}

// Create makes an object, whose name may be generated.
func Create(h Hand, r schema.GroupVersionResource, o metav1.Object) error {
	k, err := h.kind(r)
	if err != nil {
		return err
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return fmt.Errorf("kubeapi: %s %s: %w", k.Kind, o.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(k.gvk())
	if u, _, err = k.decode(u.Object); err != nil {
		return fmt.Errorf("kubeapi: %s %s: %w", k.Kind, o.GetName(), err)
	}
	u, err = h.server.create(k, o.GetNamespace(), u, how{manager: h.manager})
	if err != nil {
		return err
	}
	o.SetName(u.GetName())
	o.SetUID(u.GetUID())
	return nil
}

// Change changes an object, or one of its subresources, by what f makes of it as it is now; f must not ask the server.
// What changes nothing writes nothing.
func Change[T any](h Hand, r schema.GroupVersionResource, sub string, of metav1.Object, f func(*T) error) error {
	k, err := h.kind(r)
	if err != nil {
		return err
	}
	_, err = h.server.update(k, sub, of.GetNamespace(), of.GetName(), how{manager: h.manager},
		func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			typed := new(T)
			if err := into(now, typed); err != nil {
				return nil, err
			}
			if err := f(typed); err != nil {
				return nil, err
			}
			m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				return nil, fmt.Errorf("kubeapi: %s %s: %w", k.Kind, now.GetName(), err)
			}
			o := &unstructured.Unstructured{Object: m}
			o.SetGroupVersionKind(k.gvk())
			return o, nil
		})
	return err
}

// Scale sets the number of replicas of an object through its scale subresource.
func (h Hand) Scale(r schema.GroupVersionResource, of metav1.Object, replicas int32) error {
	k, err := h.kind(r)
	if err != nil {
		return err
	}
	if k.scale == nil {
		return fmt.Errorf("kubeapi: %s has no scale", k.Kind)
	}
	_, err = h.server.rescale(k, of.GetNamespace(), of.GetName(), how{manager: h.manager},
		func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return now, unstructured.SetNestedField(now.Object, int64(replicas), "spec", "replicas")
		})
	return err
}

// Delete removes an object, or asks it to end.
func (h Hand) Delete(r schema.GroupVersionResource, of metav1.Object, opts metav1.DeleteOptions) error {
	k, err := h.kind(r)
	if err != nil {
		return err
	}
	_, _, err = h.server.remove(k, of.GetNamespace(), of.GetName(), opts)
	return err
}

func into(o *unstructured.Unstructured, typed any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return fmt.Errorf("kubeapi: %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
