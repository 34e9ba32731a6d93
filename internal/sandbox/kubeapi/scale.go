package kubeapi

import (
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaleKind is what every scale subresource is.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scales reads and defaults a Scale: a kind that is served below others only.
var scales = &kind{
	GroupVersionResource: scaleKind.GroupVersion().WithResource("scales"), Kind: scaleKind.Kind, namespaced: true,
	typed: func() runtime.Object { return &autoscalingv1.Scale{} },
}

// scaleOf is the scale of an object.
func (k *kind) scaleOf(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted, found, err := unstructured.NestedInt64(o.Object, k.scale.replicas...)
	if err != nil || !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist",
			dotted(k.scale.replicas)))
	}
	observed, _, err := unstructured.NestedInt64(o.Object, k.scale.observed...)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the status replicas field: %w", err))
	}
	text, err := k.scaleSelector(o)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if max(wanted, observed) > math.MaxInt32 || min(wanted, observed) < math.MinInt32 {
		return nil, apierrors.NewInternalError(fmt.Errorf("replicas of %s are out of range", o.GetName()))
	}
	return scales.whole(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
			CreationTimestamp: o.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(observed), Selector: text},
	})
}

// scaleSelector is the selector of an object's pods as text; empty when the kind has none.
func (k *kind) scaleSelector(o *unstructured.Unstructured) (string, error) {
	if len(k.scale.selector) == 0 {
		return "", nil
	}
	if k.custom() {
		text, _, err := unstructured.NestedString(o.Object, k.scale.selector...)
		return text, err
	}
	m, _, err := unstructured.NestedMap(o.Object, k.scale.selector...)
	if err != nil {
		return "", err
	}
	var of metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &of); err != nil {
		return "", err
	}
	sel, err := metav1.LabelSelectorAsSelector(&of)
	if err != nil {
		return "", err
	}
	return sel.String(), nil
}

// rescale changes the scale of an object by what next makes of it, and returns the new one.
func (s *Server) rescale(k *kind, namespace, name string, h how,
	next func(now *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	o, err := s.update(k, "scale", namespace, name, h, func(o *unstructured.Unstructured) (
		*unstructured.Unstructured, error,
	) {
		return s.scaled(k, o, h, next)
	})
	if err != nil {
		return nil, err
	}
	return k.scaleOf(o)
}

// scaled writes what next makes of an object's scale into the object.
func (s *Server) scaled(k *kind, o *unstructured.Unstructured, h how,
	next func(now *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	handler := managedfields.NewScaleHandler(o.GetManagedFields(), k.GroupVersion(), managedfields.ResourcePathMappings{
		k.GroupVersion().String(): fieldPath(k.scale.replicas),
	})
	fields, err := handler.ToSubresource()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	before, err := k.scaleOf(o)
	if err != nil {
		return nil, err
	}
	before.SetManagedFields(fields)
	after, err := next(before.DeepCopy())
	if err != nil {
		return nil, err
	}
	if after.GetUID() != "" && after.GetUID() != o.GetUID() {
		return nil, k.checkSame(o, after, false)
	}
	m, err := k.manager(s.converter, "scale")
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if after, err = asObject(m.Update(before, after, h.manager)); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	n, _, err := unstructured.NestedInt64(after.Object, "spec", "replicas")
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if n < 0 {
		return nil, apierrors.NewInvalid(scaleKind.GroupKind(), o.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0"),
		})
	}
	if fields, err = handler.ToParent(after.GetManagedFields()); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := unstructured.SetNestedField(o.Object, n, k.scale.replicas...); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if version := after.GetResourceVersion(); version != "" {
		o.SetResourceVersion(version)
	}
	o.SetManagedFields(fields)
	return o, nil
}

func fieldPath(names []string) fieldpath.Path {
	parts := make([]any, len(names))
	for i, n := range names {
		parts[i] = n
	}
	return fieldpath.MakePathOrDie(parts...)
}
