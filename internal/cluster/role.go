package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// roleLabels are the labels by which platforms name a pod's role.
func roleLabels() []string {
	return []string{
		"llm-d.ai/role",                          // llm-d, KServe's LLMInferenceService, KAITO
		"nvidia.com/dynamo-sub-component-type",   // NVIDIA Dynamo
		"disaggregatedset.x-k8s.io/role",         // LeaderWorkerSet's DisaggregatedSet
		"rolebasedgroup.workloads.x-k8s.io/role", // RoleBasedGroup
		"rbg.workloads.x-k8s.io/role-name",       // RoleBasedGroup v2
		"modelserving.volcano.sh/role",           // Kthena's ModelServing
		"role-name",                              // AIBrix' StormService
	}
}

// roleOf is a pod's part in disaggregated serving: by the labels of platforms, else by the engine's kv_role. Empty
// where neither tells, or where they contradict each other. A label with another value (prefill-decode, a name that
// somebody chose) tells nothing, and neither does kv_both, which vLLM's NIXL connector takes on both sides.
func roleOf(pod *corev1.Pod, container string) incident.Role {
	var told []incident.Role
	for _, key := range roleLabels() {
		if role := incident.Role(pod.Labels[key]); role == incident.RolePrefill || role == incident.RoleDecode {
			told = append(told, role)
		}
	}
	if len(told) == 0 {
		engines := engineNames(pod, container)
		for i := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[i]; slices.Contains(engines, c.Name) {
				told = append(told, roleOfArguments(c))
			}
		}
	}
	if told = slices.Compact(told); len(told) != 1 {
		return ""
	}
	return told[0]
}

// roleOfArguments is what --kv-transfer-config says.
func roleOfArguments(c *corev1.Container) incident.Role {
	switch commandLine(c).KVRole() {
	case "kv_producer":
		return incident.RolePrefill
	case "kv_consumer":
		return incident.RoleDecode
	}
	return ""
}
