package evidence

import (
	"cmp"
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// KEDA's kind, and the label that it puts on the autoscaler it generates (keda apis/keda/v1alpha1/scaledobject_types.go).
const (
	kedaVersion = "keda.sh/v1alpha1"
	kedaKind    = "ScaledObject"
	kedaLabel   = "scaledobject.keda.sh/name"
	hpaKind     = "HorizontalPodAutoscaler"
)

// scaler is what owns a workload's replicas. Its zero value is nothing.
type scaler struct {
	namespace string
	// keda is the name of KEDA's object, hpa that of the autoscaler, which is KEDA's product when there is one.
	keda, hpa string
}

// String names the owner: KEDA's object if there is one.
func (s scaler) String() string {
	switch {
	case s.keda != "":
		return kedaKind + " " + s.namespace + "/" + s.keda
	case s.hpa != "":
		return hpaKind + " " + s.namespace + "/" + s.hpa
	}
	return ""
}

// autoscaler finds what owns a workload's replicas. KEDA's object comes first: its own autoscaler is only its product, and is gone while the object is
// paused.
func (k *kubeClient) autoscaler(ctx context.Context, ref incident.WorkloadRef) (scaler, error) {
	found, err := k.scaledObject(ctx, ref)
	if err != nil || found.keda != "" {
		return found, err
	}
	list, err := k.typed.AutoscalingV2().HorizontalPodAutoscalers(ref.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return scaler{}, readError(err, "list", autoscalingv2.Resource("horizontalpodautoscalers"), ref.Namespace)
	}
	for i := range list.Items {
		hpa := &list.Items[i]
		t := hpa.Spec.ScaleTargetRef
		if sameTarget(ref, t.APIVersion, t.Kind, t.Name) {
			return scaler{namespace: ref.Namespace, keda: kedaOwner(hpa), hpa: hpa.Name}, nil
		}
	}
	return scaler{}, nil
}

func kedaOwner(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, o := range hpa.OwnerReferences {
		if o.Kind == kedaKind && group(o.APIVersion) == group(kedaVersion) {
			return o.Name
		}
	}
	return hpa.Labels[kedaLabel]
}

// scaledObject looks for a KEDA object that aims at the workload. A cluster without KEDA has none.
func (k *kubeClient) scaledObject(ctx context.Context, ref incident.WorkloadRef) (scaler, error) {
	m, err := k.kinds.mapping(kedaVersion, kedaKind)
	if meta.IsNoMatchError(err) {
		return scaler{}, nil
	}
	if err != nil {
		return scaler{}, mapError(err, kedaVersion, kedaKind)
	}
	list, err := k.dynamic.Resource(m.Resource).Namespace(ref.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return scaler{}, readError(err, "list", m.Resource.GroupResource(), ref.Namespace)
	}
	for i := range list.Items {
		o := &list.Items[i]
		if sameTarget(ref, cmp.Or(target(o, "apiVersion"), "apps/v1"), cmp.Or(target(o, "kind"), "Deployment"), target(o, "name")) {
			hpa := cmp.Or(text(o, "status", "hpaName"), "keda-hpa-"+o.GetName()) // KEDA's own default
			return scaler{namespace: ref.Namespace, keda: o.GetName(), hpa: hpa}, nil
		}
	}
	return scaler{}, nil
}

func target(o *unstructured.Unstructured, field string) string {
	return text(o, "spec", "scaleTargetRef", field)
}

// sameTarget compares group, kind and name: the version of a reference may be an older one of the same group.
func sameTarget(ref incident.WorkloadRef, apiVersion, kind, name string) bool {
	return ref.Name == name && ref.Kind == kind && group(ref.APIVersion) == group(apiVersion)
}

func group(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return fmt.Sprintf("unreadable %q", apiVersion)
	}
	return gv.Group
}
