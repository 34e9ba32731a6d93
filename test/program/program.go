// Package program builds the commands that tests run as programs of their own.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Build builds the package of a command, such as ../../cmd/vllm-medic, into the folder and returns the program's path.
// The program has the race detector when this one has it, and where this one has it. Without, it is static, as the
// shipped one is: what Go has compiled for the image and for the linters serves here, too.
func Build(ctx context.Context, folder, pkg string) (string, error) {
	path := filepath.Join(folder, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg) //nolint:gosec // a package of ours
	if setting("-race") == "true" {
		cmd.Args = slices.Insert(cmd.Args, 2, "-race", "-gcflags="+setting("-gcflags"))
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

// setting is a flag that this program was built with, or "".
func setting(flag string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	at := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == flag })
	if at < 0 {
		return ""
	}
	return info.Settings[at].Value
}
