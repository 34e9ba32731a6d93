package cluster

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func object(kind string, generation int64, spec, status map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "apps/v1", "kind": kind, "spec": spec, "status": status},
	}
	o.SetName("x")
	o.SetGeneration(generation)
	return o
}

func TestFollowsKeepsKubectlsRules(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	three := m{"replicas": int64(3)}
	scale := &unstructured.Unstructured{Object: m{"status": m{"replicas": int64(2)}}}
	three3 := &unstructured.Unstructured{Object: m{"status": m{"replicas": int64(3)}}}
	other := func(kind string, status m) *unstructured.Unstructured {
		o := object(kind, 2, three, status)
		o.SetAPIVersion("example.org/v1")
		return o
	}
	deadline := m{
		"observedGeneration": int64(2),
		"conditions": []any{
			m{"type": "Available", "status": "True"},
			m{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out"},
		},
	}
	for _, tt := range []struct {
		name  string
		o     *unstructured.Unstructured
		scale *unstructured.Unstructured
		pods  PodCount
		state incident.RolloutState
		note  string
	}{
		{
			"not seen yet",
			object("Deployment", 2, three,
				m{
					"observedGeneration": int64(1), "updatedReplicas": int64(3), "replicas": int64(3),
					"availableReplicas": int64(3),
				}), nil,
			PodCount{},
			"running", "has not seen the change",
		},
		{"never seen", object("Deployment", 1, three, m{}), nil, PodCount{}, "running", "has not seen the change"},
		{
			"deadline of before", object("Deployment", 3, three, deadline), nil,
			PodCount{},
			"running",
			"has not seen the change",
		},
		{"deadline", object("Deployment", 2, three, deadline), nil, PodCount{}, "failed", "has timed out"},
		{
			"new version",
			object("Deployment", 2, three, m{"observedGeneration": int64(2), "updatedReplicas": int64(1), "replicas": int64(3)}),
			nil,
			PodCount{},
			"running", "1 of 3 replicas are of the new version",
		},
		{
			"old ones left",
			object("Deployment", 2, three,
				m{
					"observedGeneration": int64(2), "updatedReplicas": int64(3), "replicas": int64(5),
					"availableReplicas": int64(3),
				}), nil,
			PodCount{},
			"running", "2 old replicas have to end",
		},
		{
			"scaled in, too many are left",
			object("Deployment", 2, three,
				m{
					"observedGeneration": int64(2), "updatedReplicas": int64(4), "replicas": int64(4),
					"availableReplicas": int64(4),
				}), nil,
			PodCount{},
			"running", "1 replica has to end",
		},
		{
			"not available",
			object("Deployment", 2, three,
				m{
					"observedGeneration": int64(2), "updatedReplicas": int64(3), "replicas": int64(3),
					"availableReplicas": int64(2),
				}), nil,
			PodCount{},
			"running", "2 of 3 replicas are available",
		},
		{
			"done", object("Deployment", 2, three,
				m{
					"observedGeneration": int64(3), "updatedReplicas": int64(3), "replicas": int64(3),
					"availableReplicas": int64(3),
				}),
			nil,
			PodCount{},
			"done", "3 of 3",
		},
		{
			"set not seen", object("StatefulSet", 1, three, m{"readyReplicas": int64(3)}), nil,
			PodCount{},
			"running",
			"has not seen the change",
		},
		{
			"set not ready", object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(2)}), nil,
			PodCount{},
			"running", "2 of 3 replicas are ready",
		},
		{
			"set has too many",
			object("StatefulSet", 1, three, m{"observedGeneration": int64(1), "readyReplicas": int64(4), "replicas": int64(4)}),
			nil,
			PodCount{},
			"running", "1 replica has to end",
		},
		{
			"set of two versions",
			object("StatefulSet", 1, three,
				m{
					"observedGeneration": int64(1), "readyReplicas": int64(3), "replicas": int64(3), "updateRevision": "b",
					"currentRevision": "a", "updatedReplicas": int64(1),
				}), nil,
			PodCount{},
			"running",
			"1 of 3 replicas are of the new version",
		},
		{"set done", object("StatefulSet", 1, three,
			m{
				"observedGeneration": int64(1), "readyReplicas": int64(3), "replicas": int64(3), "updateRevision": "b",
				"currentRevision": "b",
			}), nil, PodCount{}, "done", "3 of 3"},
		{
			"set with a partition",
			object("StatefulSet", 1, m{"updateStrategy": m{"rollingUpdate": m{"partition": int64(1)}}},
				m{
					"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a",
					"updatedReplicas": int64(1),
				}), nil,
			PodCount{},
			"running", "1 of 2 replicas are of the new version",
		},
		{
			"set with a partition, done",
			object("StatefulSet", 1, m{"updateStrategy": m{"rollingUpdate": m{"partition": int64(1)}}},
				m{
					"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a",
					"updatedReplicas": int64(2),
				}), nil,
			PodCount{},
			"done", "3 of 3",
		},
		{
			"set on delete",
			object("StatefulSet", 1, m{"updateStrategy": m{"type": "OnDelete"}},
				m{"observedGeneration": int64(1), "readyReplicas": int64(3), "updateRevision": "b", "currentRevision": "a"}), nil,
			PodCount{},
			"done", "3 of 3",
		},
		{
			"groups not seen", other("LeaderWorkerSet", m{"observedGeneration": int64(1), "readyReplicas": int64(3)}), nil,
			PodCount{},
			"running", "has not seen the change",
		},
		{
			"groups not ready", other("LeaderWorkerSet", m{"readyReplicas": int64(1)}), nil,
			PodCount{},
			"running",
			"1 of 3 replicas are ready",
		},
		{"groups ready", other("LeaderWorkerSet", m{"readyReplicas": int64(3)}), nil, PodCount{}, "done", "3 of 3"},
		{
			"too many groups", other("LeaderWorkerSet", m{"readyReplicas": int64(5)}), nil,
			PodCount{},
			"running",
			"2 replicas have to end",
		},
		{
			"too many on the scale", other("Thing", m{}),
			&unstructured.Unstructured{Object: m{"status": m{"replicas": int64(4)}}},
			PodCount{},
			"running",
			"1 replica has to end",
		},
		{"available counts too", other("Thing", m{"availableReplicas": int64(3)}), nil, PodCount{}, "done", "3 of 3"},
		{"only the scale knows", other("Thing", m{}), scale, PodCount{}, "running", "2 of 3 replicas exist"},
		{"no pod was counted", other("Thing", m{}), three3, PodCount{}, "done", "does not say how many of them are ready"},
		{"counted pods", other("Thing", m{}), three3, PodCount{Known: true, Ready: 2, Unready: 1}, "running", "2 of 3 pods"},
		{
			"a group lacks a pod", other("Thing", m{}), three3,
			PodCount{Known: true, Ready: 5, Unready: 1},
			"running",
			"5 of 6 pods",
		},
		{"all are ready", other("Thing", m{}), three3, PodCount{Known: true, Ready: 3}, "done", "3 of 3 pods"},
		{
			"an absent count is not zero", other("LeaderWorkerSet", m{}), three3,
			PodCount{Known: true},
			"running",
			"0 of 3 pods",
		},
		{
			"KubeAI's count", other("Model", m{"replicas": m{"all": int64(3), "ready": int64(1)}}), three3,
			PodCount{},
			"running", "1 of 3 replicas",
		},
		{"nobody knows", other("Thing", m{}), nil, PodCount{}, "running", "does not say"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Followed(tt.o, 3, tt.scale, tt.pods)
			if got.State != tt.state || !strings.Contains(got.Note, tt.note) {
				t.Errorf("%+v, want %s, %q", got, tt.state, tt.note)
			}
			if Settled(tt.o) && tt.state != incident.RolloutDone {
				t.Error("it counts as settled")
			}
		})
	}
	gone := object("Deployment", 1, three, m{})
	now := time.Now()
	gone.Object["metadata"].(map[string]any)["deletionTimestamp"] = now.UTC().Format(time.RFC3339)
	if got := Followed(gone, 3, nil, PodCount{}); got.State != incident.RolloutFailed {
		t.Errorf("a workload that is being deleted: %+v", got)
	}
	asleep := object("Deployment", 1, m{"replicas": int64(0)}, m{"observedGeneration": int64(1)})
	if Settled(asleep) {
		t.Error("a workload without pods proves something")
	}
}
