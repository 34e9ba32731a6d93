package size

import (
	"fmt"
	"strings"
	"testing"
)

// A run has what it can hold: nothing that is larger, and everything else.
func TestARunLeavesOutWhatIsLarger(t *testing.T) {
	for run, largest := range map[string]Size{"": Small, "small": Small, "medium": Medium, "large": Large} {
		for _, s := range []Size{Small, Medium, Large} {
			t.Run(run+" "+s.String(), func(t *testing.T) {
				t.Setenv(Variable, run)
				r := &recorder{TB: t}
				Needs(r, s)
				if left := r.skipped != ""; left != (s > largest) || r.failed != "" {
					t.Errorf("left out %t (%q), failed %q", left, r.skipped, r.failed)
				}
				if asked, ok := OfSkip("    x_test.go:7: " + r.skipped + "\n"); s > largest && (!ok || asked != s) {
					t.Errorf("what %q says is read as %v, %t", r.skipped, asked, ok)
				}
			})
		}
	}
}

// A size that is misspelled would leave out tests without a word.
func TestAnUnknownSizeFails(t *testing.T) {
	t.Setenv(Variable, "huge")
	r := &recorder{TB: t}
	Needs(r, Small)
	if !strings.Contains(r.failed, `VLLM_MEDIC_TESTS: the size of tests is "huge": want small, medium, large`) {
		t.Errorf("it failed with %q", r.failed)
	}
}

func TestAnotherReasonIsNoSize(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "    x_test.go:7: no browser", "    x_test.go:7: needs VLLM_MEDIC_TESTS=huge"} {
		if s, ok := OfSkip(line); ok {
			t.Errorf("%q is read as %v", line, s)
		}
	}
}

// recorder is a test that goes on after it was left out or has failed.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }

func (r *recorder) Fatal(args ...any) { r.failed = fmt.Sprint(args...) }
