package main

import (
	"os"
	"testing"
)

// It would pass when it ran again.
func TestMain(m *testing.M) {
	code := m.Run()
	if _, err := os.Stat(os.Getenv("FLAKY")); err != nil {
		code = 1
		if err := os.WriteFile(os.Getenv("FLAKY"), nil, 0o600); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

func TestPasses(*testing.T) {}
