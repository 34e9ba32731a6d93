package scenarios

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// kube is one API server for all journeys; each that needs it has a namespace of its own.
var kube = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})

// bin is the folder with the built program.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "scenarios-")
	if err == nil {
		bin = dir
		build := exec.CommandContext(context.Background(), "go", slices.Concat([]string{"build"}, buildFlags, []string{"-o", filepath.Join(dir, "vllm-medic"), "../../cmd/vllm-medic"})...)
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build vllm-medic:", err)
		os.Exit(1)
	}
	code := kube.Main(m)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func TestJourneys(t *testing.T) {
	t.Parallel()
	metrics := newMetrics(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireUniqueNames: true, UpdateScripts: os.Getenv("UPDATE_SCENARIOS") != "",
		Setup: func(env *testscript.Env) error { return setup(env, metrics) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "stop": stop, "kill9": kill9, "post": post, "get": get, "until": until, "log": showLog,
			"capture": capture, "token": token, "grant": grant, "replicas": replicas, "usage": usage, "disk": disk,
		},
	})
}
