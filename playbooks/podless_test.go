package playbooks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// A step whose own rule asks about the pods is proposed where nobody can tell which pods there are, as it is without
// Kubernetes: only working it out finds the field of the operator that has to be changed instead.
func TestAKindWithoutASelectorKeepsItsSteps(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	const (
		podless   = "InferenceService kserve/llama has no selector, so its pods were not looked at"
		forbidden = "the right to list pods in namespace kserve is missing: grant it to the bot"
	)
	diagnosed := func(tr trouble, cluster incident.Cluster) playbooks.Result {
		ev := tr.evidence(nil)
		ev.Cluster = cluster
		return c.Diagnose(playbooks.Input{Pool: chat(), Evidence: ev})
	}
	lost := 0
	for _, tr := range troubles() {
		without := diagnosed(tr, incident.Cluster{NotConfigured: true, Error: "no Kubernetes is configured"})
		got := diagnosed(tr, incident.Cluster{Podless: podless})
		if diff := cmp.Diff(kinds(without.Steps), kinds(got.Steps)); diff != "" || nameOf(without.Diagnosis) !=
			nameOf(got.Diagnosis) {
			t.Errorf("%s: %s%s", tr.diagnosis, nameOf(got.Diagnosis), diff)
		}
		unread := diagnosed(tr, incident.Cluster{Error: forbidden})
		if len(unread.Steps) < len(got.Steps) {
			lost++
		}
		if unread.Diagnosis == nil {
			continue
		}
		for _, why := range unread.Diagnosis.Skipped {
			if strings.Count(why, forbidden) > 1 {
				t.Errorf("%s: said more than once: %s", tr.diagnosis, why)
			}
		}
	}
	if lost == 0 {
		t.Error("no step waits for pods that could not be read, so nothing was tested")
	}
}
