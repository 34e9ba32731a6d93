package actions_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestFluxIsAskedAboutTheRealPathOfTheReplicas(t *testing.T) {
	t.Parallel()
	given := map[string]any{"replicas": int64(2), "image": "vllm"}
	t.Run("the definition says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, given)
		b.readsDefinitions()
		b.refusedFor(addOne, "Flux Kustomization apps sets this field")
	})
	t.Run("nobody says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, given)
		b.refusedFor(addOne, "not known", "get customresourcedefinitions.apiextensions.k8s.io",
			"vllmruntimes.production-stack.vllm.ai")
	})
	t.Run("an earlier scale says it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		fluxed(b, map[string]any{"image": "vllm"})
		b.patch(runtimes, `{"spec":{"deploymentConfig":{"replicas":2}}}`)
		b.patch(runtimes, `{"spec":{"replicas":3}}`, "scale")
		s := b.propose(addOne)
		if !hasGuard(s, "ownership", incident.GuardPass, "has not set this field") {
			t.Errorf("%+v", s.Guardrails)
		}
		b.do(s, incident.OpApply)
	})
}

func TestWhoHasSetBackTheReplicasOfAnyKindIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime",
		map[string]any{"deploymentConfig": map[string]any{"replicas": int64(2)}})
	b.readsDefinitions()
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	b.patchAs("argocd-controller", runtimes, `{"spec":{"deploymentConfig":{"replicas":2}}}`)
	r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply)
	if err != nil || r.State != incident.RolloutFailed || !strings.Contains(r.Note, "It was set by argocd-controller") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReplicasThatAreNotSetAreNotScaled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.VLLMRuntimes, runtimes, "VLLMRuntime",
		map[string]any{"deploymentConfig": map[string]any{"image": "vllm"}})
	b.readsDefinitions()
	b.refusedFor(addOne, "spec.deploymentConfig.replicas", "not set")
}
