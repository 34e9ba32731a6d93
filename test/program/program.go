// Package program builds the commands that tests run as programs of their own.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Racing are the flags of go build for a program with the race detector. SQLite is C that was translated: nothing of
// ours is in its memory, and under the detector it takes four times as long.
func Racing() []string { return []string{"-race", "-gcflags=modernc.org/...=-race=false"} }

// Main is TestMain of a package that runs a command: it builds the command's package with these flags into a folder
// that is removed at the end, hands both to run, and exits with its code. run has to undo what it does before it
// returns. In a small run nothing is built, and the path of the program is empty.
func Main(pkg string, run func(folder, program string) (code int, err error), flags ...string) {
	code, err := inFolder(pkg, run, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inFolder(
	pkg string, run func(folder, program string) (code int, err error), flags []string,
) (code int, err error) {
	folder, err := os.MkdirTemp("", "vllm-medic-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var built string
	of, err := size.OfRun()
	if err == nil && of >= size.Medium {
		built, err = buildInto(context.Background(), folder, pkg, flags)
	}
	if err != nil {
		return 1, err
	}
	return run(folder, built)
}

// Build builds the package of a command, such as ../../cmd/vllm-medic, with these flags for one test, a medium one, and
// returns the program's path.
func Build(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	size.Needs(t, size.Medium)
	path, err := buildInto(t.Context(), t.TempDir(), pkg, flags)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// buildInto builds the package of a command into the folder and returns the program's path. Without the race detector
// it is static, as the shipped one is: what Go has compiled for the image and for the linters serves here, too. With
// it, the test itself needs none: it would slow down the fleets and the Slack that the program talks to.
//
// Go keeps a program that it has linked for go run, and none that it has linked for go build: so it is linked once for
// all packages, and "run" by being copied.
func buildInto(ctx context.Context, folder, pkg string, flags []string) (string, error) {
	path := filepath.Join(folder, filepath.Base(pkg))
	args := slices.Concat([]string{"run", "-exec", "cp"}, flags, []string{pkg, path})
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // a package of ours
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if slices.Contains(flags, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	_, err := cmd.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	return path, nil
}
