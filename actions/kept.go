package actions

import "github.com/vllm-medic/vllm-medic/internal/cluster"

// kept are the fields in which an operator's object keeps what it writes into the objects that it owns: their replicas, the minimum of their autoscaler
// and the arguments of vLLM. Empty where nobody has told.
type kept struct{ replicas, minimum, args string }

// keptField chooses one of them.
type keptField func(kept) string

func keptReplicas(k kept) string { return k.replicas }
func keptMinimum(k kept) string  { return k.minimum }
func keptArgs(k kept) string     { return k.args }

// keptNowhere is for what no operator that is known keeps.
func keptNowhere(kept) string { return "" }

// keptBy is the table of the operators by which vLLM is served, by API group and kind; docs/platforms.md has the same for people.
func keptBy(apiVersion, kind string) kept {
	switch cluster.Group(apiVersion) + "/" + kind {
	case "apps/Deployment":
		return kept{replicas: "spec.replicas", args: "spec.template"}
	case "serving.kserve.io/InferenceService":
		return kept{replicas: "spec.predictor.minReplicas", minimum: "spec.predictor.minReplicas", args: "spec.predictor.model.args"}
	case "serving.kserve.io/LLMInferenceService":
		return kept{replicas: "spec.replicas", args: "the variable VLLM_ADDITIONAL_ARGS in spec.template"}
	case "serving.knative.dev/Revision", "serving.knative.dev/Service":
		return kept{
			replicas: "autoscaling.knative.dev/min-scale in spec.template of the Knative Service, or spec.predictor.minReplicas of its InferenceService",
			args:     "spec.template of the Knative Service, or spec.predictor.model.args of its InferenceService",
		}
	case "production-stack.vllm.ai/VLLMRuntime":
		return kept{replicas: "spec.deploymentConfig.replicas", minimum: "spec.autoscalingConfig.minReplicas", args: "spec.vllmConfig.extraArgs"}
	case "leaderworkerset.x-k8s.io/LeaderWorkerSet":
		return kept{replicas: "spec.replicas", args: "the templates in spec.leaderWorkerTemplate"}
	case "disaggregatedset.x-k8s.io/DisaggregatedSet":
		return kept{replicas: "spec.roles[].spec.replicas", args: "the templates in spec.roles[].spec.leaderWorkerTemplate"}
	case "orchestration.aibrix.ai/StormService":
		return kept{replicas: "spec.template.spec.roles[].replicas", args: "the templates in spec.template.spec.roles"}
	case "orchestration.aibrix.ai/RoleSet":
		return kept{replicas: "spec.roles[].replicas, or those of its StormService", args: "the templates in spec.roles, or in its StormService"}
	case "autoscaling.aibrix.ai/PodAutoscaler":
		return kept{minimum: "spec.minReplicas"}
	case "keda.sh/ScaledObject":
		return kept{minimum: "spec.minReplicaCount"}
	case "kubeai.org/Model":
		return kept{replicas: "spec.minReplicas", args: "spec.args"}
	case "ray.io/RayCluster":
		return kept{replicas: "spec.workerGroupSpecs[].replicas"}
	case "ray.io/RayService":
		return kept{replicas: "spec.serveConfigV2", args: "engine_kwargs in spec.serveConfigV2"}
	case "nvidia.com/DynamoGraphDeployment":
		return kept{replicas: "replicas in spec.services", args: "extraPodSpec.mainContainer.args in spec.services"}
	case "nvidia.com/DynamoComponentDeployment":
		return kept{
			replicas: "spec.replicas of the service's DynamoGraphDeploymentScalingAdapter, or replicas in spec.services of the DynamoGraphDeployment",
			args:     "spec.extraPodSpec.mainContainer.args",
		}
	case "argoproj.io/Rollout":
		return kept{replicas: "spec.replicas", args: "spec.template"}
	}
	return kept{}
}
