package crash

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/machine"
)

// kube is one API server with controllers and ready pods, shared by all runs; each has a namespace of its own.
var kube = kubetest.Share(kubetest.Options{
	Controllers: true, Kwok: true, AuditLog: true, Users: []kubetest.User{{Name: bot, Groups: []string{"system:masters"}}},
})

// bot is who writes to the cluster in the name of the bot, and nobody else.
const bot = "crash-bot"

// atOnce is how many runs are under way at a time: they wait more than they compute.
const atOnce = 14

func TestMain(m *testing.M) {
	if os.Getenv(envConfig) != "" {
		os.Exit(asChild())
	}
	if err := errors.Join(machine.AtOnce(atOnce), machine.Reserve(machine.Fleet)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(kube.Main(m))
}
