package actions_test

import (
	"log/slog"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func ofKthena(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "workload.serving.volcano.sh", Version: "v1alpha1", Resource: resource}
}

// serving makes a ModelServing of two groups, with prefill and decode pods in each, the pool's workload.
func (b *bench) serving() {
	b.t.Helper()
	b.c.InstallCRD(b.t, kubetest.ModelServings, kubetest.AutoscalingPolicies, kubetest.AutoscalingPolicyBindings)
	b.custom(kubetest.ModelServings, ofKthena("modelservings"), "ModelServing", map[string]any{"replicas": int64(2)})
	b.patch(ofKthena("modelservings"), `{"status":{"replicas":2,"labelSelector":"app=`+model+`"}}`, "status")
}

func TestAnAutoscalerOfKthenaIsNotScaledAgainst(t *testing.T) {
	t.Parallel()
	target := func(kind string) map[string]any {
		return map[string]any{"targetRef": map[string]any{"kind": kind, "name": model}}
	}
	bounds := func(of map[string]any) map[string]any {
		of["minReplicas"], of["maxReplicas"] = int64(1), int64(6)
		return of
	}
	other := map[string]any{"targetRef": map[string]any{"kind": "ModelServing", "name": "other"}}
	homogeneous := map[string]any{"homogeneousTarget": bounds(map[string]any{"target": target("ModelServing")})}
	const elsewhere = "would revert the change: change "
	for _, tt := range []struct {
		name, kind string
		spec       map[string]any
		want       string // of the refusal; empty: none
	}{
		{"one target", "AutoscalingPolicy", homogeneous, elsewhere + "spec.homogeneousTarget.minReplicas there"},
		{
			"one target of a binding", "AutoscalingPolicyBinding", homogeneous,
			"AutoscalingPolicyBinding scaler sets the replicas of ModelServing",
		},
		{"no kind", "AutoscalingPolicy", map[string]any{"homogeneousTarget": bounds(map[string]any{
			"target": map[string]any{"targetRef": map[string]any{"name": model}},
		})}, elsewhere + "spec.homogeneousTarget.minReplicas there"},
		{"several targets", "AutoscalingPolicy", map[string]any{"heterogeneousTarget": map[string]any{"params": []any{
			bounds(map[string]any{"target": other}), bounds(map[string]any{"target": target("ModelServing")}),
		}}}, elsewhere + "spec.heterogeneousTarget.params[1].minReplicas there"},
		{
			"its roles", "AutoscalingPolicy",
			map[string]any{"disaggregatedTarget": target("ModelServing")},
			elsewhere + "minReplicas of the roles in spec.disaggregatedTarget.roles there",
		},
		{
			"another ModelServing", "AutoscalingPolicy",
			map[string]any{"homogeneousTarget": bounds(map[string]any{"target": other})},
			"",
		},
		{
			"another kind", "AutoscalingPolicy",
			map[string]any{"homogeneousTarget": bounds(map[string]any{"target": target("Deployment")})},
			"",
		},
		{"metrics alone", "AutoscalingPolicy", map[string]any{"metrics": []any{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serving()
			o := object(ofKthena("").GroupVersion().String(), tt.kind, tt.spec)
			o["metadata"].(map[string]any)["name"] = "scaler"
			b.create(ofKthena(map[string]string{
				"AutoscalingPolicy": "autoscalingpolicies", "AutoscalingPolicyBinding": "autoscalingpolicybindings",
			}[tt.kind]), o)
			if tt.want != "" {
				b.refusedFor(addOne, tt.want)
				return
			}
			b.do(b.propose(addOne), incident.OpApply)
		})
	}
	t.Run("without the right to look for it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.serving()
		b.c.Grant(t, "blind", b.ns, rbacv1.PolicyRule{
			APIGroups: []string{ofKthena("").Group, "keda.sh", "autoscaling", "autoscaling.aibrix.ai"},
			Resources: []string{
				"modelservings", "modelservings/scale", "scaledobjects", "horizontalpodautoscalers", "podautoscalers",
			},
			Verbs: []string{"get", "list", "patch"},
		})
		blind, err := actions.New(actions.Config{}, b.c.ConfigAs("blind"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		b.bot.Registry = blind
		b.refusedNow(addOne, "list autoscalingpolicies.workload.serving.volcano.sh in namespace "+b.ns)
	})
}

// Kthena's controller patches spec.replicas of the object itself, not its scale.
func TestAProgramThatPatchesTheReplicasIsACautionForGood(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serving()
	b.patchAs("kthena-controller-manager", ofKthena("modelservings"), `{"spec":{"replicas":3}}`)
	later, err := actions.New(actions.Config{Now: func() time.Time { return time.Now().Add(72 * time.Hour) }},
		b.c.ConfigFor(kubetest.Bot), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s, err := later.Propose(t.Context(), b.pool, addOne)
	if err != nil || !hasGuard(s, "other writers", incident.GuardCaution, "kthena-controller-manager, a program, set ") {
		t.Errorf("three days later: %+v, %v", s.Guardrails, err)
	}
	b.do(s, incident.OpApply)
	if s := b.propose(addOne); hasGuard(s, "other writers", incident.GuardCaution, "") {
		t.Errorf("after the bot's own write: %+v", s.Guardrails)
	}
}
