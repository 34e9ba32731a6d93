package vllm

import "testing"

func TestOnlyHarmlessValuesAreShown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		MaxNumSeqs: true, "served-model-name": true, EnableChunkedPrefill: true, "no-enable-prefix-caching": true,
		"api-key": false, "hf-token": false, "no-dtype": false, "no-such-flag": false, "": false,
	} {
		if got := Harmless(name); got != want {
			t.Errorf("%q is harmless: %v", name, got)
		}
	}
}
