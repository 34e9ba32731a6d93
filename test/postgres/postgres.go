// Package postgres gives tests a PostgreSQL server: the one that VLLM_MEDIC_TEST_POSTGRES names, or else a private one
// of the test process, from the programs that are installed. A medium run that finds none fails; a small one asks for
// none.
package postgres

import (
	"os"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Variable names a server that is there, as a URL of a superuser: postgres://user@host:port/database.
const Variable = "VLLM_MEDIC_TEST_POSTGRES"

var private struct {
	mu      sync.Mutex
	asked   bool
	server  *server
	failure string
}

// Main runs a package's tests and then stops the private server, if one was started. Its result is the exit code.
func Main(m *testing.M) int {
	defer Stop()
	return m.Run()
}

// Stop ends the private server and removes its data. It may be called more than once.
func Stop() {
	private.mu.Lock()
	defer private.mu.Unlock()
	if private.server != nil {
		private.server.stop()
	}
	private.server, private.failure = nil, "the server has been stopped"
}

// Server is the URL of a server on which the test, a medium one, may make databases. The private one starts with the
// first test that asks, and the package's TestMain has to end it: see Main. When there is none, every test that asks
// fails.
func Server(t testing.TB) string {
	t.Helper()
	size.Needs(t, size.Medium)
	if url := os.Getenv(Variable); url != "" {
		return url
	}
	private.mu.Lock()
	defer private.mu.Unlock()
	if !private.asked {
		private.asked = true
		var err error
		if private.server, err = start(t.Context()); err != nil {
			private.failure = err.Error()
		}
	}
	if private.server == nil {
		t.Fatalf("PostgreSQL: %s", private.failure)
	}
	return private.server.url
}
