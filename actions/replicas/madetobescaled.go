package replicas

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// madeToBeScaled are kinds that an operator makes so that others scale them; it follows their number and never writes
// it back (sigs.k8s.io/lws disaggregatedsetrolescaler_types.go; dynamo
// nvidia.com_dynamographdeploymentscalingadapters.yaml).
func madeToBeScaled() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "disaggregatedset.x-k8s.io", Version: "v1", Kind: "DisaggregatedSetRoleScaler"},
		{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeploymentScalingAdapter"},
	}
}

func isMadeToBeScaled(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(madeToBeScaled(), func(k schema.GroupVersionKind) bool {
		return k.Kind == o.GetKind() && k.Group == cluster.Group(o.GetAPIVersion())
	})
}
