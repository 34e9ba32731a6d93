package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// countsReadiness reads custom kinds that say less about their readiness than a Deployment does.
func (c *cluster) countsReadiness(t *testing.T, start, now time.Time) {
	two := map[string]any{"replicas": int64(2)}
	leader := func(name string, ready bool) {
		status := readyPod(start, "10.1.1.1")
		if !ready {
			status.Conditions = nil
		}
		c.pod(t, "llm", name, "group", status)
	}
	leader("group-0", true)
	leader("group-1", false)
	one, zero := int64(1), int64(0)
	for _, tt := range []struct {
		kind, version, plural string
		status                map[string]any
		ready                 *int64
	}{
		{
			"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
			map[string]any{"replicas": int64(2), "hpaPodSelector": "app=group"},
			&one,
		},
		{
			"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
			map[string]any{"replicas": int64(2), "readyReplicas": int64(1), "hpaPodSelector": "app=nobody"},
			&one,
		},
		{
			"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
			map[string]any{"replicas": int64(2), "hpaPodSelector": "app=nobody"},
			&zero,
		},
		{
			"DisaggregatedSetRoleScaler", "disaggregatedset.x-k8s.io/v1", "disaggregatedsetrolescalers",
			map[string]any{"replicas": int64(2), "selector": "app=group"},
			&one,
		},
		{
			"DisaggregatedSetRoleScaler", "disaggregatedset.x-k8s.io/v1", "disaggregatedsetrolescalers",
			map[string]any{"replicas": int64(2)},
			nil,
		},
		{
			"Model", "kubeai.org/v1", "models",
			map[string]any{"replicas": map[string]any{"all": int64(2), "ready": int64(1)}},
			&one,
		},
		{"Model", "kubeai.org/v1", "models", nil, nil},
	} {
		name := fmt.Sprintf("ready-%d", time.Now().UnixNano())
		c.custom(t, tt.version, tt.kind, tt.plural, name, two, tt.status)
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{APIVersion: tt.version, Kind: tt.kind, Namespace: "llm", Name: name},
			now, nil,
		)
		if wanted := map[string]string{"Model": "Model llm/" + name}[tt.kind]; got.Autoscaler != wanted {
			t.Errorf("%s: scaled by %q", tt.kind, got.Autoscaler)
		}
		if !cmp.Equal(got.ReadyReplicas, tt.ready) || got.Replicas == nil || *got.Replicas != 2 {
			t.Errorf("%s with %v: %+v", tt.kind, tt.status, got)
		}
	}
	got := c.bot.Cluster(
		t.Context(),
		incident.WorkloadRef{
			APIVersion: "production-stack.vllm.ai/v1alpha1",
			Kind:       "VLLMRuntime",
			Namespace:  "llm",
			Name:       "stack",
		},
		now, nil,
	)
	if got.ReadyReplicas == nil || *got.ReadyReplicas != 1 {
		t.Errorf("VLLMRuntime: %+v", got)
	}
}

// assumesOneReplica reads custom kinds that do not set their number of replicas.
func (c *cluster) assumesOneReplica(t *testing.T, now time.Time) {
	c.custom(
		t,
		"production-stack.vllm.ai/v1alpha1",
		"VLLMRuntime",
		"vllmruntimes",
		"unset",
		map[string]any{"deploymentConfig": map[string]any{}},
		map[string]any{"replicas": int64(1)},
	)
	got := c.bot.Cluster(
		t.Context(),
		incident.WorkloadRef{
			APIVersion: "production-stack.vllm.ai/v1alpha1",
			Kind:       "VLLMRuntime",
			Namespace:  "llm",
			Name:       "unset",
		},
		now, nil,
	)
	if got.Error != "VLLMRuntime llm/unset does not set its number of replicas, which means 1, and its pods cannot be "+
		"found until it does" ||
		got.Replicas == nil ||
		*got.Replicas != 1 {
		t.Errorf("%+v", got)
	}
	// One that names its pods itself needs no scale.
	c.custom(
		t,
		"production-stack.vllm.ai/v1alpha1",
		"VLLMRuntime",
		"vllmruntimes",
		"named",
		map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "stacked"}}},
		nil,
	)
	got = c.bot.Cluster(
		t.Context(),
		incident.WorkloadRef{
			APIVersion: "production-stack.vllm.ai/v1alpha1",
			Kind:       "VLLMRuntime",
			Namespace:  "llm",
			Name:       "named",
		},
		now, nil,
	)
	if got.Error != "" || got.Replicas == nil || *got.Replicas != 1 || len(got.Pods) != 1 {
		t.Errorf("%+v", got)
	}
}

// hasNoSelector reads objects of operators that do not tell which pods are their own.
func (c *cluster) hasNoSelector(t *testing.T, now time.Time) {
	for _, ref := range []struct {
		version, kind, plural string
		crd                   kubetest.CRD
	}{
		{"serving.kserve.io/v1beta1", "InferenceService", "inferenceservices", kubetest.InferenceServices},
		{"serving.kserve.io/v1alpha1", "LLMInferenceService", "llminferenceservices", kubetest.LLMInferenceServices},
		{"ray.io/v1", "RayService", "rayservices", kubetest.RayServices},
		{"ray.io/v1", "RayCluster", "rayclusters", kubetest.RayClusters},
		{"apps.nvidia.com/v1alpha1", "NIMService", "nimservices", kubetest.NIMServices},
	} {
		c.kube.InstallCRD(t, ref.crd)
		bot, err := New(c.kube.ConfigFor(kubetest.Bot)) // one that has read the kinds already looks again in a minute
		must(t, err)
		c.custom(t, ref.version, ref.kind, ref.plural, "llama", map[string]any{"replicas": int64(2)}, nil)
		got := bot.Cluster(t.Context(), incident.WorkloadRef{
			APIVersion: ref.version, Kind: ref.kind, Namespace: "llm", Name: "llama",
		}, now, nil)
		want := ref.kind + " llm/llama has no selector, so its pods were not looked at"
		if u, _ := got.NotRead(incident.PartCrashes); got.Error != "" || got.Podless != want || u.Why != want ||
			got.Replicas == nil || *got.Replicas != 2 {
			t.Errorf("%s: %+v", ref.kind, got)
		}
	}
}
