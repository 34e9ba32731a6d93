package chart

import (
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
	program.Main("../../cmd/vllm-medic", func(_, built string) (int, error) {
		medic = built
		if err := machine.Reserve(machine.Fleet); err != nil {
			return 1, err
		}
		defer postgres.Stop()
		return cluster.Main(m), nil
	})
}
