package actions_test

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestAModelThatKubeAIScalesHasItsMinimumRaised(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.Models, models, "Model", map[string]any{
		"replicas": int64(2), "minReplicas": int64(1),
		"maxReplicas": int64(3),
	})
	s := b.propose(addOne)
	if s.Target.Field != "spec.minReplicas" || s.From != incident.Set("1") || s.To != incident.Set("3") ||
		!strings.Contains(s.Cost, "maximum stays at 3") {
		t.Fatalf("%s from %s to %s, cost %q", s.Target, s.From, s.To, s.Cost)
	}
	b.do(s, incident.OpApply)
	spec := b.get(models).Object["spec"].(map[string]any)
	if spec["replicas"] != int64(2) || spec["minReplicas"] != int64(3) {
		t.Errorf("spec %v", spec)
	}
	// KubeAI follows within seconds; then its own maximum is the bound.
	b.patch(models, `{"spec":{"replicas":3}}`)
	b.refusedNow(addOne, "spec.maxReplicas of Model llama-70b")
	b.do(s, incident.OpUndo)
	checkObserved(t, b, s, incident.OpUndo, "w.undo", incident.Set("1"), true)
}

func TestAModelWithoutAMaximumIsBoundByThePool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Knobs.Replicas.Max = 3
	b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2)})
	s := b.propose(incident.StepRequest{Kind: incident.StepReplicas, Add: 4})
	if s.To != incident.Set("3") || s.From.Present || strings.Contains(s.Cost, "9007199254740992") {
		t.Errorf("from %s to %s, cost %q", s.From, s.To, s.Cost)
	}
}

func TestAModelThatKubeAIHasNotStartedIsLeftAsleep(t *testing.T) {
	t.Parallel()
	for _, spec := range []map[string]any{{"minReplicas": int64(0)}, {"minReplicas": int64(0), "replicas": int64(0)}} {
		b := newBench(t)
		b.custom(kubetest.Models, models, "Model", spec)
		b.refusedFor(addOne, "is scaled to zero intentionally")
	}
}

func TestAModelThatKubeAILeavesAloneIsScaled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.custom(kubetest.Models, models, "Model", map[string]any{"replicas": int64(2), "autoscalingDisabled": true})
	s := b.propose(addOne)
	if s.Target.Field != "spec.replicas (scale)" {
		t.Errorf("%s", s.Target)
	}
	b.do(s, incident.OpApply)
	for _, tt := range []struct {
		status string
		want   incident.RolloutState
	}{
		{`{"replicas":{"all":3,"ready":2}}`, incident.RolloutRunning}, {
			`{"replicas":{"all":3,"ready":3}}`,
			incident.RolloutDone,
		},
	} {
		b.patch(models, `{"status":`+tt.status+`}`, "status")
		if r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply); err != nil || r.State != tt.want {
			t.Errorf("%s: %+v, %v", tt.status, r, err)
		}
	}
}
