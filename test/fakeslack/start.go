package fakeslack

import (
	"net/http/httptest"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// T is the part of testing.TB that Start needs. It keeps package testing out of the program.
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Start serves a workspace on a free port of 127.0.0.1 until the test ends, and holds the test to Check.
func Start(t T, o Options) *Server {
	t.Helper()
	s := New(o)
	listener := httptest.NewServer(s)
	s.SetBaseURL(listener.URL)
	t.Cleanup(func() {
		t.Helper()
		s.CutSockets()                    // httptest does not know them any more
		listener.CloseClientConnections() // ends delayed calls and open streams
		listener.Close()
		s.Check(t)
	})
	return s
}

// Check fails the test for every unused fault, every announced error that never came, every lie that was told and,
// unless Options.AllowUnexpected is set, every unexpected request.
func (s *Server) Check(t T) {
	t.Helper()
	for _, line := range s.Unused() {
		t.Errorf("fakeslack: unused: %s", line)
	}
	for _, m := range s.Told() {
		for _, lie := range truth.Over(m) {
			if s.opts.Retold && lie.Rule == truth.RuleCalled {
				continue
			}
			t.Errorf("fakeslack: not true: %s", lie)
		}
	}
	if s.opts.AllowUnexpected {
		return
	}
	for _, line := range s.Unexpected() {
		t.Errorf("fakeslack: unexpected: %s", line)
	}
}
