package vllm

import (
	"errors"
	"strings"
	"testing"
)

func TestCommandLinesThatAreNotCertainAreRefused(t *testing.T) {
	t.Parallel()
	flag := "--max-num-batched-tokens=8192"
	for _, tt := range []struct {
		name string
		line Container
		env  []Variable
		want string
	}{
		{"nothing at all", Container{}, nil, "inside of the image"},
		{
			"sh -c",
			Container{Command: []string{"/bin/sh", "-c"}, Args: []string{"vllm serve m " + flag}},
			nil,
			"runs a shell (sh)",
		},
		{
			"bash -lc in one list",
			Container{Command: []string{"bash", "-lc", "vllm serve m " + flag}},
			nil,
			"runs a shell (bash)",
		},
		{
			"a shell behind a wrapper",
			Container{Command: []string{"tini", "bash", "-c", "vllm serve " + flag}},
			nil,
			"runs a shell (bash)",
		},
		{"a shell in args", Container{Args: []string{"sh", "-c", "vllm serve " + flag}}, nil, "runs a shell"},
		{"env", Container{Command: []string{"env", "X=1", "vllm", "serve", flag}}, nil, "runs a shell (env)"},
		{"a script", Container{Command: []string{"/start.sh"}, Args: []string{flag}}, nil, "runs the script start.sh"},
		{"a script in args", Container{Args: []string{"/start.sh", flag}}, nil, "runs the script start.sh"},
		{
			"an unknown program",
			Container{Command: []string{"launcher"}, Args: []string{flag}},
			nil,
			"runs launcher: which arguments it hands to vLLM is not known",
		},
		{
			"python with another script",
			Container{Command: []string{"python3", "/app/run.py", flag}},
			nil,
			"runs python3",
		},
		{
			"python with another module",
			Container{Command: []string{"python3", "-m", "myvllm", flag}},
			nil,
			"runs python3 -m myvllm: which",
		},
		{
			"python with another module in args",
			Container{Args: []string{"python3", "-m", "sglang.launch_server", flag}},
			nil,
			"runs python3 -m sglang.launch_server: which",
		},
		{"python without anything", Container{Command: []string{"python3"}}, nil, "runs python3"},
		{"a double dash", Container{Command: []string{"vllm", "serve", "--", flag}}, nil, "there is a --"},
		{"a config file", serve(flag, "--config", "/etc/x.yaml"), nil, "--config file"},
		{"a config file joined", serve(flag, "--config=/etc/x.yaml"), nil, "--config file"},
		{
			"the flag within a text", serve("--additional-config={\"max_num_batched_tokens\":1}"), nil,
			"an argument that is not the flag itself",
		},
		{
			"the flag and its value in one word", serve("--max-num-batched-tokens 8192"), nil,
			"an argument that is not the flag itself",
		},
		{
			"the flag of a dotted name", serve("--x.max-num-batched-tokens=1", flag), nil,
			"an argument that is not the flag itself",
		},
		{
			"a wrapper's variable", serve(flag),
			[]Variable{{Name: "VLLM_ADDITIONAL_ARGS", Value: "--x", Known: true}},
			"the variable VLLM_ADDITIONAL_ARGS may hold",
		},
		{
			"a wrapper's variable from elsewhere", serve(flag),
			[]Variable{{Name: "VLLM_ADDITIONAL_ARGS"}},
			"the variable VLLM_ADDITIONAL_ARGS may hold",
		},
		{
			"a variable with the flag in it, behind an entry point",
			Container{Args: []string{flag}},
			[]Variable{{Name: "FOO", Value: "--max_num_batched_tokens=1", Known: true}},
			"the variable FOO mentions",
		},
		{"a word that is a variable", serve(flag, "$(MORE)"), nil, "puts a variable into the argument $(MORE)"},
		{
			"a word that is a variable of variables", serve(flag, "$(MORE)"),
			[]Variable{{Name: "MORE", Value: "$(ELSE)", Known: true}},
			"puts a variable",
		},
		{
			"a word that is a variable, overridden later", serve(flag, "$(MORE)"),
			[]Variable{{Name: "MORE", Value: "x", Known: true}, {Name: "MORE"}},
			"puts a variable",
		},
		{
			"the last of several values is a variable", serve(flag, "--max-num-batched-tokens=$(N)"), nil,
			"comes from a variable ($(N))",
		},
		{
			"a command that begins with a flag",
			Container{Command: []string{"--x=s3cret", "launcher"}, Args: []string{flag}},
			nil, "runs --x:",
		},
		{
			"a program in Python's own argument",
			Container{Command: []string{"python3", "-c", "vllm"}, Args: []string{flag}},
			nil, "runs python3",
		},
		{
			"a shell from a variable",
			Container{Command: []string{"$(SHELL)", "-c"}, Args: []string{flag}},
			[]Variable{{Name: "SHELL", Value: "/bin/bash", Known: true}},
			"runs a shell (bash)",
		},
		{
			"a flag whose name is a variable", serve(flag, "--$(NAME)=s3cret"), nil,
			"puts a variable into the argument --$(NAME),",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.line.Env = tt.env
			_, _, err := Parse(tt.line).Last(MaxNumBatchedTokens)
			var no *UnclearError
			if !errors.As(err, &no) || !strings.Contains(no.Reason, tt.want) {
				t.Errorf("%v, want it to contain %q", err, tt.want)
			}
			if no != nil && strings.Contains(no.Reason, "s3cret") {
				t.Errorf("a value is shown: %s", no.Reason)
			}
		})
	}
}

func TestFlagsWithoutACertainValueAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		words []string
		want  string
	}{
		"no value at the end":  {[]string{"--max-num-batched-tokens"}, "has no value"},
		"a flag as its value":  {[]string{"--max-num-batched-tokens", "--port"}, "has no value"},
		"a negative value":     {[]string{"--max-num-batched-tokens", "-1"}, "has no value"},
		"a variable":           {[]string{"--max-num-batched-tokens=$(TOKENS)"}, "comes from a variable ($(TOKENS))"},
		"a variable, separate": {[]string{"--max-num-batched-tokens", "$(TOKENS)"}, "comes from a variable"},
		"an abbreviation":      {[]string{"--max-num-batched", "8192"}, "is an abbreviation"},
		"a short abbreviation": {[]string{"--max_num_b=8192"}, "is an abbreviation"},
		"also before the flag": {[]string{"--max-num-b=1", "--max-num-batched-tokens=2"}, "is an abbreviation"},
	} {
		_, _, err := Parse(serve(tt.words...)).Last(MaxNumBatchedTokens)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	_, count, err := Parse(serve("--max-num-seqs=1", "-m", "x")).Last(MaxNumBatchedTokens)
	if count != 0 || err != nil {
		t.Errorf("an absent flag: %v, %v", count, err)
	}
}
