package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRolloutRunning(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	progressing := func(reason string) []any {
		return []any{m{"type": "Available"}, m{"type": "Progressing", "reason": reason}}
	}
	for _, tt := range []struct {
		name, kind   string
		spec, status m
		generation   int64
		want         bool
	}{
		{
			"finished", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2),
				"conditions": progressing("NewReplicaSetAvailable"),
			},
			3, false,
		},
		{
			"not seen by the controller yet", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(2), "replicas": int64(2), "updatedReplicas": int64(2),
				"conditions": progressing("NewReplicaSetAvailable"),
			},
			3, true,
		},
		{
			"never seen by the controller", "Deployment",
			m{"replicas": int64(2)},
			m{
				"replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2),
				"conditions": progressing("NewReplicaSetAvailable"),
			},
			1, true,
		},
		{"a StatefulSet never seen", "StatefulSet", m{"replicas": int64(2)}, m{}, 1, true},
		{
			"a pod crashes after a finished rollout", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1),
				"conditions": progressing("NewReplicaSetAvailable"),
			},
			3, false,
		},
		{
			"new pods are missing", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(1),
				"conditions": progressing("ReplicaSetUpdated"),
			},
			3, true,
		},
		{
			"old pods are left", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(3), "updatedReplicas": int64(2), "availableReplicas": int64(3),
				"conditions": progressing("ReplicaSetUpdated"),
			},
			3, true,
		},
		{
			"new pods are not available", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1),
				"conditions": progressing("ReplicaSetUpdated"),
			},
			3, true,
		},
		{
			"its deadline has passed", "Deployment",
			m{"replicas": int64(2)},
			m{
				"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1),
				"conditions": progressing("ProgressDeadlineExceeded"),
			},
			3, true,
		},
		{
			"no progress condition, not available", "Deployment",
			m{"replicas": int64(2)},
			m{"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1)},
			3, true,
		},
		{
			"no progress condition, available", "Deployment",
			m{"replicas": int64(2)},
			m{"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)},
			3, false,
		},
		{
			"scaled to zero", "Deployment",
			m{"replicas": int64(0)},
			m{"observedGeneration": int64(3), "conditions": progressing("NewReplicaSetAvailable")},
			3, false,
		},
		{
			"a StatefulSet at its revision", "StatefulSet",
			m{"replicas": int64(2)},
			m{"observedGeneration": int64(1), "currentRevision": "a", "updateRevision": "a"},
			1, false,
		},
		{
			"a StatefulSet between revisions", "StatefulSet",
			m{"replicas": int64(2)},
			m{"observedGeneration": int64(1), "currentRevision": "a", "updateRevision": "b"},
			1, true,
		},
		{
			"a LeaderWorkerSet with old groups", "LeaderWorkerSet",
			m{"replicas": int64(2)},
			m{"updatedReplicas": int64(1)},
			1,
			true,
		},
		{"a LeaderWorkerSet without", "LeaderWorkerSet", m{"replicas": int64(2)}, m{"updatedReplicas": int64(2)}, 1, false},
		{"a kind that says nothing", "VLLMRuntime", m{}, m{}, 4, false},
		{"a kind that is behind", "VLLMRuntime", m{}, m{"observedGeneration": int64(3)}, 4, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			version := "apps/v1"
			if tt.kind != "Deployment" && tt.kind != "StatefulSet" {
				version = "example.com/v1"
			}
			obj := &unstructured.Unstructured{
				Object: m{"apiVersion": version, "kind": tt.kind, "spec": tt.spec, "status": tt.status},
			}
			obj.SetGeneration(tt.generation)
			if got := rolloutRunning(obj, Number(obj, "spec", "replicas")); got != tt.want {
				t.Errorf("rolloutRunning = %v", got)
			}
		})
	}
}
