package live

import "github.com/vllm-medic/vllm-medic/internal/cluster"

// Operator are the fields in which an operator's object keeps what it writes into the objects that it owns: their
// replicas, the minimum of their autoscaler and the arguments of vLLM. Empty where nobody has told.
type Operator struct{ Replicas, Minimum, Args string }

// ReplicasField is where the operator keeps the replicas.
func ReplicasField(o Operator) string { return o.Replicas }

// MinimumField is where the operator keeps the minimum of an autoscaler.
func MinimumField(o Operator) string { return o.Minimum }

// ArgsField is where the operator keeps the arguments of vLLM.
func ArgsField(o Operator) string { return o.Args }

// NoField is for what no operator that is known keeps.
func NoField(Operator) string { return "" }

// OperatorFields is the table of the operators by which vLLM is served, by API group and kind; docs/platforms.md has
// the same for people.
func OperatorFields(apiVersion, kind string) Operator {
	switch cluster.Group(apiVersion) + "/" + kind {
	case "apps/Deployment":
		return Operator{Replicas: "spec.replicas", Args: "spec.template"}
	case "serving.kserve.io/InferenceService":
		return Operator{
			Replicas: "spec.predictor.minReplicas", Minimum: "spec.predictor.minReplicas",
			Args: "spec.predictor.model.args",
		}
	case "serving.kserve.io/LLMInferenceService":
		return Operator{
			Replicas: "spec.replicas (where spec.scaling is set: spec.scaling.minReplicas)",
			Minimum:  "spec.scaling.minReplicas", Args: "the variable VLLM_ADDITIONAL_ARGS in spec.template",
		}
	case "apps.nvidia.com/NIMService":
		return Operator{
			Replicas: "spec.replicas, or spec.scale.hpa.minReplicas where spec.scale is enabled",
			Minimum:  "spec.scale.hpa.minReplicas", Args: "spec.args",
		}
	case "serving.knative.dev/Revision", "serving.knative.dev/Service":
		return Operator{
			Replicas: "autoscaling.knative.dev/min-scale in spec.template of the Knative Service, or " +
				"spec.predictor.minReplicas of its InferenceService",
			Args: "spec.template of the Knative Service, or spec.predictor.model.args of its InferenceService",
		}
	case "production-stack.vllm.ai/VLLMRuntime":
		return Operator{
			Replicas: "spec.deploymentConfig.replicas", Minimum: "spec.autoscalingConfig.minReplicas",
			Args: "spec.vllmConfig.extraArgs",
		}
	case "leaderworkerset.x-k8s.io/LeaderWorkerSet":
		return Operator{Replicas: "spec.replicas", Args: "the templates in spec.leaderWorkerTemplate"}
	case "disaggregatedset.x-k8s.io/DisaggregatedSet":
		return Operator{
			Replicas: "spec.roles[].spec.replicas",
			Args:     "the templates in spec.roles[].spec.leaderWorkerTemplate",
		}
	case "orchestration.aibrix.ai/StormService":
		return Operator{Replicas: "spec.template.spec.roles[].replicas", Args: "the templates in spec.template.spec.roles"}
	case "orchestration.aibrix.ai/RoleSet":
		return Operator{
			Replicas: "spec.roles[].replicas, or those of its StormService",
			Args:     "the templates in spec.roles, or in its StormService",
		}
	case "autoscaling.aibrix.ai/PodAutoscaler":
		return Operator{Minimum: "spec.minReplicas"}
	case "keda.sh/ScaledObject":
		return Operator{Minimum: "spec.minReplicaCount"}
	case "kubeai.org/Model":
		return Operator{Replicas: "spec.minReplicas", Args: "spec.args"}
	case "ray.io/RayCluster":
		return Operator{Replicas: "spec.workerGroupSpecs[].replicas"}
	case "ray.io/RayService":
		return Operator{Replicas: "spec.serveConfigV2", Args: "engine_kwargs in spec.serveConfigV2"}
	case "nvidia.com/DynamoGraphDeployment":
		return Operator{
			Replicas: "replicas in spec.services (spec.components in v1beta1)",
			Args:     "extraPodSpec.mainContainer.args in spec.services",
		}
	case "nvidia.com/DynamoComponentDeployment":
		return Operator{
			Replicas: "spec.replicas of the service's DynamoGraphDeploymentScalingAdapter, or replicas in spec.services of " +
				"the DynamoGraphDeployment",
			Args: "spec.extraPodSpec.mainContainer.args",
		}
	case "argoproj.io/Rollout":
		return Operator{Replicas: "spec.replicas", Args: "spec.template"}
	}
	return Operator{}
}
