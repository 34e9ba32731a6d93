package promtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolsVariable names the folder that scripts/tools.sh builds into.
const toolsVariable = "VLLM_MEDIC_TOOLS"

// Binary returns the path of a tool that the tests run: prometheus, promtool, alertmanager, amtool, etcd, kube-apiserver and the others that
// scripts/tools.sh builds. Where VLLM_MEDIC_TOOLS is not set it asks the script, which builds what is missing; the first time that takes minutes.
func Binary(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv(toolsVariable)
	if folder == "" {
		var err error
		if folder, err = buildTools(t); err != nil {
			t.Fatalf("build the tools that tests run: %v", err)
		}
	}
	path := filepath.Join(folder, "bin", name)
	if _, err := os.Stat(path); err != nil { //nolint:gosec // the test runner names the folder
		t.Fatalf("%s is not in %s: run scripts/tools.sh and then eval \"$(scripts/tools.sh --env)\": %v", name, folder, err)
	}
	return path
}

// buildTools is quick when everything is there. Tests of several packages may call it at one time: the script locks.
func buildTools(t testing.TB) (folder string, err error) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	script := filepath.Join(root, "scripts", "tools.sh")
	if out, err := exec.CommandContext(t.Context(), "bash", script).CombinedOutput(); err != nil { //nolint:gosec // our own script
		return "", fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	out, err := exec.CommandContext(t.Context(), "bash", script, "--print").Output() //nolint:gosec // our own script
	if err != nil {
		return "", fmt.Errorf("%s --print: %w", script, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// moduleRoot is the folder of go.mod: tests run in their package's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
		dir = parent
	}
}
