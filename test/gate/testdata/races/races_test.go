package races

import (
	"os"
	"testing"
)

// It would pass when it ran again.
func TestRaces(t *testing.T) {
	if _, err := os.Stat(os.Getenv("FLAKY")); err == nil {
		return
	}
	if err := os.WriteFile(os.Getenv("FLAKY"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n, done := 0, make(chan bool)
	go func() {
		n++
		done <- true
	}()
	n++
	<-done
	t.Log(n)
}
