package cluster

import "testing"

func TestAnImageTellsItsVersionByItsTag(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.24.0":                            "0.24.0",
		"registry.local:5000/mirror/vllm-openai:0.10.2-cu128": "0.10.2-cu128",
		"quay.io/llm-d/cuda:v0.4.0@sha256:0123456789abcdef":   "0.4.0",
		"vllm/vllm-openai:v0.24":                              "0.24",
		"registry.local:5000/vllm-openai":                     "",
		"vllm/vllm-openai:latest":                             "",
		"vllm/vllm-openai:nightly-2026-11-01":                 "",
		"vllm/vllm-openai:build-7":                            "",
		"vllm/vllm-openai@sha256:0123456789abcdef":            "",
		"vllm/vllm-openai:2026":                               "",
		"":                                                    "",
	} {
		if got := imageVersion(image); got != want {
			t.Errorf("%q is version %q; want %q", image, got, want)
		}
	}
}
