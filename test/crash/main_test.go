package crash

import (
	"os"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// kube is one API server with controllers and ready pods, shared by all runs; each has a namespace of its own.
var kube = kubetest.Share(kubetest.Options{
	Controllers: true, Kwok: true, AuditLog: true, Users: []kubetest.User{{Name: bot, Groups: []string{"system:masters"}}},
})

// bot is who writes to the cluster in the name of the bot, and nobody else.
const bot = "crash-bot"

func TestMain(m *testing.M) {
	if os.Getenv(envConfig) != "" {
		os.Exit(asChild())
	}
	os.Exit(kube.Main(m))
}
