package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/machine"
	"github.com/vllm-medic/vllm-medic/test/postgres"
	"github.com/vllm-medic/vllm-medic/test/program"
)

// cluster is one API server with controllers and ready pods.
var cluster = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})

// medic is the built program.
var medic string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if medic, err = program.Build(context.Background(), dir, "../../cmd/vllm-medic"); err != nil {
		return 1, err
	}
	if err := machine.Reserve(machine.Fleet); err != nil {
		return 1, err
	}
	defer postgres.Stop()
	return cluster.Main(m), nil
}
