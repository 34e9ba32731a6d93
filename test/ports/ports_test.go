package ports_test

import (
	"net"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/ports"
)

func TestAHeldPortIsForTheOneWhoKnowsIt(t *testing.T) {
	t.Parallel()
	addr := ports.ForTest(t)
	for range 3 { // a server that is restarted
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAHeldPortIsGivenToNobodyElse(t *testing.T) {
	t.Parallel()
	held := map[string]bool{}
	for range 200 {
		held[ports.ForTest(t)] = true
	}
	if len(held) != 200 {
		t.Fatalf("%d different addresses, want 200", len(held))
	}
	for range 2000 {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() }) // held open, so that each is another port
		if held[l.Addr().String()] {
			t.Fatalf("%s was given away", l.Addr())
		}
	}
}
