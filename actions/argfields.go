package actions

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// argumentFields are the kinds above vLLM's pods that are not Deployments, and where their arguments are written.
var argumentFields = map[string]string{
	"InferenceService.serving.kserve.io":       "spec.predictor.model.args",
	"LLMInferenceService.serving.kserve.io":    "the variable VLLM_ADDITIONAL_ARGS in spec.template",
	"VLLMRuntime.production-stack.vllm.ai":     "spec.vllmConfig.extraArgs",
	"LeaderWorkerSet.leaderworkerset.x-k8s.io": "the templates in spec.leaderWorkerTemplate",
	"RayService.ray.io":                        "engine_kwargs in spec.serveConfigV2",
	"StormService.orchestration.aibrix.ai":     "the templates in spec.template.spec.roles",
	"RoleSet.orchestration.aibrix.ai":          "the templates in spec.roles",
	"Model.kubeai.org":                         "spec.args",
	"Rollout.argoproj.io":                      "spec.template",
	"DynamoGraphDeployment.nvidia.com":         "extraPodSpec.mainContainer.args in spec.services",
	"DynamoComponentDeployment.nvidia.com":     "spec.extraPodSpec.mainContainer.args",
	"Service.serving.knative.dev":              "spec.template",
}

// argumentField says where the arguments of a kind are written; empty when that is not known.
func argumentField(apiVersion, kind string) string { return argumentFields[kind+"."+group(apiVersion)] }

// otherArguments refuses a kind whose arguments the bot does not change, and says where a person does.
func otherArguments(ref incident.WorkloadRef) *incident.RefusedError {
	no := refused("the arguments of %s are not changed by the bot, only those of a Deployment or a StatefulSet: change them by hand", ref)
	if at := argumentField(ref.APIVersion, ref.Kind); at != "" {
		no.Hint = fmt.Sprintf("They are in %s.", at)
	}
	return no
}

// ownership says who else keeps the arguments, and of an operator's object also where it has them.
func (t *tokens) ownership() incident.Guardrail {
	g := ownership(t.base.object, t.base.path)
	owner := controllerOf(t.base.object)
	if g.Verdict != incident.GuardRefuse || owner == nil {
		return g
	}
	if at := argumentField(owner.APIVersion, owner.Kind); at != "" {
		g.Reason += fmt.Sprintf(" (%s)", at)
	}
	return g
}
