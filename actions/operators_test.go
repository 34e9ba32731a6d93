package actions_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// The objects that people write for an operator have no scale. Both steps are refused with the field to change.
func TestARefusedOperatorsObjectSaysWhichFieldToChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind           string
		in             schema.GroupVersionResource
		crd            kubetest.CRD
		replicas, args string
	}{
		{
			"InferenceService",
			schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1beta1", Resource: "inferenceservices"},
			kubetest.InferenceServices, "spec.predictor.minReplicas", "spec.predictor.model.args",
		},
		{
			"LLMInferenceService",
			schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1alpha1", Resource: "llminferenceservices"},
			kubetest.LLMInferenceServices, "(where spec.scaling is set: spec.scaling.minReplicas)", "VLLM_ADDITIONAL_ARGS",
		},
		{
			"RayService",
			schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayservices"},
			kubetest.RayServices, "spec.serveConfigV2", "engine_kwargs in spec.serveConfigV2",
		},
		{
			"RayCluster",
			schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"},
			kubetest.RayClusters, "spec.workerGroupSpecs[].replicas", "",
		},
		{
			"NIMService",
			schema.GroupVersionResource{Group: "apps.nvidia.com", Version: "v1alpha1", Resource: "nimservices"},
			kubetest.NIMServices, "spec.scale.hpa.minReplicas", "spec.args",
		},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tokens := b.pool.Knobs
			b.custom(tt.crd, tt.in, tt.kind, map[string]any{"replicas": int64(2)})
			b.refusedFor(addOne, "has no scale subresource", "Its operator follows spec.", tt.replicas)
			b.pool.Knobs = tokens
			b.refusedFor(halve, "are not changed by the bot", tt.args)
		})
	}
}

func TestADaemonSetHasNoReplicas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Workload.Kind = "DaemonSet"
	b.grant(kubetest.Bot, incident.ModeApprove)
	o := deployment(1, nil, served())
	o["kind"] = "DaemonSet"
	delete(o["spec"].(map[string]any), "replicas")
	b.create(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, o)
	b.refusedFor(addOne, "runs one pod on each of its nodes", "Add a node that", "or run vLLM in a Deployment")
}

// What a Deployment of Bento says of its arguments leads to where they are kept: its operator reverts the rest.
func TestAHintDoesNotLeadToWhatAnOperatorReverts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tokens().Default = 8192
	o := with(deployment(0, nil, ungiven()), map[string]any{"env": []any{
		map[string]any{"name": "MAX_NUM_BATCHED_TOKENS", "value": "4096"},
	}})
	ownedBy([]any{map[string]any{
		"apiVersion": "serving.yatai.ai/v2alpha1", "kind": "BentoDeployment", "name": "llama", "uid": "0b1f",
		"controller": true,
	}})(o)
	b.create(deployments, o)
	_, err := b.bot.Propose(t.Context(), b.pool, halve)
	if want := "It belongs to BentoDeployment llama: change the arguments there."; outcome(err) != "refused" ||
		hintOf(err) != want {
		t.Errorf("%v, hint %q, want %q", err, hintOf(err), want)
	}
}
