package cluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const kthenaGroup = "workload.serving.volcano.sh"

// The autoscalers of Kthena: a policy names what it scales, and in older versions a binding does that for it. Kthena
// patches the replicas of a ModelServing itself whenever they differ (kthena
// pkg/autoscaler/controller/autoscale_controller.go).
var (
	KthenaPolicy  = kthenaKind("AutoscalingPolicy", "autoscalingpolicies")
	KthenaBinding = kthenaKind("AutoscalingPolicyBinding", "autoscalingpolicybindings")
)

func kthenaKind(kind, resource string) AutoscalerKind {
	return AutoscalerKind{
		Kind: kind, Resource: schema.GroupVersionResource{Group: kthenaGroup, Version: "v1alpha1", Resource: resource},
		Only: kthenaGroup, targets: kthenaTargets,
		hpaOf: func(*unstructured.Unstructured) string { return "" },
	}
}

// kthenaTargets are what spec.homogeneousTarget, spec.heterogeneousTarget and spec.disaggregatedTarget name (kthena
// pkg/apis/workload/v1alpha1 autoscalingpolicy_types.go).
func kthenaTargets(o *unstructured.Unstructured) []autoscalerTarget {
	var out []autoscalerTarget
	add := func(ref map[string]any, minimum string) {
		text := func(field, missing string) string {
			if s, ok := ref[field].(string); ok && s != "" {
				return s
			}
			return missing
		}
		if ref == nil {
			return
		}
		// A role of a ModelServing is "ModelServing/Role" and "NAME/ROLE" in older versions.
		kind, _, _ := strings.Cut(text("kind", "ModelServing"), "/")
		name, _, _ := strings.Cut(text("name", ""), "/")
		out = append(out, autoscalerTarget{
			apiVersion: text("apiVersion", kthenaGroup+"/v1alpha1"), kind: kind,
			namespace: text("namespace", o.GetNamespace()), name: name, minimum: minimum,
		})
	}
	at := func(path ...string) map[string]any {
		m, _, err := unstructured.NestedMap(o.Object, path...)
		if err != nil {
			return nil
		}
		return m
	}
	add(at("spec", "homogeneousTarget", "target", "targetRef"), "spec.homogeneousTarget.minReplicas")
	add(at("spec", "disaggregatedTarget", "targetRef"), "minReplicas of the roles in spec.disaggregatedTarget.roles")
	params, _, err := unstructured.NestedSlice(o.Object, "spec", "heterogeneousTarget", "params")
	if err != nil {
		return out
	}
	for i, p := range params {
		m, _ := p.(map[string]any)
		ref, _, err := unstructured.NestedMap(m, "target", "targetRef")
		if err == nil {
			add(ref, fmt.Sprintf("spec.heterogeneousTarget.params[%d].minReplicas", i))
		}
	}
	return out
}
