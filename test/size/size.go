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

// OfRun is the size of this run. Another name than those of the sizes is an error.
func OfRun() (Size, error) {
	name := os.Getenv(Variable)
	if name == "" {
		return Small, nil
	}
	n := slices.Index(names, name)
	if n < 0 {
		return Small, fmt.Errorf("%s is %q: want %s", Variable, name, strings.Join(names, ", "))
	}
	return Size(n), nil
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
