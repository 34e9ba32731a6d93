package playbooks_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func TestANoThatRestsOnWhatNobodyLookedAtIsNone(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	log := "the right to get pods/log in namespace llm is missing: grant it to the bot"
	crash := incident.Crash{Pod: "a", At: now.Add(-25 * time.Minute), Reason: "Error", ExitCode: 1}
	for name, tt := range map[string]struct {
		cluster incident.Cluster
		why     string
	}{
		"no Kubernetes": {incident.Cluster{
			NotConfigured: true,
			Error:         "no Kubernetes is configured, so the workload was not checked",
		}, "Kubernetes is not configured"},
		"no workload": {
			incident.Cluster{NotConfigured: true, NoWorkload: true, Error: "the pool has no workload"},
			"the pool has no workload",
		},
		"a kind without a selector": {
			incident.Cluster{Podless: "InferenceService kserve/llama has no selector, so its pods were not looked at"},
			"InferenceService kserve/llama has no selector, so its pods were not looked at",
		},
		"all looked at": {incident.Cluster{Crashes: []incident.Crash{crash}}, ""},
		"no log": {
			incident.Cluster{
				Crashes: []incident.Crash{crash},
				Unread:  []incident.Unread{{Part: incident.PartCrashLog, Why: log}},
			},
			"the log of a crashed container could not be read (" + log + ")",
		},
		"a log, not all": {incident.Cluster{Crashes: []incident.Crash{{
			Pod: "a", At: crash.At, ExitCode: 1,
			Log: []string{"x"},
		}}, Unread: []incident.Unread{{Part: incident.PartCrashLog, Why: log}}}, ""},
		"nothing to read": {incident.Cluster{Unread: []incident.Unread{{Part: incident.PartCrashLog, Why: log}}}, ""},
		"another is unread": {incident.Cluster{
			Crashes: []incident.Crash{crash},
			Unread:  []incident.Unread{{Part: incident.PartNodes, Why: log}},
		}, ""},
	} {
		in := playbooks.Input{
			Alerts:   alerts("vLLMEngineDown"),
			Evidence: incident.Evidence{At: now, Cluster: tt.cluster, Readings: map[string]incident.Reading{}},
		}
		got := c.Diagnose(in)
		o := verdictOf(t, got, "oom-at-batch-expansion")
		want := incident.False
		if tt.why != "" {
			want = incident.Undecided
		}
		if o.Verdict != want || o.NotEvaluated != tt.why {
			t.Errorf("%s: %+v", name, o)
		}
		if got.Diagnosis != nil {
			t.Errorf("%s: %s was chosen", name, got.Diagnosis.Name)
		}
	}
}
