package kubetest

import (
	"os"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Shared is one cluster for all tests of a package. It starts with the first test that asks for it, so that a run of
// tests that need none stays quick. Its methods are safe for concurrent use.
type Shared struct {
	opts Options

	mu      sync.Mutex
	asked   bool
	cluster *Cluster
	failure string
}

// Share declares a cluster for the package's tests:
//
//	var kube = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})
//
//	func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }
//
//	func TestX(t *testing.T) { c := kube.Cluster(t); ns := c.Namespace(t); ... }
func Share(o Options) *Shared { return &Shared{opts: o} }

// Main runs the package's tests and then stops the cluster. Its result is the exit code.
func (s *Shared) Main(m *testing.M) int {
	defer s.Stop()
	return m.Run()
}

// Stop ends the cluster if it was started. Main does it; a package with a second cluster calls it for that one.
func (s *Shared) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != nil {
		s.cluster.stop()
	}
}

// Cluster returns the cluster and starts it the first time. The tests that ask are medium ones. When it could not be
// started, every test that asks fails with the reason.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	size.Needs(t, size.Medium)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked = true
		s.failure = "an earlier test could not start the cluster; see there"
		dir, err := os.MkdirTemp("", "kubetest-")
		if err != nil {
			t.Fatalf("kubetest: %v", err)
		}
		if s.cluster, err = launch(t, dir, s.opts); err != nil {
			s.cluster, s.failure = nil, err.Error()
		}
	}
	if s.cluster == nil {
		t.Fatalf("kubetest: %s", s.failure)
	}
	return s.cluster
}
