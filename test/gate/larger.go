package gate

import (
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// Larger is what of a run was too large for it and fits the next one: an expression for go test -run with the names of
// the tests, and their packages. Where nothing is, both are empty. What is larger still is not part of it.
func Larger(events io.Reader, next size.Size) (tests string, packages []string, err error) {
	left := map[testName]size.Size{}
	err = readEvents(events, func(e event) {
		if s, ok := size.OfSkip(e.Output); e.Action == "output" && ok {
			left[e.testName()] = s
		}
	})
	if err != nil {
		return "", nil, err
	}
	names, of := map[string]bool{}, map[string]bool{}
	for t, s := range left {
		if s <= next {
			name, _, _ := strings.Cut(t.name, "/")
			names[regexp.QuoteMeta(name)], of[t.pkg] = true, true
		}
	}
	if len(names) == 0 {
		return "", nil, nil
	}
	return "^(" + strings.Join(slices.Sorted(maps.Keys(names)), "|") + ")$", slices.Sorted(maps.Keys(of)), nil
}
