package playbooks

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestWhatTheBotDidIsNotUnusual(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 3, 11, 0, 0, time.UTC)
	ev := incident.Evidence{At: now, Cluster: incident.Cluster{Changes: []incident.RecentChange{
		{
			At: now.Add(-time.Minute), Kind: incident.ChangeScale, Object: "Deployment llama-70b",
			Text: "Scaled up replica set x from 2 to 3", Own: true,
		},
		{
			At: now.Add(-2 * time.Minute), Kind: incident.ChangeScale, Object: "Deployment llama-70b",
			Text: "Scaled down replica set x from 4 to 2",
		},
	}}}
	if got := recentChanges(ev); len(got) != 1 || !strings.Contains(got[0], "from 4 to 2") {
		t.Errorf("unusual: %q", got)
	}
}
