package vllm

import (
	"strings"
	"testing"
)

// A flag can be in one of the two lists only, else what proves would depend on the order.
func TestAFlagIsVLLMsOwnOrShared(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	names := append(append([]string{}, ownFlags...), sharedFlags...)
	for _, a := range arguments {
		names = append(names, a.Name)
	}
	for _, name := range names {
		if seen[name] || strings.HasPrefix(name, "no-") || strings.ContainsAny(name, "_=") {
			t.Errorf("%s is there twice, or is no name", name)
		}
		seen[name] = true
	}
}
