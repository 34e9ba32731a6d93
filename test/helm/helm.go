// Package helm runs Helm, and renders the chart of this repository with it.
package helm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/tools"
)

// Run runs Helm without anything of the user's: no cluster but one that the arguments name, and no settings.
func Run(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tools.Binary(t, "helm"), args...) //nolint:gosec // a tool of ours
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "none"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// Render renders the chart in a folder as release vllm-medic. The test fails when Helm has anything to say.
func Render(t *testing.T, chart, namespace, values string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, err := Run(t, "template", "vllm-medic", chart, "--namespace", namespace, "--values", file)
	if err != nil || errs != "" {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	return []byte(out)
}
