// Package tools finds the programs and files that the tests run beside our own code: those that scripts/tools.sh
// builds, which is what `make tools` runs.
package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Variable names another folder than that of scripts/tools.sh.
const Variable = "VLLM_MEDIC_TOOLS"

// Binary is the path of a program: prometheus, promtool, alertmanager, amtool, etcd, helm, kubectl, kube-apiserver,
// kube-controller-manager or kwok. The test is a medium one, and fails when it has not been built.
func Binary(t testing.TB, name string) string {
	t.Helper()
	return File(t, filepath.Join("bin", name))
}

// File is the path of anything in the folder of the tools. The test is a medium one, and fails when it is not there.
func File(t testing.TB, name string) string {
	t.Helper()
	size.Needs(t, size.Medium)
	path, err := Path(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Modules is the node_modules that test/NAME pins for Node in its package-lock.json. It is for the tests of that
// folder.
func Modules(t testing.TB, name string) string {
	t.Helper()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	return File(t, filepath.Join(name+"-"+hex.EncodeToString(sum[:])[:12], "node_modules"))
}

// Path is File for a program that is not a test. It builds nothing: building takes minutes, and a test has a time
// limit.
func Path(name string) (string, error) {
	folder, err := folder()
	if err != nil {
		return "", fmt.Errorf("find the tools that the tests run: %w", err)
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil { //nolint:gosec // a name of ours in a folder of ours
		return "", fmt.Errorf("the tools that the tests run are not complete; build them with make tools: %w", err)
	}
	return path, nil
}

var folder = sync.OnceValues(func() (string, error) {
	if set := os.Getenv(Variable); set != "" {
		return set, nil
	}
	root, err := root()
	if err != nil {
		return "", err
	}
	script := filepath.Join(root, "scripts", "tools.sh")
	cmd := exec.CommandContext(context.Background(), "bash", script, "--print") //nolint:gosec // our own script
	out, err := cmd.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return "", fmt.Errorf("%s --print: %w: %s", script, err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s --print: %w", script, err)
	}
	return strings.TrimSpace(string(out)), nil
})

// root is the folder of go.mod: tests run in their package's folder.
func root() (string, error) {
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
