package playbooktest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// What `diagnose -o json` prints of a cluster can be pasted into a test, whichever version has printed it.
func TestTheClusterOfAnIncidentIsTakenAsItIsPrinted(t *testing.T) {
	t.Parallel()
	unread := []incident.Unread{{Part: incident.PartRollouts, Why: "list replicasets in llm is not allowed"}}
	printed, err := json.Marshal(incident.Cluster{Unread: unread})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"printed":          string(printed),
		"an older version": `unread: ["recent rollouts: list replicasets in llm is not allowed"]`,
		"facts alone":      `notRead: [{part: rollouts, why: list replicasets in llm is not allowed}]`,
	} {
		root, err := strictyaml.Parse("test.yaml", []byte(text), 1<<16)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := reader{problems: &problems{root: root}}
		got := r.cluster(root, time.Time{})
		if len(r.list) > 0 {
			t.Errorf("%s: %v", name, r.list)
		}
		if d := cmp.Diff(unread, got.Unread); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
