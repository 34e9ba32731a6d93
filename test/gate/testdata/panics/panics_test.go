package panics

import (
	"os"
	"testing"
)

// It would pass when it ran again.
func TestPanics(*testing.T) {
	if _, err := os.Stat(os.Getenv("FLAKY")); err != nil {
		panic(os.WriteFile(os.Getenv("FLAKY"), []byte("panicked"), 0o600))
	}
}
