package vllm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// says whether the error contains the text; no text wants no error.
func says(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}

// serve is a command line that can be read.
func serve(args ...string) Container {
	return Container{Command: []string{"vllm", "serve", "meta/llama"}, Args: args}
}

// with is the container with one variable.
func with(c Container, name, value string) Container {
	c.Env = []Variable{{Name: name, Value: value, Known: true}}
	return c
}

func TestNumbersOfACommandLine(t *testing.T) {
	t.Parallel()
	type m = map[string]float64
	withEnv := serve("--max-num-seqs=4")
	withEnv.Env = []Variable{{Name: "VLLM_ADDITIONAL_ARGS", Value: "--max-num-seqs=8", Known: true}}
	withEmptyEnv := serve("--max-num-seqs=4")
	withEmptyEnv.Env = []Variable{{Name: "VLLM_ADDITIONAL_ARGS", Known: true}, {Name: "A", Value: "b", Known: true}}
	for _, tt := range []struct {
		name string
		c    Container
		want m
	}{
		{"no words", Container{}, nil},
		{"no numbers", serve("--enable-prefix-caching"), nil},
		{
			"all of them, in every spelling", serve(
				"--max-num-seqs", "256", "--max_num_batched_tokens=8k", "--max-model-len", "32K",
				"--gpu_memory_utilization", "0.9", "-tp", "4", "--data-parallel-size=2",
			),
			m{
				"max_num_seqs": 256, "max_num_batched_tokens": 8000, "max_model_len": 32768,
				"gpu_memory_utilization": 0.9, "tensor_parallel_size": 4, "data_parallel_size": 2,
			},
		},
		{
			"the last one counts",
			serve("--max-num-seqs=256", "--max_num_seqs", "64", "-tp=8", "--tensor-parallel-size=2"),
			m{"max_num_seqs": 64, "tensor_parallel_size": 2},
		},
		{
			"fractions of small suffixes", serve("--max-num-batched-tokens=25.6k", "--max-model-len=1m"),
			m{"max_num_batched_tokens": 25600, "max_model_len": 1e6},
		},
		{
			"a fraction of a capital suffix", serve("--max-num-batched-tokens=8.5K", "--max-num-seqs=3"),
			m{"max_num_seqs": 3},
		},
		{"readable numbers only where vLLM takes them", serve("--max-num-seqs=1k", "-tp", "2k"), nil},
		{
			"no numbers at all",
			serve(
				"--max-model-len=auto", "--max-num-seqs=1_000", "--gpu-memory-utilization=1.1",
				"--max-num-batched-tokens=0",
			),
			nil,
		},
		{"minus one", serve("--max-model-len", "-1", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{"a flag without its value", serve("--max-num-seqs"), nil},
		{
			"a value from a variable",
			serve("--max-num-seqs=$(SEQS)", "--max-num-batched-tokens", "$(TOKENS)", "-tp=2"),
			m{"tensor_parallel_size": 2},
		},
		{"a variable that may be a flag", serve("$(EXTRA)", "--max-num-seqs=3"), nil},
		{
			"a variable that is a value", serve("--served-model-name", "$(NAME)", "--max-num-seqs=3"),
			m{"max_num_seqs": 3},
		},
		{
			"the model from a variable",
			Container{Command: []string{"vllm", "serve", "$(MODEL)"}, Args: []string{"--max-num-seqs=3"}},
			m{"max_num_seqs": 3},
		},
		{"an abbreviation", serve("--max-num-seqs=3", "--max-num-s=5", "-tp=2"), m{"tensor_parallel_size": 2}},
		{"an abbreviation of a short flag", serve("-tp=2", "-t=4", "--max-num-seqs=3"), m{"max_num_seqs": 3}},
		{
			"several flags in one word", serve("--max-num-seqs=3", "--max-num-seqs 4 --x", "-tp=2"),
			m{"tensor_parallel_size": 2},
		},
		{
			"a longer flag is another one", serve("--data-parallel-size-local=1", "--data-parallel-size", "4"),
			m{"data_parallel_size": 4},
		},
		{
			"a flag inside of JSON is another one", serve("--speculative-config.max-model-len=3", "--max-model-len=7"),
			m{"max_model_len": 7},
		},
		{"a --config file", serve("--config", "/etc/vllm.yaml", "--max-num-seqs=3"), nil},
		{
			"a shell",
			Container{Command: []string{"/bin/sh", "-c"}, Args: []string{"vllm serve m --max-num-seqs 3"}},
			nil,
		},
		{"a shell in the arguments", Container{Args: []string{"bash", "-c", "x", "--max-num-seqs=3"}}, nil},
		{"a script", Container{Command: []string{"/start.sh"}, Args: []string{"--max-num-seqs=3"}}, nil},
		{"another program", Container{Command: []string{"wrapper"}, Args: []string{"--max-num-seqs=3"}}, nil},
		{"words for another program", serve("--max-num-seqs=3", "--", "--max-num-seqs=4"), nil},
		{
			"the image's entry point",
			Container{Args: []string{"--model", "m", "--max-num-seqs=3"}},
			m{"max_num_seqs": 3},
		},
		{
			"Python",
			Container{
				Command: []string{"/usr/bin/python3.12", "-u", "-m", "vllm.entrypoints.openai.api_server"},
				Args:    []string{"--max-num-seqs=3"},
			},
			m{"max_num_seqs": 3},
		},
		{
			"Python with another module",
			Container{Command: []string{"python3", "-m", "sglang"}, Args: []string{"--max-num-seqs=3"}},
			nil,
		},
		{
			"Python without a command",
			Container{Args: []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--max-num-seqs=3"}},
			m{"max_num_seqs": 3},
		},
		{
			"Python with another module, without a command",
			Container{Args: []string{"python3", "-m", "sglang.launch_server", "--tensor-parallel-size=2"}},
			nil,
		},
		{
			"vllm without a command",
			Container{Args: []string{"vllm", "serve", "m", "--max-num-seqs=3"}},
			m{"max_num_seqs": 3},
		},
		{
			"a rank from the pod", serve("--data-parallel-size=2", "--data-parallel-rank", "$(POD_INDEX)"),
			m{"data_parallel_size": 2},
		},
		{"arguments in a variable", withEnv, nil},
		// What the two readers of before did not agree about, decided by what vLLM and Kubernetes do.
		{
			"a model from a known variable, first of all", with(
				Container{Args: []string{"$(MODEL)", "--max-num-batched-tokens=8192"}}, "MODEL", "meta/llama",
			),
			m{"max_num_batched_tokens": 8192},
		},
		{
			"a variable that mentions the flag, and vLLM reads none",
			with(serve("--max-num-batched-tokens=8192"), "X", "--max-num-batched-tokens=3"),
			m{"max_num_batched_tokens": 8192},
		},
		{
			"a variable that mentions the flag, and an entry point may read it", with(
				Container{Args: []string{"m", "--max-num-batched-tokens=8192", "-tp=2"}}, "X",
				"--max-num-batched-tokens=3",
			),
			m{"tensor_parallel_size": 2},
		},
		{
			"a value behind a short flag from a variable", serve("-tp", "$(M)", "--max-num-batched-tokens=8192"),
			m{"max_num_batched_tokens": 8192},
		},
		{
			"a flag from a known variable", with(serve("--max-num-seqs=4", "$(X)"), "X", "--max-num-seqs=9"),
			m{"max_num_seqs": 9},
		},
		{
			"a flag where a value should be, from a known variable",
			with(serve("-tp", "$(X)", "-tp=2", "--max-model-len=8k"), "X", "--max-num-seqs=9"),
			m{"max_num_seqs": 9, "max_model_len": 8000},
		},
		{
			"a value from a known variable", with(serve("--max-num-seqs=$(X)", "-tp", "$(X)"), "X", "16"),
			m{"max_num_seqs": 16, "tensor_parallel_size": 16},
		},
		{
			"an earlier value from an unknown variable", serve("--max-num-seqs=$(X)", "--max-num-seqs=5"),
			m{"max_num_seqs": 5},
		},
		{"an escaped variable", with(serve("$$(X)", "--max-num-seqs=4"), "X", "--y"), m{"max_num_seqs": 4}},
		{"a variable inside of a value", serve("a$(X)", "--max-num-seqs=4"), m{"max_num_seqs": 4}},
		{
			"the draft model's own length",
			serve("--max-model-len=8k", "--speculative-config", `{"max_model_len": 2048}`),
			m{"max_model_len": 8000},
		},
		{
			"a setting of the scheduler in a plug-in's argument",
			serve("--max-num-seqs=4", "-tp=2", `--additional-config={"x": {"max_num_seqs": 8}}`),
			m{"tensor_parallel_size": 2},
		},
		{"the same, taken apart", serve("--max-num-seqs=4", "--additional-config.x.max_num_seqs", "8"), nil},
		{
			"whole flags that begin like others",
			serve("--data-parallel-size=2", "-dp", "4", "--max-num-scheduled-tokens=2k"),
			m{"data_parallel_size": 4, "max_num_scheduled_tokens": 2000},
		},
		{"a variable without arguments", withEmptyEnv, m{"max_num_seqs": 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Parse(tt.c).Numbers()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsualCommandLinesAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line Container
		env  []Variable
	}{
		"the image's entry point": {Container{Args: []string{"--model", "m"}}, nil},
		"a model first":           {Container{Args: []string{"meta/llama", "--port=1"}}, nil},
		"vllm in args":            {Container{Args: []string{"vllm", "serve", "m"}}, nil},
		"vllm by its path":        {Container{Command: []string{"/usr/local/bin/vllm", "serve", "m"}}, nil},
		"python -m": {
			Container{Command: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}}, nil,
		},
		"python -u -m": {
			Container{Command: []string{"/usr/bin/python3.12", "-u", "-m", "vllm.entrypoints.openai.api_server"}}, nil,
		},
		"python with vllm's script": {Container{Command: []string{"python", "/usr/bin/vllm", "serve"}}, nil},
		"a secret value":            {serve("--api-key", "$(KEY)", "--served-model-name=$(NAME)"), nil},
		"python in args": {
			Container{Args: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}}, nil,
		},
		"the rank from the pod": {
			serve("--data-parallel-size", "2", "--data-parallel-rank", "$(POD_INDEX)"), []Variable{{Name: "POD_INDEX"}},
		},
		"the model from a variable":   {Container{Command: []string{"vllm", "serve", "$(MODEL)"}}, nil},
		"a variable that is no flag":  {serve("$(PLAIN)"), []Variable{{Name: "PLAIN", Value: "x", Known: true}}},
		"an escaped variable":         {serve("$$(NOT)", "--x=$$(NOT)"), nil},
		"an empty wrapper's variable": {serve("--x"), []Variable{{Name: "VLLM_ADDITIONAL_ARGS", Known: true}}},
		"a variable that is a flag": {
			serve("$(FLAG)"),
			[]Variable{{Name: "FLAG", Value: "x", Known: true}, {Name: "FLAG", Value: "--seed=1", Known: true}},
		},
		"other flags that begin alike": {serve("--config-format", "auto", "--max-num-seqs=1"), nil},
	} {
		tt.line.Env = tt.env
		if err := Parse(tt.line).Unclear(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSwitchesAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words     string
		on, known bool
		refused   string
	}{
		{"--enable-chunked-prefill", true, true, ""},
		{"--enable_chunked_prefill --x", true, true, ""},
		{"--enable-chunked-prefill=true", true, true, ""},
		{"--enable-chunked-prefill=False", false, true, ""},
		{"--enable-chunked-prefill False", false, true, ""},
		{"--enable-chunked-prefill true --x", true, true, ""},
		{"--no-enable-chunked-prefill", false, true, ""},
		{"--no_enable_chunked_prefill --enable-chunked-prefill", true, true, ""},
		{"--enable-chunked-prefill --no-enable-chunked-prefill", false, true, ""},
		{"--enable-prefix-caching", false, false, ""},
		{"--enable-chunked-prefill=maybe", false, false, "cannot be read"},
		{"--no-enable-chunked-prefill=true", false, false, "takes no value"},
		{"--enable-chunked", false, false, "abbreviation"},
		{"--no-enable-chunk", false, false, "abbreviation"},
	} {
		on, known, err := Parse(serve(strings.Fields(tt.words)...)).Switched(EnableChunkedPrefill)
		if on != tt.on || known != tt.known || !says(err, tt.refused) {
			t.Errorf("%s: on %v, known %v, %v", tt.words, on, known, err)
		}
	}
}

func TestAnImageOfVLLMMayRunAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		image   string
		command []string
		want    bool
	}{
		{"vllm/vllm-openai:v0.20.0", nil, true},
		{"vllm/vllm-openai:v0.20.0", []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}, true},
		{"nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0", []string{"python3", "-m", "dynamo.vllm"}, true},
		{"nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0", []string{"python3", "-u", "-m", "dynamo.frontend"}, false},
		{"own", []string{"vllm", "serve", "m"}, true},
		{"own", []string{"python3", "-m", "server"}, false},
	} {
		line := Parse(Container{Image: tt.image, Command: tt.command})
		if got := line.LooksLikeVLLM(); got != tt.want {
			t.Errorf("%s %q: %v", tt.image, tt.command, got)
		}
	}
}
