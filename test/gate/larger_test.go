package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// The next size runs what the one before left out for it, and nothing that ran already or is larger still.
func TestTheNextSizeRunsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	const small = `start p
output p TestOwn     x_test.go:1: needs VLLM_MEDIC_TESTS=medium
skip p TestOwn
output p TestEngines/postgres     x_test.go:2: needs VLLM_MEDIC_TESTS=medium
skip p TestEngines/postgres
pass p TestEngines
pass p TestPlain
output p TestFlood     x_test.go:3: needs VLLM_MEDIC_TESTS=large
skip p TestFlood
output p TestNext     x_test.go:4: pass
pass p TestNext
start q
output q TestOwn     y_test.go:1: needs VLLM_MEDIC_TESTS=medium
skip q TestOwn
start r
pass r TestPlain`
	for _, tt := range []struct {
		next     size.Size
		tests    string
		packages []string
	}{
		{size.Small, "", nil},
		{size.Medium, "^(TestEngines|TestOwn)$", []string{module + "p", module + "q"}},
		{size.Large, "^(TestEngines|TestFlood|TestOwn)$", []string{module + "p", module + "q"}},
	} {
		tests, packages, err := Larger(told(t, small), tt.next)
		if err != nil || tests != tt.tests || !slices.Equal(packages, tt.packages) {
			t.Errorf("%s: %q of %q, %v", tt.next, tests, packages, err)
		}
	}
	if _, _, err := Larger(strings.NewReader("no event\n"), size.Medium); err == nil {
		t.Error("what is no event would leave tests out")
	}
}
