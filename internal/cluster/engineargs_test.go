package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestEngineArgs(t *testing.T) {
	t.Parallel()
	type m = map[string]float64
	serve := func(args ...string) *corev1.Container {
		return &corev1.Container{Name: "vllm", Command: []string{"vllm", "serve", "m"}, Args: args}
	}
	withEnv := serve("--max-num-seqs=4")
	withEnv.Env = []corev1.EnvVar{{Name: "VLLM_ADDITIONAL_ARGS", Value: "--max-num-seqs=8"}}
	withEmptyEnv := serve("--max-num-seqs=4")
	withEmptyEnv.Env = []corev1.EnvVar{{Name: "VLLM_ADDITIONAL_ARGS"}, {Name: "A", Value: "b"}}
	for _, tt := range []struct {
		name string
		c    *corev1.Container
		want m
	}{
		{"no container", nil, nil},
		{"no words", &corev1.Container{}, nil},
		{"no numbers", serve("--enable-prefix-caching"), nil},
		{
			"all of them, in every spelling", serve("--max-num-seqs", "256", "--max_num_batched_tokens=8k", "--max-model-len", "32K", "--gpu_memory_utilization", "0.9", "-tp", "4", "--data-parallel-size=2"),
			m{"max_num_seqs": 256, "max_num_batched_tokens": 8000, "max_model_len": 32768, "gpu_memory_utilization": 0.9, "tensor_parallel_size": 4, "data_parallel_size": 2},
		},
		{"the last one counts", serve("--max-num-seqs=256", "--max_num_seqs", "64", "-tp=8", "--tensor-parallel-size=2"), m{"max_num_seqs": 64, "tensor_parallel_size": 2}},
		{"fractions of small suffixes", serve("--max-num-batched-tokens=25.6k", "--max-model-len=1m"), m{"max_num_batched_tokens": 25600, "max_model_len": 1e6}},
		{"a fraction of a capital suffix", serve("--max-num-batched-tokens=8.5K", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{"readable numbers only where vLLM takes them", serve("--max-num-seqs=1k", "-tp", "2k"), nil},
		{"no numbers at all", serve("--max-model-len=auto", "--max-num-seqs=1_000", "--gpu-memory-utilization=1.1", "--max-num-batched-tokens=0"), nil},
		{"minus one", serve("--max-model-len", "-1", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{"a flag without its value", serve("--max-num-seqs"), nil},
		{"a value from a variable", serve("--max-num-seqs=$(SEQS)", "--max-num-batched-tokens", "$(TOKENS)", "-tp=2"), m{"tensor_parallel_size": 2}},
		{"a variable that may be a flag", serve("$(EXTRA)", "--max-num-seqs=3"), nil},
		{"a variable that is a value", serve("--served-model-name", "$(NAME)", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{"the model from a variable", &corev1.Container{Command: []string{"vllm", "serve", "$(MODEL)"}, Args: []string{"--max-num-seqs=3"}}, m{"max_num_seqs": 3}},
		{"an abbreviation", serve("--max-num-seqs=3", "--max-num-s=5", "-tp=2"), m{"tensor_parallel_size": 2}},
		{"an abbreviation of a short flag", serve("-tp=2", "-t=4", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{"several flags in one word", serve("--max-num-seqs=3", "--max-num-seqs 4 --x", "-tp=2"), m{"tensor_parallel_size": 2}},
		{"a longer flag is another one", serve("--data-parallel-size-local=1", "--data-parallel-size", "4"), m{"data_parallel_size": 4}},
		{"a flag inside of JSON is another one", serve("--speculative-config.max-model-len=3", "--max-model-len=7"), m{"max_model_len": 7}},
		{"a --config file", serve("--config", "/etc/vllm.yaml", "--max-num-seqs=3"), nil},
		{"a shell", &corev1.Container{Command: []string{"/bin/sh", "-c"}, Args: []string{"vllm serve m --max-num-seqs 3"}}, nil},
		{"a shell in the arguments", &corev1.Container{Args: []string{"bash", "-c", "x", "--max-num-seqs=3"}}, nil},
		{"a script", &corev1.Container{Command: []string{"/start.sh"}, Args: []string{"--max-num-seqs=3"}}, nil},
		{"another program", &corev1.Container{Command: []string{"wrapper"}, Args: []string{"--max-num-seqs=3"}}, nil},
		{"words for another program", serve("--max-num-seqs=3", "--", "--max-num-seqs=4"), nil},
		{"the image's entry point", &corev1.Container{Args: []string{"--model", "m", "--max-num-seqs=3"}}, m{"max_num_seqs": 3}},
		{"Python", &corev1.Container{Command: []string{"/usr/bin/python3.12", "-u", "-m", "vllm.entrypoints.openai.api_server"}, Args: []string{"--max-num-seqs=3"}}, m{"max_num_seqs": 3}},
		{"Python with another module", &corev1.Container{Command: []string{"python3", "-m", "sglang"}, Args: []string{"--max-num-seqs=3"}}, nil},
		{"Python without a command", &corev1.Container{Args: []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--max-num-seqs=3"}}, m{"max_num_seqs": 3}},
		{"Python with another module, without a command", &corev1.Container{Args: []string{"python3", "-m", "sglang.launch_server", "--tensor-parallel-size=2"}}, nil},
		{"vllm without a command", &corev1.Container{Args: []string{"vllm", "serve", "m", "--max-num-seqs=3"}}, m{"max_num_seqs": 3}},
		{"a rank from the pod", serve("--data-parallel-size=2", "--data-parallel-rank", "$(POD_INDEX)"), m{"data_parallel_size": 2}},
		{"arguments in a variable", withEnv, nil},
		{"a variable without arguments", withEmptyEnv, m{"max_num_seqs": 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, engineArgs(tt.c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEngineContainer(t *testing.T) {
	t.Parallel()
	one := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}
	two := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "vllm"}}}
	other := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}
	for _, tt := range []struct {
		spec        *corev1.PodSpec
		named, want string
	}{{one, "", "a"}, {one, "b", ""}, {two, "", "vllm"}, {two, "a", "a"}, {other, "", ""}, {other, "b", "b"}, {&corev1.PodSpec{}, "", ""}} {
		got := ""
		if c := engineContainer(tt.spec, tt.named); c != nil {
			got = c.Name
		}
		if got != tt.want {
			t.Errorf("engineContainer(%v, %q) = %q; want %q", tt.spec.Containers, tt.named, got, tt.want)
		}
	}
}

// FuzzEngineArgs holds what must be true of any words.
func FuzzEngineArgs(f *testing.F) {
	f.Add("--max-num-seqs", "25.6k", "-tp=2")
	f.Add("--gpu-memory-utilization=0.9", "$(X)", "--max-model-len=8K")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		got := engineArgs(&corev1.Container{Command: []string{"vllm", "serve", "m"}, Args: []string{a, b, c}})
		for name, n := range got {
			if !(n > 0 && n <= largest) || name != "gpu_memory_utilization" && n != float64(int64(n)) {
				t.Errorf("%s = %v of %q", name, n, []string{a, b, c})
			}
		}
		shell := engineArgs(&corev1.Container{Command: []string{"sh", "-c"}, Args: []string{a, b, c}})
		if shell != nil {
			t.Errorf("a shell's words are read: %v", shell)
		}
	})
}
