package e2e

import (
	"errors"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/machine"
	"github.com/vllm-medic/vllm-medic/test/program"
)

// kube is one API server with controllers and ready pods, shared by all journeys; each has a namespace of its own.
var kube = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true, AuditLog: true, Users: users()})

// users are those who are in a cluster for a journey.
func users() []kubetest.User {
	return []kubetest.User{{Name: dryRunUser, Groups: []string{"system:masters"}}}
}

// frail is a cluster for those that stop their API server.
var frail = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})

// dryRunUser is the bot's own user in the dry run, so that the audit log shows what it alone sent.
const dryRunUser = "dry-run-bot"

// medic is the built program, with the race detector.
var medic string

// atOnce is how many scenarios run at a time. With twelve on two cores Prometheus misses its scrapes for twenty
// seconds: no data is no recovery, and the bot says so.
const atOnce = 6

func TestMain(m *testing.M) {
	program.Main("../../cmd/vllm-medic", func(_, built string) (int, error) {
		medic = built
		if err := errors.Join(machine.AtOnce(atOnce), machine.Reserve(machine.Fleet)); err != nil {
			return 1, err
		}
		defer frail.Stop()
		return kube.Main(m), nil
	}, program.Racing()...)
}
