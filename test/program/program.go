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

// Main is TestMain of a package that runs a command: it builds the command's package into a folder that is removed at
// the end, hands both to run, and exits with its code. run has to undo what it does before it returns.
func Main(pkg string, run func(folder, program string) (code int, err error)) {
	code, err := inFolder(pkg, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inFolder(pkg string, run func(folder, program string) (code int, err error)) (code int, err error) {
	folder, err := os.MkdirTemp("", "vllm-medic-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	built, err := Build(context.Background(), folder, pkg)
	if err != nil {
		return 1, err
	}
	return run(folder, built)
}

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
