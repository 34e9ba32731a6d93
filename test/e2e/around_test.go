package e2e

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// surroundings are all that is around a journey, and the bot in it.
type surroundings interface {
	// begin starts everything but the bot, and the fleet of the world with it.
	begin(w *world)
	cluster() cluster
	// kubeconfig is the path of a user's.
	kubeconfig(user string) string
	// stopServer and startServer take the API server away and bring it back as it was.
	stopServer()
	startServer()

	startBot()
	// killBot ends the bot in the middle of what it does.
	killBot()
	// logged is what the bot has logged, over all its lives.
	logged() string

	// has waits until a query of Prometheus has a result.
	has(query string)
	// cut breaks each of the bot's requests to Prometheus from now on, until mend; tried is how many were broken.
	cut()
	mend()
	tried() int
	// push gives Alertmanager an alert of the journey's own, and forget restarts it without its memory.
	push(labels map[string]string)
	forget()
}

// cluster is what a journey needs of one.
type cluster interface {
	InstallCRD(t testing.TB, crds ...kubetest.CRD)
	Namespace(t testing.TB) string
	Client(t testing.TB) *kubernetes.Clientset
	Dynamic(t testing.TB) *dynamic.DynamicClient
	Audit(t testing.TB, user string) []kubetest.AuditEntry
}

// plays plays a journey twice: with everything in this process and in simulated time, where it goes the same way on
// every machine, and among real programs, in a test of the size ofReal.
func plays(t *testing.T, ofReal size.Size, journey func(*world), settings ...setting) {
	t.Helper()
	t.Parallel()
	t.Run("simulated", func(t *testing.T) {
		t.Parallel()
		size.Needs(t, size.Medium)
		synctest.Test(t, func(t *testing.T) { journey(newWorld(t, &inside{}, settings)) })
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		size.Needs(t, ofReal)
		journey(newWorld(t, &outside{}, settings))
	})
}
