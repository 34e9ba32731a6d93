package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/helm"
)

// What Helm prints names what is left to do, and nothing that isn't.
func TestTheNotesSayWhatIsLeftToDo(t *testing.T) {
	t.Parallel()
	const (
		apart     = "alertmanagerConfigMatcherStrategy: {type: None}"
		unwatched = "VllmMedicDown fires"
		pool      = "{name: a, match: {a: b}, matchers: {a: b}, workload: {apiVersion: apps/v1, kind: Deployment, " +
			"namespace: MODELS, name: a}}"
		routed = "monitoring: {rules: {enabled: true}, serviceMonitor: {enabled: true}, alertmanagerConfig: {enabled: true}}"
	)
	for name, tt := range map[string]struct {
		values    string
		has, lack []string
	}{
		"next to the models": {
			"config: {pools: [" + strings.ReplaceAll(pool, "MODELS", "medic") + "]}\n" + routed,
			[]string{"the alerts of namespace medic."},
			[]string{apart, unwatched},
		},
		"apart from the models": {
			"config: {pools: [" + strings.ReplaceAll(pool, "MODELS", "llm") + "]}\n" + routed,
			[]string{"the alerts of namespace medic.", "such as llm,", apart},
			[]string{unwatched},
		},
		"routes in the models' namespaces": {
			"config: {pools: [" + strings.ReplaceAll(pool, "MODELS", "llm") + "]}\n" +
				"monitoring: {alertmanagerConfig: {enabled: true, namespaces: [llm, rag]}}",
			[]string{"the alerts of namespace llm, rag."},
			[]string{apart, unwatched},
		},
		"without pools": {routed, []string{apart, "There are no pools yet"}, []string{"such as", unwatched}},
		"alerts on a bot that nothing scrapes": {
			"monitoring: {rules: {enabled: true}}",
			[]string{unwatched, "Set monitoring.alertmanagerConfig.enabled"},
			[]string{apart},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := notes(t, tt.values)
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("the notes don't say %q:\n%s", want, got)
				}
			}
			for _, not := range tt.lack {
				if strings.Contains(got, not) {
					t.Errorf("the notes say %q:\n%s", not, got)
				}
			}
		})
	}
}

// notes is what Helm prints after an installation with these values, into namespace medic.
func notes(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, []byte(values), 0o600))
	out, errs, err := helm.Run(t, "install", "vllm-medic", folder, "--dry-run=client", "--namespace", "medic",
		"--values", file)
	if err != nil {
		t.Fatalf("helm: %v\n%s", err, errs)
	}
	_, out, found := strings.Cut(out, "\nNOTES:\n")
	if !found {
		t.Fatalf("helm prints no notes:\n%s", out)
	}
	return out
}
