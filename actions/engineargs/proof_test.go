package engineargs

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func TestOnlyWhatIsKnownToRunVLLMGetsAnotherFlag(t *testing.T) {
	t.Parallel()
	only := func(args ...string) vllm.Container { return vllm.Container{Args: args} }
	for _, tt := range []struct {
		name, image string
		line        vllm.Container
		want        string // of the refusal; empty: none
	}{
		{"vLLM's image", "vllm/vllm-openai:v0.11.0", only("--model", "m"), ""},
		{"a mirror of it, by digest", "registry.corp:5000/ml/vllm-openai@sha256:0123", only("m"), ""},
		{"AMD's", "rocm/vllm", only("m"), ""},
		{
			"vllm serve in an image of one's own", "registry.corp/llm:1",
			vllm.Container{Command: []string{"vllm", "serve", "m"}},
			"",
		},
		{"vllm serve behind an entry point", "nvcr.io/nvidia/pytorch:25.01", only("vllm", "serve", "m"), ""},
		{
			"Python with vLLM's module", "registry.corp/llm:1",
			vllm.Container{
				Command: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}, Args: []string{"--model=m"},
			},
			"",
		},
		{
			"an image of one's own with vLLM's flags", "registry.corp/llm:1",
			only("--model=m", "--max-model-len=8192", "--port", "8000"), "",
		},
		{
			"an image of one's own with vLLM's switch", "registry.corp/llm:1", only("m", "--no-enable-prefix-caching"),
			"",
		},
		{
			"an image of one's own with a dotted flag", "registry.corp/llm:1",
			only("m", "--compilation_config.level", "3"), "",
		},

		{
			"SGLang", "lmsysorg/sglang:v0.5.0",
			only("--model-path", "m", "--tp-size", "2", "--mem-fraction-static=0.9"), "no flag --model-path",
		},
		{
			"SGLang with flags that vLLM has too", "registry.corp/llm:1",
			only("--model=m", "--tensor-parallel-size=2", "--port=8000"),
			"image registry.corp/llm and the command do not say so",
		},
		{
			"a flag of each", "registry.corp/llm:1", only("--model=m", "--max-model-len=8192", "--flush-every=3"),
			"no flag --flush-every",
		},
		{
			"llama.cpp", "ghcr.io/ggml-org/llama.cpp:server", only("-m", "/models/x.gguf", "--ctx-size", "4096"),
			"no flag --ctx-size",
		},
		{
			"TGI", "ghcr.io/huggingface/text-generation-inference:3",
			only("--model-id=m", "--max-batch-prefill-tokens=4096"), "no flag --model-id",
		},
		{
			"llm-d's routing proxy", "ghcr.io/llm-d/llm-d-routing-sidecar:v0.3",
			only("--port=8000", "--vllm-port=8200", "--connector=nixlv2"), "no flag --vllm-port",
		},
		{"a router in front of vLLM", "vllm/vllm-router:v1", only("--host=0.0.0.0"), "do not say so"},
		{"vLLM's project on a tag", "registry.corp/sglang:vllm-compatible", only("--host=0.0.0.0"), "do not say so"},
		{"vLLM's name on the registry", "vllm.corp/sglang", only("--host=0.0.0.0"), "do not say so"},
		{"a model alone", "registry.corp/llm:1", only("meta/llama"), "do not say so"},
		{"no image", "", only("--model=m"), "do not say so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.line.Image = tt.image
			no := container{name: "engine", spec: tt.line, line: vllm.Parse(tt.line)}.refuseUnproven(vllm.MaxNumBatchedTokens)
			if tt.want == "" && no != nil || tt.want != "" && (no == nil || !strings.Contains(no.Reason, tt.want)) {
				t.Errorf("refusal %v, want %q", no, tt.want)
			}
		})
	}
}
