package cluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// MadeToBeScaled are kinds that an operator makes so that others scale them; it follows their number and never writes
// it back (sigs.k8s.io/lws disaggregatedsetrolescaler_types.go; dynamo
// nvidia.com_dynamographdeploymentscalingadapters.yaml). Each is of the API group of the operator's own objects.
func MadeToBeScaled() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "disaggregatedset.x-k8s.io", Version: "v1", Kind: "DisaggregatedSetRoleScaler"},
		{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeploymentScalingAdapter"},
	}
}

// IsMadeToBeScaled says whether an object is of such a kind.
func IsMadeToBeScaled(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(MadeToBeScaled(), func(k schema.GroupVersionKind) bool {
		return k.Kind == o.GetKind() && k.Group == Group(o.GetAPIVersion())
	})
}

// scalerAbove is the object by which a pod's workload is made to be scaled: one of a pod's owners made it, and its
// scale selects the pod. It is zero when there is none, or when several fit. known keeps what was listed, by namespace
// and kind.
func (k *Reader) scalerAbove(
	ctx context.Context, pod Server, known map[string]objectList,
) (out incident.WorkloadRef, err error) {
	for _, kind := range MadeToBeScaled() {
		if !slices.ContainsFunc(pod.Owners, func(o incident.WorkloadRef) bool { return Group(o.APIVersion) == kind.Group }) {
			continue
		}
		key := pod.Namespace + "/" + kind.Kind
		all, asked := known[key]
		if !asked {
			all.objects, all.err = k.installed(ctx, kind.GroupVersion().String(), kind.Kind, pod.Namespace)
			known[key] = all
		}
		if all.err != nil {
			return incident.WorkloadRef{}, all.err
		}
		for i := range all.objects {
			if !scales(&all.objects[i], pod) {
				continue
			}
			if !out.IsZero() {
				return incident.WorkloadRef{}, nil
			}
			out = incident.WorkloadRef{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: pod.Namespace,
				Name: all.objects[i].GetName(),
			}
		}
	}
	return out, nil
}

// objectList is the answer to a list.
type objectList struct {
	objects []unstructured.Unstructured
	err     error
}

// ScalesPodWith says whether the scale of an object that is made to be scaled selects a pod with these labels. Its
// operator says in the status which pods those are; until then it is none.
func ScalesPodWith(o *unstructured.Unstructured, podLabels map[string]string) bool {
	selector, err := labels.Parse(Text(o, "status", "selector"))
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(podLabels))
}

// scales says whether an object belongs to an owner of the pod and its scale selects the pod.
func scales(o *unstructured.Unstructured, pod Server) bool {
	above, _ := OwnerAmong(o.GetOwnerReferences())
	return above != nil && ScalesPodWith(o, pod.Labels) &&
		slices.ContainsFunc(pod.Owners, func(owner incident.WorkloadRef) bool {
			return owner.Kind == above.Kind && owner.Name == above.Name && Group(owner.APIVersion) == Group(above.APIVersion)
		})
}
