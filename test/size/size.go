// Package size says which tests a run has. A test is small, medium or large by what it needs, and a run leaves out what
// is larger than it. The doors through which real programs come in ask for it, so a test hardly ever has to.
package size

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Size is how much a test needs, and how much a run has.
type Size int

// The sizes. Each run has the tests of the smaller ones, too.
const (
	// Small needs its own process, loopback and temporary files: no other program.
	Small Size = iota
	// Medium starts real programs (a control plane, PostgreSQL, Prometheus, a browser, the bot), or computes for more than
	// ten seconds.
	Medium
	// Large is what takes minutes: every case of a kind, floods, pictures, played incidents.
	Large
)

// Variable names the size of a run: small, medium or large. A run without it is small.
const Variable = "VLLM_MEDIC_TESTS"

var names = []string{"small", "medium", "large"}

func (s Size) String() string { return names[s] }

// MarshalText is the name of the size.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a size. Another one is an error.
func (s *Size) UnmarshalText(name []byte) error {
	n := slices.Index(names, string(name))
	if n < 0 {
		return fmt.Errorf("the size of tests is %q: want %s", name, strings.Join(names, ", "))
	}
	*s = Size(n)
	return nil
}

// OfRun is the size of this run. Another name than those of the sizes is an error.
func OfRun() (s Size, err error) {
	if name := os.Getenv(Variable); name != "" {
		if err = s.UnmarshalText([]byte(name)); err != nil {
			err = fmt.Errorf("%s: %w", Variable, err)
		}
	}
	return s, err
}

// Needs skips the test in a run that is smaller than s. It may be called any number of times.
func Needs(t testing.TB, s Size) {
	t.Helper()
	run, err := OfRun()
	if err != nil {
		t.Fatal(err)
	}
	if run < s {
		t.Skipf(skipped, s)
	}
}

// skipped is what a test that is left out says.
const skipped = "needs " + Variable + "=%s"

// OfSkip is the size that a test asked for which says in this line why it is skipped; false when it was no size.
func OfSkip(line string) (Size, bool) {
	for n := range names {
		if strings.HasSuffix(strings.TrimRight(line, "\n"), ": "+fmt.Sprintf(skipped, Size(n))) {
			return Size(n), true
		}
	}
	return Small, false
}
