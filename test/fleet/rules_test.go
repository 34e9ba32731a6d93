package fleet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func ruleFiles() []string {
	return []string{"vllm-alerts.yaml", "vllm-alerts-v0.yaml", "vllm-alerts-underscore.yaml"}
}

func TestEveryRuleFileHasTheAlertsWithTheirSeverities(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"vLLMHighTTFT": "critical", "vLLMQueueBacklog": "warning", "vLLMRequestSwapping": "critical",
		"vLLMGPUCacheFull":  "warning",
		"vLLMHighAbortRate": "critical", "vLLMHighTPOT": "warning",
	}
	for _, file := range ruleFiles() {
		got := map[string]string{}
		for _, r := range readRules(t, file) {
			if r.Alert != "" {
				got[r.Alert] = r.Labels["severity"]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestEveryAlertLeadsToTheRunbookOfAPlaybookThatAnswersIt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../playbooks/catalog/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("playbooks: %v, %v", files, err)
	}
	docs := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var playbook struct {
			Alerts []string `yaml:"alerts"`
			Doc    string   `yaml:"doc"`
		}
		if err := yaml.Unmarshal(content, &playbook); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, alert := range playbook.Alerts {
			docs[alert] = "https://github.com/vllm-medic/vllm-medic/blob/main/" + playbook.Doc
		}
	}
	for _, file := range ruleFiles() {
		for _, r := range readRules(t, file) {
			if r.Alert != "" && (docs[r.Alert] == "" || r.Annotations["runbook_url"] != docs[r.Alert]) {
				t.Errorf("%s: %s leads to %q, the playbook says %q", file, r.Alert, r.Annotations["runbook_url"], docs[r.Alert])
			}
		}
	}
}
