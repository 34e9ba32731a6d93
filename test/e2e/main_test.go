package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// kube is one API server with controllers and ready pods, shared by all scenarios; each has a namespace of its own.
var kube = kubetest.Share(kubetest.Options{
	Controllers: true, Kwok: true, AuditLog: true, Users: []kubetest.User{{Name: drillUser, Groups: []string{"system:masters"}}},
})

// drillUser is the bot's own user in the drill, so that the audit log shows what it alone sent.
const drillUser = "drill-bot"

// medic is the built program.
var medic string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "e2e-")
	if err == nil {
		medic = filepath.Join(dir, "vllm-medic")
		args := []string{"build", "-o", medic}
		if raceDetector {
			args = append(args, "-race")
		}
		build := exec.CommandContext(context.Background(), "go", append(args, "../../cmd/vllm-medic")...)
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build vllm-medic:", err)
		os.Exit(1)
	}
	code := kube.Main(m)
	frail.Stop()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
