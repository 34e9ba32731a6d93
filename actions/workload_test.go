package actions

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func object(kind string, generation int64, spec, status map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": kind, "spec": spec, "status": status}}
	o.SetName("x")
	o.SetGeneration(generation)
	return o
}

func TestFollowsKeepsKubectlsRules(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	three := m{"replicas": int64(3)}
	scale := &unstructured.Unstructured{Object: m{"status": m{"replicas": int64(2)}}}
	deadline := m{"observedGeneration": int64(2), "conditions": []any{m{"type": "Available", "status": "True"}, m{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out"}}}
	for _, tt := range []struct {
		name  string
		o     *unstructured.Unstructured
		scale *unstructured.Unstructured
		state incident.RolloutState
		note  string
	}{
		{"not seen yet", object("Deployment", 2, three, m{"observedGeneration": int64(1), "updatedReplicas": int64(3), "replicas": int64(3), "availableReplicas": int64(3)}), nil, "running", "has not seen the change"},
		{"never seen", object("Deployment", 1, three, m{}), nil, "running", "has not seen the change"},
		{"deadline of before", object("Deployment", 3, three, deadline), nil, "running", "has not seen the change"},
		{"deadline", object("Deployment", 2, three, deadline), nil, "failed", "has timed out"},
		{"new version", object("Deployment", 2, three, m{"observedGeneration": int64(2), "updatedReplicas": int64(1), "replicas": int64(3)}), nil, "running", "1 of 3 replicas are of the new version"},
		{"old ones left", object("Deployment", 2, three, m{"observedGeneration": int64(2), "updatedReplicas": int64(3), "replicas": int64(5), "availableReplicas": int64(3)}), nil, "running", "2 old replicas have to end"},
		{"scaled in, too many are left", object("Deployment", 2, three, m{"observedGeneration": int64(2), "updatedReplicas": int64(4), "replicas": int64(4), "availableReplicas": int64(4)}), nil, "running", "1 replica has to end"},
		{"not available", object("Deployment", 2, three, m{"observedGeneration": int64(2), "updatedReplicas": int64(3), "replicas": int64(3), "availableReplicas": int64(2)}), nil, "running", "2 of 3 replicas are available"},
		{"done", object("Deployment", 2, three, m{"observedGeneration": int64(3), "updatedReplicas": int64(3), "replicas": int64(3), "availableReplicas": int64(3)}), nil, "done", "3 of 3"},
		{"set not seen", object("StatefulSet", 1, three, m{"readyReplicas": int64(3)}), nil, "running", "has not seen the change"},
		{"set not ready", object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(2)}), nil, "running", "2 of 3 replicas are ready"},
		{"set has too many", object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(4), "replicas": int64(4)}), nil, "running", "1 replica has to end"},
		{"set of two versions", object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(3), "replicas": int64(3), "updateRevision": "b", "currentRevision": "a", "updatedReplicas": int64(1)}), nil, "running", "1 of 3 replicas are of the new version"},
		{"set done", object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(3), "replicas": int64(3), "updateRevision": "b", "currentRevision": "b"}), nil, "done", "3 of 3"},
		{"set with a partition", object("StatefulSet", 1, m{"updateStrategy": m{"rollingUpdate": m{"partition": int64(1)}}}, m{"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a", "updatedReplicas": int64(1)}), nil, "running", "1 of 2 replicas are of the new version"},
		{"set with a partition, done", object("StatefulSet", 1, m{"updateStrategy": m{"rollingUpdate": m{"partition": int64(1)}}}, m{"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a", "updatedReplicas": int64(2)}), nil, "done", "3 of 3"},
		{"set on delete", object("StatefulSet", 1, m{"updateStrategy": m{"type": "OnDelete"}}, m{"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a"}), nil, "done", "3 of 3"},
		{"groups not seen", object("LeaderWorkerSet", 2, three, m{"observedGeneration": int64(1), "readyReplicas": int64(3)}), nil, "running", "has not seen the change"},
		{"groups not ready", object("LeaderWorkerSet", 2, three, m{"readyReplicas": int64(1)}), nil, "running", "1 of 3 replicas are ready"},
		{"groups ready", object("LeaderWorkerSet", 2, three, m{"readyReplicas": int64(3)}), nil, "done", "3 of 3"},
		{"too many groups", object("LeaderWorkerSet", 2, three, m{"readyReplicas": int64(5)}), nil, "running", "2 replicas have to end"},
		{"too many on the scale", object("Thing", 2, three, m{}), &unstructured.Unstructured{Object: m{"status": m{"replicas": int64(4)}}}, "running", "1 replica has to end"},
		{"available counts too", object("Thing", 2, three, m{"availableReplicas": int64(3)}), nil, "done", "3 of 3"},
		{"only the scale knows", object("Thing", 2, three, m{}), scale, "running", "2 of 3 replicas exist"},
		{"nobody knows", object("Thing", 2, three, m{}), nil, "running", "does not say"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := follows(tt.o, 3, tt.scale)
			if got.State != tt.state || !strings.Contains(got.Note, tt.note) {
				t.Errorf("%+v, want %s, %q", got, tt.state, tt.note)
			}
			if settled(tt.o) && tt.state != incident.RolloutDone {
				t.Error("it counts as settled")
			}
		})
	}
	gone := object("Deployment", 1, three, m{})
	now := time.Now()
	gone.Object["metadata"].(map[string]any)["deletionTimestamp"] = now.UTC().Format(time.RFC3339)
	if got := follows(gone, 3, nil); got.State != incident.RolloutFailed {
		t.Errorf("a workload that is being deleted: %+v", got)
	}
	asleep := object("Deployment", 1, m{"replicas": int64(0)}, m{"observedGeneration": int64(1)})
	if settled(asleep) {
		t.Error("a workload without pods proves something")
	}
}
