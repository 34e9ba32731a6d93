package flaky

import (
	"os"
	"testing"
)

// It fails where the file is not there yet.
func TestFlaky(t *testing.T) {
	t.Run("at first", func(t *testing.T) {
		if _, err := os.Stat(os.Getenv("FLAKY")); err != nil {
			t.Error(err, os.WriteFile(os.Getenv("FLAKY"), nil, 0o600))
		}
	})
}
