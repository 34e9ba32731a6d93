package cluster

import (
	"cmp"
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// KEDA's kind, and the label that it puts on the autoscaler it generates (keda apis/keda/v1alpha1/scaledobject_types.go).
const (
	kedaVersion = "keda.sh/v1alpha1"
	kedaKind    = "ScaledObject"
	kedaLabel   = "scaledobject.keda.sh/name"
	hpaKind     = "HorizontalPodAutoscaler"
)

// AIBrix' autoscaler (aibrix api/autoscaling/v1alpha1), and KubeAI's Model, which scales itself unless it is told not to (kubeai api/k8s/v1).
const (
	podScalerVersion = "autoscaling.aibrix.ai/v1alpha1"
	podScalerKind    = "PodAutoscaler"
	modelGroup       = "kubeai.org"
	modelKind        = "Model"
)

// scaler is what owns a workload's replicas. Its zero value is nothing.
type scaler struct {
	namespace string
	// kind and name are of the object that people change, hpa is the name of the autoscaler, which may be that object's product.
	kind, name, hpa string
	// own is the minimum that the bot has set itself.
	own ownMinimum
}

// String names the owner; empty when there is none.
func (s scaler) String() string {
	if s.name == "" {
		return ""
	}
	return s.kind + " " + s.namespace + "/" + s.name
}

// autoscaler finds what owns a workload's replicas. KEDA's and AIBrix' objects come first: an autoscaler that they made is only their product, and is gone
// while KEDA is paused.
func (k *Reader) autoscaler(ctx context.Context, ref incident.WorkloadRef, obj *unstructured.Unstructured) (scaler, error) {
	if scalesItself(obj) {
		return scaler{namespace: ref.Namespace, kind: modelKind, name: ref.Name}, nil
	}
	keda, err := k.aimedAt(ctx, ref, kedaVersion, kedaKind)
	if err != nil {
		return scaler{}, err
	}
	if keda != nil {
		hpa := cmp.Or(Text(keda, "status", "hpaName"), "keda-hpa-"+keda.GetName()) // KEDA's own default
		return scaler{namespace: ref.Namespace, kind: kedaKind, name: keda.GetName(), hpa: hpa, own: minimumBy(keda, "minReplicaCount", Number(keda, "spec", "minReplicaCount"))}, nil
	}
	pods, err := k.aimedAt(ctx, ref, podScalerVersion, podScalerKind)
	if err != nil {
		return scaler{}, err
	}
	if pods != nil {
		out := scaler{namespace: ref.Namespace, kind: podScalerKind, name: pods.GetName(), own: minimumBy(pods, "minReplicas", Number(pods, "spec", "minReplicas"))}
		if Text(pods, "spec", "scalingStrategy") == "HPA" {
			out.hpa = pods.GetName() + "-hpa" // AIBrix' own name for it
		}
		return out, nil
	}
	list, err := k.typed.AutoscalingV2().HorizontalPodAutoscalers(ref.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return scaler{}, readError(err, "list", autoscalingv2.Resource("horizontalpodautoscalers"), ref.Namespace)
	}
	for i := range list.Items {
		hpa := &list.Items[i]
		t := hpa.Spec.ScaleTargetRef
		if !sameTarget(ref, t.APIVersion, t.Kind, t.Name) {
			continue
		}
		out := scaler{namespace: ref.Namespace, kind: hpaKind, name: hpa.Name, hpa: hpa.Name}
		if least := hpa.Spec.MinReplicas; least != nil {
			out.own = minimumBy(hpa, "minReplicas", new(int64(*least)))
		}
		if maker := kedaOwner(hpa); maker != "" {
			out.kind, out.name = kedaKind, maker
		}
		return out, nil
	}
	return scaler{}, nil
}

// scalesItself says whether KubeAI keeps the replicas of the workload.
func scalesItself(obj *unstructured.Unstructured) bool {
	if obj.GetKind() != modelKind || Group(obj.GetAPIVersion()) != modelGroup {
		return false
	}
	disabled, _, err := unstructured.NestedBool(obj.Object, "spec", "autoscalingDisabled")
	return err != nil || !disabled
}

func kedaOwner(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, o := range hpa.OwnerReferences {
		if o.Kind == kedaKind && Group(o.APIVersion) == Group(kedaVersion) {
			return o.Name
		}
	}
	return hpa.Labels[kedaLabel]
}

// aimedAt looks for an object of a custom kind that scales the workload. A cluster without the kind has none. A target without kind and version is a
// Deployment (KEDA's defaults), and AIBrix' may name a namespace.
func (k *Reader) aimedAt(ctx context.Context, ref incident.WorkloadRef, version, kind string) (*unstructured.Unstructured, error) {
	m, err := k.kinds.mapping(version, kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, mapError(err, version, kind)
	}
	list, err := k.dynamic.Resource(m.Resource).Namespace(ref.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, readError(err, "list", m.Resource.GroupResource(), ref.Namespace)
	}
	for i := range list.Items {
		o := &list.Items[i]
		here := cmp.Or(target(o, "namespace"), ref.Namespace) == ref.Namespace
		if here && sameTarget(ref, cmp.Or(target(o, "apiVersion"), "apps/v1"), cmp.Or(target(o, "kind"), "Deployment"), target(o, "name")) {
			return o, nil
		}
	}
	return nil, nil
}

func target(o *unstructured.Unstructured, field string) string {
	return Text(o, "spec", "scaleTargetRef", field)
}

// sameTarget compares group, kind and name: the version of a reference may be an older one of the same group.
func sameTarget(ref incident.WorkloadRef, apiVersion, kind, name string) bool {
	return ref.Name == name && ref.Kind == kind && Group(ref.APIVersion) == Group(apiVersion)
}
