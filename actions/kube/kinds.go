package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Kinds finds where the objects of a kind are.
type Kinds interface {
	// Workload is where a pool's workload is, for a right.
	Workload(ctx context.Context, w incident.WorkloadRef) (Place, error)
}

// KnownKinds finds the kinds of Kubernetes itself and of the platforms that serve vLLM without a cluster: their
// resources have the same names everywhere. Other is asked about the rest.
type KnownKinds struct {
	Other func(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error)
}

// Resource is where the objects of a kind are.
func (k KnownKinds) Resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("the apiVersion of %s: %w", kind, err)
	}
	of := schema.GroupKind{Group: gv.Group, Kind: kind}
	for known, resource := range PlatformKinds() {
		if known == of {
			return gv.WithResource(resource), nil
		}
	}
	if r, own := ownKind(apiVersion, kind); own {
		return r, nil
	}
	return k.Other(ctx, apiVersion, kind)
}

// Workload is where a pool's workload is.
func (k KnownKinds) Workload(ctx context.Context, w incident.WorkloadRef) (Place, error) {
	r, err := k.Resource(ctx, w.APIVersion, w.Kind)
	return Place{Resource: r, Namespace: w.Namespace, Name: w.Name}, err
}

// PlatformKinds are the kinds of the platforms whose replicas the bot can change, with the names of their resources.
// The Helm chart has the same table.
func PlatformKinds() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: "argoproj.io", Kind: "Rollout"}:                                  "rollouts",
		{Group: "disaggregatedset.x-k8s.io", Kind: "DisaggregatedSetRoleScaler"}: "disaggregatedsetrolescalers",
		{Group: "kubeai.org", Kind: "Model"}:                                     "models",
		{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}:             "leaderworkersets",
		{Group: "nvidia.com", Kind: "DynamoGraphDeploymentScalingAdapter"}:       "dynamographdeploymentscalingadapters",
		{Group: "orchestration.aibrix.ai", Kind: "StormService"}:                 "stormservices",
		{Group: "production-stack.vllm.ai", Kind: "VLLMRuntime"}:                 "vllmruntimes",
		{Group: "workload.serving.volcano.sh", Kind: "ModelServing"}:             "modelservings",
	}
}

// ownKind is where the objects of a kind of Kubernetes itself are, that run pods for long.
func ownKind(apiVersion, kind string) (schema.GroupVersionResource, bool) {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	plural, known := map[string]string{
		"DaemonSet": "daemonsets", "Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets",
	}[kind]
	return apps.WithResource(plural), known && apiVersion == apps.String()
}
