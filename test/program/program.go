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
)

// Build builds the package of a command, such as ../../cmd/vllm-medic, into the folder and returns the program's path.
// VLLM_MEDIC_TEST_RACE=1 gives it the race detector, where the Makefile uses it. Without, it is static, as the shipped
// one is: what Go has compiled for the image and for the linters serves here, too. The test itself needs no detector
// for that: it would slow down the fleets and the Slack that the program talks to.
func Build(ctx context.Context, folder, pkg string) (string, error) {
	path := filepath.Join(folder, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg) //nolint:gosec // a package of ours
	if os.Getenv("VLLM_MEDIC_TEST_RACE") == "1" {
		cmd.Args = slices.Insert(cmd.Args, 2, "-race", "-gcflags=modernc.org/...=-race=false")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	} else {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
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
