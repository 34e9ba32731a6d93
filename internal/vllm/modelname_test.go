package vllm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelNamesAreThoseThatTheMetricsCarry(t *testing.T) {
	t.Parallel()
	env := []Variable{{Name: "MODEL_ID", Value: "google/gemma-3-27b-it", Known: true}, {Name: "SECRET"}}
	for _, tt := range []struct {
		name          string
		command, args []string
		want          []string
	}{
		{"vllm serve", []string{"vllm", "serve", "Qwen/Qwen3-32B"}, []string{"--port", "8200"}, []string{"Qwen/Qwen3-32B"}},
		{
			"a served name counts",
			[]string{"vllm", "serve", "/models/x"},
			[]string{"--served-model-name=llama-70b"},
			[]string{"llama-70b"},
		},
		{"several served names", nil, []string{"--served-model-name", "a", "b", "--port", "1"}, []string{"a", "b"}},
		{"underscores", nil, []string{"--served_model_name", "a"}, []string{"a"}},
		{"the last one counts", nil, []string{"--model=a", "--model", "b"}, []string{"b"}},
		{
			"a variable",
			[]string{"python3", "-m", "vllm.entrypoints.openai.api_server"},
			[]string{"--model=$(MODEL_ID)"},
			[]string{"google/gemma-3-27b-it"},
		},
		{"a variable that is not known", nil, []string{"--model=$(SECRET)"}, nil},
		{
			"a script",
			[]string{"/bin/sh", "-c"},
			[]string{"vllm serve mistralai/Mistral-7B --trust-remote-code"},
			[]string{"mistralai/Mistral-7B"},
		},
		{
			"a script of several lines",
			[]string{"bash", "-c"},
			[]string{"source /env.sh;\nvllm serve /mnt/models \\\n  --served-model-name \"llama\" \\\n  --port 8000"},
			[]string{"llama"},
		},
		{"a script with variables of the shell", []string{"bash", "-c"}, []string{`vllm serve "$MODEL"`}, nil},
		{"no value", nil, []string{"--served-model-name"}, nil},
		{"nothing", nil, nil, nil},
	} {
		got := Parse(Container{Command: tt.command, Args: tt.args, Env: env}).ModelNames()
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
